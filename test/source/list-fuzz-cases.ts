import { isDeepStrictEqual } from 'node:util';
import { describe, expect, test } from 'vitest';
import { CallsyncError } from '../../src/lib/errors.ts';
import { hash32, randomStream } from '../../src/simulator/calls/random.ts';
import { observeRecord } from '../../src/source/list/observe.ts';
import { withInheritedNames } from '../support/inherited-names.ts';
import { openMemoryList } from './memory-list.ts';

/** Seeded: a failure names its number, and that number makes the same response again. */
const randomOf = (seed: number) => {
  const next = randomStream(hash32(seed, 1));
  const below = (n: number): number => Math.floor(next() * n);
  return { next, below, pick: <T>(all: readonly T[]): T => all[below(all.length)] as T };
};
type Random = ReturnType<typeof randomOf>;

const strange: readonly string[] = [
  ...'null true 0 -0 1e400 "text" [] {} [[]] "" {"unique_id":null} {"unique_id":""}'.split(' '),
  '{"unique_id":" "}',
  '{"unique_id":7}',
  '{"unique_id":["a"]}',
  '{"unique_id":"\\u0000"}',
  '{"unique_id":"\\ud800"}',
  `{"unique_id":"${'x'.repeat(600)}"}`,
  '{"__proto__":{"unique_id":"p"}}',
  '{"unique_id":"ok","__proto__":{"a":1},"constructor":1}',
  `{"unique_id":"deep","a":${'['.repeat(300)}${']'.repeat(300)}}`,
  '{"unique_id":"quotes \\" \\\\ ] } [ {","a":"\\\\"}',
  '{"unique_id":"long","n":123456789012345678901234567890}',
  '{"unique_id":"a","unique_id":"b"}',
];

const validRecord = (random: Random, index: number): string =>
  JSON.stringify({
    unique_id: `call-${index}`,
    timestamp: random.pick(['2024-07-01T00:00:00Z', 'yesterday', 5, null]),
    transcript_json: { callData: [{ content: random.pick(['a', '"]}', '\\', 'é\u2028', '{[']) }] },
    tags: random.pick<unknown>([[], [{ value: true }], 'none', null]),
    ...(random.next() < 0.2 ? withInheritedNames(random.pick<unknown>([1, 'x', { toString: 2 }])) : {}),
  });

const envelopes: readonly ((records: string) => string)[] = [
  (records) => `{"count":3,"data":[${records}]}`,
  (records) => ` \n\t{ "data" : [ ${records} ] , "count" : "many" }\r\n`,
  (records) => `\uFEFF{"data":[${records}]}`,
  (records) => `{"data":[1,2],"more":{"data":[9]},"d\\u0061ta":[${records}]}`,
  (records) => `{"text":"\\"data\\":[","nested":{"data":[[{}]]},"data":[${records}],"tail":[{"a":"]"}]}`,
];

/** Cut short, with a byte changed, put in or left out, with its end again, or with five bytes changed. */
const mutateBytes = (random: Random, bytes: Buffer): Buffer => {
  const at = random.below(bytes.length);
  const [before, behind] = [bytes.subarray(0, at), bytes.subarray(at)];
  const change = (times: number): Buffer => {
    const copy = Buffer.from(bytes);
    for (let n = 0; n < times; n++) copy[random.below(copy.length)] = random.below(256);
    return copy;
  };
  const more = () => Buffer.concat([before, Buffer.from(random.pick([...'"\\{}[],:\u0000\xff'])), behind]);
  const less = () => Buffer.concat([before, behind.subarray(1 + random.below(20))]);
  const again = () => Buffer.concat([bytes, behind]);
  return random.pick([() => before, () => change(1), more, less, again, () => change(5)])();
};

const makeResponse = (random: Random): Buffer => {
  const one = (n: number) => (random.next() < 0.35 ? random.pick(strange) : validRecord(random, n));
  const records = Array.from({ length: random.below(8) }, (_, n) => one(n));
  const bytes = Buffer.from(random.pick(envelopes)(records.join(random.pick([',', ' , ', ',\n']))));
  return random.next() < 0.5 ? bytes : mutateBytes(random, bytes);
};

/** The result of plain JSON.parse: the records that must come through, or undefined for a text that is not JSON. */
const expectedOf = (bytes: Buffer): unknown[] | undefined => {
  let parsed: unknown;
  try {
    parsed = JSON.parse(bytes.toString('utf8').replace(/^\uFEFF/, ''));
  } catch {
    return undefined;
  }
  const data =
    typeof parsed === 'object' && parsed !== null && Object.hasOwn(parsed, 'data')
      ? (parsed as { data: unknown }).data
      : undefined;
  return Array.isArray(data) ? data.filter(isUsable) : [];
};

const isUsable = (record: unknown) =>
  observeRecord(record, { observedAt: 0, carries: new Set() }).kind === 'observation';
/** @param rounds mutated responses. */
export const describeListFuzz = (rounds: number): void => {
  describe(`${rounds} mutated list responses`, () => {
    test('crash and hang nothing, and lose no valid record', async () => {
      const counts = { parsed: 0, refused: 0, records: 0 };
      for (let round = 0; round < rounds; round++) {
        const bytes = makeResponse(randomOf(round));
        const client = openMemoryList({ list: { records: 'data' }, limits: { retries: 0 } }, () => [200, bytes]);
        const got: unknown[] = [];
        let error: unknown;
        try {
          for await (const page of client.readPages({}))
            for (const part of page.parts(500)) for (const raw of part) if (isUsable(raw.value)) got.push(raw.value);
        } catch (caught) {
          error = caught;
        }
        if (error !== undefined && !(error instanceof CallsyncError))
          throw new Error(`round ${round} crashed`, { cause: error });
        const expected = expectedOf(bytes);
        if (expected === undefined) {
          counts.refused++;
          continue;
        }
        // A body that is JSON but has no array of records may be refused as such; one that has may not.
        if (error === undefined ? !isDeepStrictEqual(got, expected) : expected.length > 0) {
          throw new Error(`round ${round} lost a record: ${bytes.toString('utf8').slice(0, 2_000)}`, { cause: error });
        }
        counts.parsed++;
        counts.records += got.length;
      }
      console.log(`fuzz: ${rounds} responses, ${JSON.stringify(counts)}`);
      expect(counts.refused).toBeGreaterThan(rounds / 10);
      expect(counts.records).toBeGreaterThan(rounds);
    });
  });
};
