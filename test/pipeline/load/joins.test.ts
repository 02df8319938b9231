/** The same calls without rules and with the profile `pseudonymous`: what is joined by a number in one is joined in the other. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { privacyConfigSchema } from '../../../schemas/config/privacy.ts';
import type { Observation } from '../../../schemas/observation.ts';
import { simulatorOptionsSchema } from '../../../schemas/simulator.ts';
import type { IngestDeps } from '../../../src/pipeline/deps.ts';
import { ingest, loadFolded } from '../../../src/pipeline/load/ingest.ts';
import { createPrivacy } from '../../../src/privacy/privacy.ts';
import { generateCall } from '../../../src/simulator/calls/generate-call.ts';
import { openPipeline, type Pipeline } from '../../support/pipeline.ts';

const calls = 200;
const people = 30;
const begin = Date.UTC(2024, 2, 4);
const settings = simulatorOptionsSchema.parse({ calls: { utterances: 4, words: 4 } });
const { sanitize } = createPrivacy(privacyConfigSchema.parse({ profile: 'pseudonymous', unreadable: 'drop' }), {
  token: Buffer.alloc(32, 7),
  seal: undefined,
});

const personOf = (index: number): string => `6399812${String((index * 7) % people).padStart(2, '0')}`;
/** Ways in which a number is written in what was said. */
const styles: readonly ((national: string) => string)[] = [
  (national) => `0${national}`,
  (national) => `0${national}`.replaceAll(/(..)(?=.)/g, '$1 '),
  (national) => `+33 ${national.slice(0, 1)} ${national.slice(1).replaceAll(/(..)(?=.)/g, '$1 ')}`,
];

const mention = (content: string, at: number) => ({
  from: 'in',
  words: content.split(' ').map((value, index) => ({ score: 0.9, start: at + index, value, length: 0.5 })),
  content,
  datetime: at,
  duration: 5,
});

/** A generated call whose caller is one of a few people; in every third another one's number is said. */
const callOf = (index: number) => {
  const timestamp = new Date(begin + index * 60_000).toISOString();
  const seed = { index, callId: String(index), timestampMs: begin + index * 60_000, timestamp, status: 'qualified' };
  const call = generateCall(settings, seed, false);
  const caller = { label: 'Customer', data: `33${personOf(index)}`, type: 'PHONE' };
  const said = mention(`rappelez le ${styles[index % styles.length]?.(personOf(index + 1))} merci`, 60);
  const transcript = call.transcript_json as { callData?: readonly unknown[] } | null;
  return {
    ...call,
    metadata: { ...(call.metadata as object), ANI: `33${personOf(index)}` },
    in: caller,
    out: index % 5 === 0 ? { label: 'Line', data: `33${personOf(index + 2)}`, type: 'PHONE' } : null,
    transcript_json: {
      meta: { lang: 'fr' },
      ...transcript,
      callData: [...(transcript?.callData ?? []), ...(index % 3 === 0 ? [said] : [])],
    },
  };
};

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

/** Pairs of calls that a condition joins, among those whose ids begin so. */
const joined = async (prefix: string, from: string, on: string): Promise<number> => {
  const rows = await pipeline.warehouse.query(
    `SELECT count(*) AS n FROM ${from} WHERE a.call_id LIKE '${prefix}-%' AND b.call_id LIKE '${prefix}-%' AND (${on})`,
  );
  return Number(rows[0]?.n);
};
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
