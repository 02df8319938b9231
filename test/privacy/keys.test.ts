/** After a change of the key: what leads from a former token to the present one, and how it travels from receiver to worker. */

import { createHmac } from 'node:crypto';
import { expect, test } from 'vitest';
import type { Observation } from '../../schemas/observation.ts';
import { emptyRow, fold, foldRules, type LedgerRow, prepareObservation } from '../../src/calls/fold.ts';
import { JsonRecord } from '../../src/lib/json-record.ts';
import { createKeyedHash } from '../../src/lib/keyed-hash.ts';
import type { Privacy } from '../../src/privacy/privacy.ts';
import { aliasField } from '../../src/privacy/tokens.ts';
import { openPrivacy, privacyUnder, rotatedKeys } from '../support/rotated-keys.ts';

const [before, after, later] = rotatedKeys;

const numbers = ['33639981234', '33639981235'];
const body = Buffer.from(`{"unique_id":"call-1","in":{"data":"${numbers[0]}"}}`);
const delivered = { callId: 'c', source: 'webhook', observedAt: 1 } as const;
const recordIn = (bytes: Buffer) => new JsonRecord(JSON.parse(bytes.toString()));
const observationOf = (bytes: Buffer): Observation => ({ ...delivered, fields: recordIn(bytes) });
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
    expect(fields.held).toEqual({ unique_id: 'call-3' });
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

/**
 * The winner of two observations of one instant and source does not depend on the rules that have changed them since.
 */
const open = (settings: object) => openPrivacy({ profile: 'pseudonymous', ...settings });
const older = open({ disabled_detectors: ['email'] });
const newer = open({});

const polled = (who: string, index: number): Observation => {
  const fields = new JsonRecord({ unique_id: 'c', visit: { who, mail: `${who}${index}@example.fr` } });
  return { callId: 'c', source: 'poll', observedAt: 1, fields };
};
const twins = Array.from({ length: 20 }, (_, index) => [polled('a', index), polled('b', index)] as const);

/** As a worker folds it: what is stored comes under its own rules first. */
const foldUnder = (row: LedgerRow, observation: Observation, { sanitize, version }: Privacy): LedgerRow => {
  const brought = row.revision === 0 ? row : foldRules(row, sanitize, version);
  return { ...fold(brought, prepareObservation(sanitize(observation))), rules: version };
};
const winnerOf = (first: Observation, under: Privacy, second: Observation, later: Privacy): unknown => {
  const { document } = foldUnder(foldUnder({ ...emptyRow, callId: 'c' }, first, under), second, later);
  return document?.at('visit.who');
};

test('polled: older and newer workers choose alike, in any order', () => {
  const winners = twins.map(([a, b]) => {
    const alike = [winnerOf(a, older, b, older), winnerOf(b, newer, a, newer)];
    const mixed = [winnerOf(a, older, b, newer), winnerOf(b, newer, a, older), winnerOf(b, older, a, newer)];
    const chosen = new Set([...alike, ...mixed]);
    expect(chosen.size).toBe(1);
    return [...chosen][0];
  });
  expect(new Set(winners).size).toBe(2);
});

test('delivered: the hash of the raw bytes decides, however the body was admitted', () => {
  for (const pair of twins) {
    const deliver = ({ fields }: Observation, rules: Privacy): Observation => {
      const { body, bodyHash } = rules.admit(Buffer.from(JSON.stringify(fields)));
      return { ...observationOf(body), rawHash: bodyHash };
    };
    const [a, b] = [deliver(pair[0], older), deliver(pair[1], older)];
    const [c, d] = [deliver(pair[0], newer), deliver(pair[1], newer)];
    const chosen = [winnerOf(a, older, b, older), winnerOf(c, newer, d, newer), winnerOf(b, newer, c, newer)];
    expect(new Set(chosen).size).toBe(1);
  }
});

test('of a value without rules no hash stays once rules have acted on it', () => {
  const before = fold({ ...emptyRow, callId: 'c' }, prepareObservation(polled('a', 0)));
  const after = foldRules(before, newer.sanitize, newer.version);
  expect(after.versions.visit?.[2].slice(0, 8)).not.toBe(before.versions.visit?.[2].slice(0, 8));
});

// Around the block of the hash, and around the size of the buffer that is used again.
const lengths = [0, 1, 55, 56, 63, 64, 65, ...Array.from({ length: 21 }, (_, index) => 500 + index)];
const texts = lengths.flatMap((length) => ['a', 'é', '漢', '😀', '\ud800'].map((unit) => unit.repeat(length)));

test.each([0, 1, 32, 63, 64, 65, 100])('the HMAC of any text under %i bytes, whatever was hashed before', (bytes) => {
  const key = Buffer.alloc(bytes, 0x5a);
  const keyed = createKeyedHash(key);
  expect(texts.filter((text) => keyed(text) !== createHmac('sha256', key).update(text).digest('hex'))).toEqual([]);
});
