/** Any JSON at all: flatten never throws, and no record fails its batch in a real warehouse. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { CallDocument } from '../../../schemas/call.ts';
import { knownCallFields } from '../../../schemas/call.ts';
import { flattenCall } from '../../../src/calls/flatten.ts';
import { ingest, loadFolded } from '../../../src/pipeline/load/ingest.ts';
import { digestedColumns } from '../../../src/warehouse/digest.ts';
import { digestRows } from '../../support/digest-tables.ts';
import { inheritedNames } from '../../support/inherited-names.ts';
import { observationOf, usePipeline } from '../../support/pipeline.ts';

const pipeline = usePipeline({ documents: true });

/** Text that hurts: NUL, half characters, emoji, text that looks like numbers, dates and JSON, long text. */
const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 20 }),
  fc.string({ unit: fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code)), maxLength: 8 }),
  fc.constantFrom(
    '',
    '\0',
    '\ud800',
    '\udc00\ud800',
    '😀',
    '1e999',
    '-0',
    '9'.repeat(60),
    '0.1e-30',
    'NaN',
    '\\N',
    '{}',
    'null',
    'x'.repeat(5_000),
  ),
  fc.date({ noInvalidDate: true }).map((at) => at.toISOString()),
  fc.constantFrom('0001-01-01T00:00:00Z', '9999-12-31T23:59:60+23:59', '2023-12-04T15:18:29.999999999Z'),
);
const number = fc.oneof(
  fc.double({ noNaN: true }),
  fc.constantFrom(
    0,
    -0,
    1e308,
    -1e308,
    5e-324,
    2 ** 53,
    -(2 ** 63),
    Number.POSITIVE_INFINITY,
    Number.NEGATIVE_INFINITY,
  ),
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
const word = shaped({ value: mostly(text), start: mostly(number), length: mostly(number), score: mostly(number) });
const utterance = shaped({
  from: mostly(text),
  content: mostly(text),
  datetime: mostly(number),
  duration: mostly(number),
  words: mostly(fc.array(word, { maxLength: 3 })),
});
const contact = shaped({ label: mostly(text), data: mostly(text), type: fc.constantFrom('PHONE', 'x', 1) });
const metadataKey = fc.oneof(
  text,
  fc.constantFrom(
    'ClientID',
    'ANI',
    'UDF_num_01',
    'UDF_num_99',
    'UDF_text_01',
    '漢'.repeat(600),
    `${'é'.repeat(512)}x`,
  ),
);
const record = fc.record(
  {
    timestamp: mostly(text),
    qualified: mostly(text),
    status: mostly(text),
    campaign: anything,
    duration: mostly(fc.oneof(text, number)),
    ivr_end: mostly(number),
    audio_state: anything,
    transcript_json: shaped({
      callData: mostly(fc.array(utterance, { maxLength: 3 })),
      callUniqueId: anything,
      meta: shaped({ lang: anything, asr_model: anything, obfuscated: mostly(fc.constantFrom('true', 'false', '')) }),
    }),
    metadata: mostly(
      fc
        .array(fc.tuple(metadataKey, fc.oneof(text, anything)), { maxLength: 4 })
        .map((pairs) => Object.fromEntries(pairs)),
    ),
    tags: mostly(
      fc.array(
        shaped({
          unique_id: anything,
          display_name: anything,
          confidence: mostly(number),
          type: anything,
          value: anything,
        }),
        { maxLength: 3 },
      ),
    ),
    visit: anything,
    tracking_info: anything,
    qualification: anything,
    in: contact,
    out: contact,
  },
  { requiredKeys: [] },
);
const document: fc.Arbitrary<CallDocument> = fc
  .tuple(
    record,
    fc.array(fc.tuple(fc.oneof(text, fc.constantFrom(...inheritedNames, ...knownCallFields)), anything), {
      maxLength: 3,
    }),
  )
  .map(([known, more]) => Object.fromEntries([...more, ...Object.entries(known)]));

test('any record becomes rows, whatever it holds', () => {
  fc.assert(
    fc.property(fc.oneof(document, fc.dictionary(text, anything)), (fields) => {
      const unseen = { firstSeenAt: null, changedAt: null, sourceDeletedAt: null };
      const flat = flattenCall({ callId: 'c', document: fields, ...unseen }, { documents: true });
      expect(flat.rows.calls).toHaveLength(1);
    }),
    { numRuns: 400 },
  );
});

test('every batch is folded and loaded whole, and reads back as flatten made it', async () => {
  let next = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(document, { minLength: 20, maxLength: 40 }), async (documents) => {
      // The test reads whole tables, so they may hold only this batch.
      await pipeline.clear();
      const ids = documents.map(() => `${'漢'.repeat(next % 3 === 0 ? 500 : 1)}${next++}`);
      const observations = documents.map((fields, n) =>
        observationOf(ids[n] as string, 1, { ...fields, unique_id: ids[n] }, 'webhook'),
      );
      const folded = await ingest(pipeline.deps, { observations, rejected: [], origin: 'test' });
      expect(folded.rejected).toBe(0);
      expect(await loadFolded(pipeline.deps, folded)).toEqual({ main: documents.length });
      expect(pipeline.logged).toEqual([]);
      const sent = folded.changed.map(({ callId, document }) =>
        flattenCall({ callId, document, firstSeenAt: 1, changedAt: 1, sourceDeletedAt: null }, { documents: true }),
      );
      for (const name of ['utterances', 'tags', 'metadata', 'udfs', 'contacts', 'documents'] as const) {
        const expected = sent.flatMap((one) => one.rows[name]);
        const columns = digestedColumns(name).filter((column) => column.type !== 'words');
        const made = (async function* () {
          yield* expected;
        })();
        expect(await digestRows(columns, pipeline.warehouse.rowsOf(name))).toBe(await digestRows(columns, made));
      }
    }),
    { numRuns: 10, endOnFailure: true },
  );
});
