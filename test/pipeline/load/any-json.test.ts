/** Any JSON at all: flatten never throws, and no record fails its batch in a real warehouse. */
import { Readable } from 'node:stream';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type CallDocument, callFields } from '../../../schemas/call.ts';
import { flattenCall } from '../../../src/calls/flatten.ts';
import { type JsonRecord, readRecord } from '../../../src/lib/json-record.ts';
import { encodeBatch } from '../../../src/warehouse/bigquery/load.ts';
import { digestedColumns } from '../../../src/warehouse/content-hash.ts';
import { createEncoder } from '../../../src/warehouse/postgres/encoder.ts';
import { digestRows } from '../../support/digest-tables.ts';
import { forAll } from '../../support/for-all.ts';
import { inheritedNames } from '../../support/inherited-names.ts';
import { observationOf, usePipeline } from '../../support/pipeline.ts';
import { makeBatch, makeCall } from '../../warehouse/batches.ts';

const pipeline = usePipeline({ documents: true });

/** Text that hurts: NUL, half characters, emoji, text that looks like numbers, dates and JSON, long text. */
const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 20 }),
  fc.string({ unit: fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code)), maxLength: 8 }),
  fc.constantFrom('', '\0', '\ud800', '\udc00\ud800', '😀', '1e999', '-0', '0.1e-30', 'NaN', '\\N', '{}', 'null'),
  fc.constantFrom('9'.repeat(60), 'x'.repeat(5_000)),
  fc.date({ noInvalidDate: true }).map((at) => at.toISOString()),
  fc.constantFrom('0001-01-01T00:00:00Z', '9999-12-31T23:59:60+23:59', '2023-12-04T15:18:29.999999999Z'),
);
const number = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.constantFrom(0, -0, 1e308, -1e308, 5e-324, 2 ** 53, -(2 ** 63)),
  fc.integer(),
);
const anything = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    text,
    number,
    fc.boolean(),
    fc.constant(null),
    tie('array'),
    tie('object'),
  ),
  array: fc.array(tie('value'), { maxLength: 4 }),
  object: fc.array(fc.tuple(text, tie('value')), { maxLength: 4 }).map((pairs) => Object.fromEntries(pairs)),
})).value;

const mostly = (shape: fc.Arbitrary<unknown>) =>
  fc.oneof({ weight: 3, arbitrary: shape }, { weight: 1, arbitrary: anything });
const shaped = (fields: Record<string, fc.Arbitrary<unknown>>) => mostly(fc.record(fields, { requiredKeys: [] }));
/** Fields of one shape. */
const each = (names: string, shape: fc.Arbitrary<unknown>) =>
  Object.fromEntries(names.split(' ').map((name) => [name, shape]));
const listOf = (shape: fc.Arbitrary<unknown>) => mostly(fc.array(shape, { maxLength: 3 }));
const utterance = shaped({
  ...each('from content', mostly(text)),
  ...each('datetime duration', mostly(number)),
  words: listOf(shaped({ value: mostly(text), ...each('start length score', mostly(number)) })),
});
const contact = shaped({ ...each('label data', mostly(text)), type: fc.constantFrom('PHONE', 'x', 1) });
const metadataKey = fc.oneof(
  text,
  fc.constantFrom('ClientID', 'ANI', 'UDF_num_01', 'UDF_num_99', 'UDF_text_01'),
  fc.constantFrom('漢'.repeat(600), `${'é'.repeat(512)}x`),
);
const metadata = fc.array(fc.tuple(metadataKey, fc.oneof(text, anything)), { maxLength: 4 }).map(Object.fromEntries);
const record = fc.record(
  {
    ...each('timestamp qualified status', mostly(text)),
    ...each('campaign audio_state visit tracking_info qualification', anything),
    duration: mostly(fc.oneof(text, number)),
    ivr_end: mostly(number),
    transcript_json: shaped({
      callData: listOf(utterance),
      callUniqueId: anything,
      callsync_redactions: fc.constant([[0, null, null, 'phone', 1]]),
      meta: shaped({ ...each('lang asr_model', anything), obfuscated: mostly(fc.constantFrom('true', 'false', '')) }),
    }),
    metadata: mostly(metadata),
    tags: listOf(shaped({ ...each('unique_id display_name type value', anything), confidence: mostly(number) })),
    ...each('in out', contact),
  },
  { requiredKeys: [] },
);
const otherField = fc.tuple(fc.oneof(text, fc.constantFrom(...inheritedNames, ...callFields.keys())), anything);
const document: fc.Arbitrary<CallDocument> = fc
  .tuple(record, fc.array(otherField, { maxLength: 3 }))
  .map(([known, more]) => Object.fromEntries([...more, ...Object.entries(known)]));

test('every batch is loaded whole, and reads back as flatten made it', async () => {
  let next = 0;
  await forAll(
    [fc.array(document, { minLength: 20, maxLength: 40 })],
    { numRuns: 10, endOnFailure: true },
    async (documents) => {
      // The test reads whole tables, so they may hold only this batch.
      await pipeline.clear();
      const observations = documents.map((fields, n) => {
        const callId = `${'漢'.repeat(next % 3 === 0 ? 500 : 1)}${next++}`;
        const observation = observationOf(callId, 1, { ...fields, unique_id: callId }, 'webhook');
        const { value } = readRecord(Buffer.from(JSON.stringify(observation.fields).replaceAll('1e+308', '1e+999')));
        return n % 2 === 0 ? observation : { ...observation, fields: value as JsonRecord };
      });
      const { folded, written } = await pipeline.observe(observations);
      expect([folded.rejected, written]).toEqual([0, { main: documents.length }]);
      expect(pipeline.logged).toEqual([]);
      const sent = folded.changed.map((row) => flattenCall(row, { documents: true }));
      for (const name of ['utterances', 'tags', 'metadata', 'udfs', 'contacts', 'documents'] as const) {
        const columns = digestedColumns(name).filter((column) => column.type !== 'words');
        const made = Readable.from(sent.flatMap((one) => one.rows[name]));
        expect(await digestRows(columns, pipeline.warehouse.proof.rowsOf(name))).toBe(await digestRows(columns, made));
      }
    },
  );
});

type Batch = ReturnType<typeof makeBatch>;
test.each([
  ['PostgreSQL', (batch: Batch) => createEncoder({ schema: 'calls', documents: true })(batch, batch.calls)],
  ['BigQuery', (batch: Batch) => encodeBatch(batch, { documents: true }, false)],
])('encoding of many calls for %s lets others have their turn', async (_, encode) => {
  let turns = 0;
  const others = setInterval(() => (turns += 1));
  await encode(makeBatch({ calls: Array(6).fill(makeCall({ callId: 'c', utterances: 5_000 })) }));
  clearInterval(others);
  expect(turns).toBeGreaterThan(2);
});
