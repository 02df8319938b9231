import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { CallsyncError } from '../../src/lib/errors.ts';
import { keepNumbers, parseQuietly } from '../../src/lib/parse-json.ts';
import { observeRecord } from '../../src/source/list/observe.ts';
import { forAll } from '../support/for-all.ts';
import { withInheritedNames } from '../support/inherited-names.ts';
import { plain } from './local-server.ts';
import { openMemoryList } from './memory-list.ts';

const strange: readonly string[] = [
  ...'null true 0 -0 1e400 "text" [] {} [[]] "" {"unique_id":null} {"unique_id":""}'.split(' '),
  '{"unique_id":" "}',
  ...'{"unique_id":7} {"unique_id":["a"]} {"unique_id":"\\u0000"} {"unique_id":"\\ud800"}'.split(' '),
  ...'{"__proto__":{"unique_id":"p"}} {"unique_id":"a","unique_id":"b"}'.split(' '),
  `{"unique_id":"${'x'.repeat(600)}"}`,
  '{"unique_id":"ok","__proto__":{"a":1},"constructor":1}',
  `{"unique_id":"deep","a":${'['.repeat(300)}${']'.repeat(300)}}`,
  '{"unique_id":"quotes \\" \\\\ ] } [ {","a":"\\\\"}',
  '{"unique_id":"long","n":123456789012345678901234567890}',
];

const valid = fc.record({
  unique_id: fc.nat(7).map((index) => `call-${index}`),
  timestamp: fc.constantFrom('2024-07-01T00:00:00Z', 'yesterday', 5, null),
  transcript_json: fc.constantFrom('a', '"]}', '\\', 'é\u2028', '{[').map((content) => ({ callData: [{ content }] })),
  tags: fc.constantFrom<unknown>([], [{ value: true }], 'none', null),
});
const inherited = fc.option(fc.constantFrom<unknown>(1, 'x', { toString: 2 }), { freq: 4, nil: undefined });
const record = fc.oneof(
  { weight: 1, arbitrary: fc.constantFrom(...strange) },
  {
    weight: 2,
    arbitrary: fc
      .tuple(valid, inherited)
      .map(([fields, more]) => JSON.stringify({ ...fields, ...(more === undefined ? {} : withInheritedNames(more)) })),
  },
);

const envelope = fc.constantFrom<(records: string) => string>(
  (records) => `{"count":3,"data":[${records}]}`,
  (records) => ` \n\t{ "data" : [ ${records} ] , "count" : "many" }\r\n`,
  (records) => `\uFEFF{"data":[${records}]}`,
  (records) => `{"data":[1,2],"more":{"data":[9]},"d\\u0061ta":[${records}]}`,
  (records) => `{"text":"\\"data\\":[","nested":{"data":[[{}]]},"data":[${records}],"tail":[{"a":"]"}]}`,
);

/** Bytes left out from a place on, others put in, and perhaps the end of all once more. */
const cut = fc.record({
  at: fc.nat(4_000),
  less: fc.constantFrom(0, 1, 1, 7, 20, 4_000),
  more: fc.oneof(fc.constantFrom(...'"\\{}[],:\u0000').map(Buffer.from), fc.uint8Array({ maxLength: 1 })),
  again: fc.constantFrom(false, false, true),
});
const response = fc
  .record({
    records: fc.array(record, { maxLength: 7, size: 'max' }),
    separator: fc.constantFrom(',', ' , ', ',\n'),
    wrap: envelope,
    cuts: fc.oneof(fc.array(cut, { maxLength: 0 }), fc.array(cut, { minLength: 1, maxLength: 5 })),
  })
  .map(({ records, separator, wrap, cuts }) =>
    cuts.reduce(
      (bytes, { at, less, more, again }) => {
        const [before, behind] = [bytes.subarray(0, at % bytes.length), bytes.subarray(at % bytes.length)];
        return Buffer.concat([before, more, behind.subarray(less), again ? behind : Buffer.of()]);
      },
      Buffer.from(wrap(records.join(separator))),
    ),
  );

/** The result of plain JSON.parse: the records that must come through, or undefined for a text that is not JSON. */
const expectedOf = (bytes: Buffer): unknown[] | undefined => {
  const parsed = parseQuietly(keepNumbers(bytes.toString()));
  if (parsed === undefined) return undefined;
  const data = Object.hasOwn(Object(parsed), 'data') ? (parsed as { data: unknown }).data : undefined;
  return Array.isArray(data) ? data.filter(isUsable) : [];
};

const isUsable = (record: unknown) =>
  observeRecord(record, { observedAt: 0, carries: new Set() }).kind === 'observation';

export const testListFuzz = (numRuns: number): void => {
  test(`${numRuns} mutated list responses crash and hang nothing, and lose no valid record`, async () => {
    const counts = { parsed: 0, refused: 0, records: 0 };
    await forAll([response], { numRuns }, async (bytes) => {
      const client = openMemoryList({ list: { records: 'data' }, limits: { retries: 0 } }, () => [200, bytes]);
      const got: unknown[] = [];
      const read = async () => {
        for await (const page of client.readPages({}))
          for (const part of page.parts(500)) got.push(...part.map(({ value }) => plain(value)).filter(isUsable));
      };
      const error: unknown = await read().catch((caught: unknown) => caught);
      if (error !== undefined) expect(error).toBeInstanceOf(CallsyncError);
      const expected = expectedOf(bytes);
      counts[expected === undefined ? 'refused' : 'parsed']++;
      counts.records += expected?.length ?? 0;
      // A body that is JSON but has no array of records may be refused as such; one that has may not.
      if (expected !== undefined && (error === undefined ? !isDeepStrictEqual(got, expected) : expected.length > 0))
        throw new Error(`a record is lost: ${bytes.toString('utf8').slice(0, 2_000)}`, { cause: error });
    });
    expect(counts.refused).toBeGreaterThan(numRuns / 10);
    expect(counts.records).toBeGreaterThan(numRuns);
  });
};
