/** The same calls without rules and with the profile `pseudonymous`: what is joined by a number in one is joined in the other. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { privacyConfigSchema } from '../../../schemas/config/privacy.ts';
import type { Observation } from '../../../schemas/observation.ts';
import type { IngestDeps } from '../../../src/pipeline/deps.ts';
import { ingest, loadFolded } from '../../../src/pipeline/load/ingest.ts';
import { createPrivacy } from '../../../src/privacy/privacy.ts';
import { openPipeline, type Pipeline } from '../../support/pipeline.ts';
import { begin, callOf, countJoined, personOf } from './joined-calls.ts';

const calls = 200;
const { sanitize } = createPrivacy(privacyConfigSchema.parse({ profile: 'pseudonymous', unreadable: 'drop' }), {
  token: Buffer.alloc(32, 7),
  seal: undefined,
});

let pipeline: Pipeline;
beforeAll(async () => {
  pipeline = await openPipeline();
  for (const [prefix, rules] of [
    ['plain', undefined],
    ['token', sanitize],
  ] as const) {
    const deps: IngestDeps = { ...pipeline.deps, sanitize: rules };
    const observations = Array.from({ length: calls }, (_, index): Observation => {
      const callId = `${prefix}-${index}`;
      return { callId, source: 'poll', observedAt: begin * 1_000, fields: { ...callOf(index), unique_id: callId } };
    });
    await loadFolded(deps, await ingest(deps, { observations, origin: 'test' }));
  }
  await pipeline.drain();
});
afterAll(() => pipeline.close());

const joined = (prefix: string, from: string, on: string) => countJoined(pipeline.warehouse, prefix, from, on);
const pairs = (matches: (a: number, b: number) => boolean): number => {
  let count = 0;
  for (let a = 0; a < calls; a += 1) for (let b = 0; b < calls; b += 1) if (matches(a, b)) count += 1;
  return count;
};

test('a caller joins the contact of other calls', async () => {
  const [from, on] = ['calls a, contacts b', "a.call_id < b.call_id AND b.side = 'in' AND a.ani = b.phone"] as const;
  const plain = await joined('plain', from, on);
  expect(plain).toBeGreaterThan(calls);
  expect(await joined('token', from, on)).toBe(plain);
});

test('a contact of either side joins contacts of the other', async () => {
  const [from, on] = ['contacts a, contacts b', "a.side = 'in' AND b.side = 'out' AND a.phone = b.phone"] as const;
  const plain = await joined('plain', from, on);
  expect(plain).toBe(pairs((a, b) => b % 5 === 0 && personOf(a) === personOf(b + 2)));
  expect(await joined('token', from, on)).toBe(plain);
});

test('a number that was said joins the calls of that caller', async () => {
  const expected = pairs((a, b) => b % 3 === 0 && personOf(a) === personOf(b + 1));
  const said = "b.content LIKE 'rappelez le %'";
  const plain = `${said} AND position(right(a.ani, 9) in regexp_replace(b.content, '\\D', '', 'g')) > 0`;
  expect(await joined('plain', 'calls a, utterances b', plain)).toBe(expected);
  expect(await joined('token', 'calls a, utterances b', `${said} AND position(a.ani in b.content) > 0`)).toBe(expected);
});
