/** After a change of the key: what leads from a former token to the present one, and how it travels from receiver to worker. */
import { expect, test } from 'vitest';
import { privacyConfigSchema } from '../../schemas/config/privacy.ts';
import type { Observation } from '../../schemas/observation.ts';
import { aliasField } from '../../src/privacy/tokens.ts';
import { privacyUnder, rotatedKeys } from '../support/rotated-keys.ts';

const [before, after, later] = rotatedKeys;

const numbers = ['33639981234', '33639981235'];
const body = Buffer.from(`{"unique_id":"call-1","in":{"data":"${numbers[0]}"}}`);
const observationOf = (bytes: Buffer): Observation => ({
  callId: 'call-1',
  source: 'webhook',
  observedAt: 0,
  fields: JSON.parse(bytes.toString()),
});
const tokenOf = ({ tokensOf }: typeof before, number = ''): string => tokensOf(number)[0];
test('of what a sender puts there, only pairs of tokens of configured keys are taken', () => {
  const [one, two] = [tokenOf(before, numbers[0]), tokenOf(after, numbers[1])];
  const unknown = tokenOf(privacyUnder('k9'), numbers[0]);
  const carried = { [one]: two, a: 'Jean Dupont', [two]: two, [unknown]: two, [`${one} 0639981234`]: two, [two]: 7 };
  for (const [forged, kept] of [
    [carried, new Map([[one, two]])],
    [['Jean Dupont'], undefined],
    ['Jean Dupont', undefined],
    [{ Jean: { Dupont: 1 } }, undefined],
  ] as const) {
    const sent = Buffer.from(JSON.stringify({ unique_id: 'call-3', [aliasField]: forged }));
    const admitted = after.admit(sent).body;
    const { fields, aliases } = after.sanitize(observationOf(admitted));
    expect(fields).toEqual({ unique_id: 'call-3' });
    expect(aliases).toEqual(kept);
    expect(admitted.toString()).not.toContain('Dupont');
    expect(before.admit(sent).body.toString()).toBe('{"unique_id":"call-3"}');
  }
});

test('a delivery that is repeated under a new key has the hash that it had', () => {
  expect(after.admit(body).bodyHash).toEqual(before.admit(body).bodyHash);
  expect(later.admit(body).bodyHash).toEqual(before.admit(body).bodyHash);
  expect(privacyUnder('k2').admit(body).bodyHash).not.toEqual(before.admit(body).bodyHash);
});

test('a key has one name', () => {
  const issues = ['k1', 'k2'].map(
    (id) =>
      privacyConfigSchema.safeParse({
        key_id: 'k2',
        former_keys: [
          { id: 'k1', file: 'a' },
          { id, file: 'b' },
        ],
      }).error?.issues[0]?.message,
  );
  expect(issues).toEqual(Array(2).fill('names a key twice, or the present one'));
});
