import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import type { CallDocument } from '../../schemas/call.ts';
import { flattenCall } from '../../src/calls/flatten.ts';
import { defineEncoded, scanFields } from '../../src/lib/scan-value.ts';

const number = fc.oneof(
  fc.maxSafeInteger().map((parts) => parts / 2 ** 53),
  fc.integer({ min: -1e6, max: 1e6 }).map((cents) => cents / 1000),
  fc.integer(),
);
const text = fc.oneof(fc.string({ unit: 'grapheme' }), fc.constantFrom('', '"words":[', 'été', '\u0000'));
const usual = fc.record({ value: text, start: number, length: number, score: number });
const odd = fc.oneof(
  fc.record({ value: text, start: number, length: number, score: number, speaker: text }, { requiredKeys: [] }),
  fc.record({ value: number, start: text, length: fc.constant(null), score: fc.jsonValue() }),
  fc.constantFrom(null, 1, [], 'word'),
);
const words = fc.oneof(
  { weight: 6, arbitrary: fc.array(usual, { maxLength: 5 }) },
  fc.array(fc.oneof(usual, odd), { maxLength: 3 }),
  fc.jsonValue(),
);
const transcripts = fc.record({
  callData: fc.array(fc.record({ from: text, words, content: text }), { maxLength: 3 }),
  meta: fc.oneof(fc.record({ lang: text, words }), fc.jsonValue()),
});

const unseen = { callId: 'c', firstSeenAt: 1, changedAt: 1, sourceDeletedAt: null };

test('words that are read out of bytes make the same rows as parsed ones', () => {
  fc.assert(
    fc.property(transcripts, (transcript) => {
      const bytes = Buffer.from(JSON.stringify(transcript));
      const [field] = scanFields(Buffer.from(`{"transcript_json":${bytes}}`), 0)?.fields ?? [];
      fc.pre(field?.plain === true);
      const document: CallDocument = {};
      defineEncoded(document, 'transcript_json', bytes);
      expect(flattenCall({ ...unseen, document, json: { transcript_json: bytes } })).toEqual(
        flattenCall({ ...unseen, document: { transcript_json: JSON.parse(bytes.toString()) } }),
      );
    }),
    { numRuns: 300 },
  );
});

test('a list of usual words is not parsed, one with another word is', () => {
  const [hello, other] = [{ score: 0.937, start: 14, value: 'été', length: 1.15 }, { value: 'x' }];
  const bytes = Buffer.from(JSON.stringify({ callData: [{ words: [hello] }, { words: [hello, other] }] }));
  const parse = vi.spyOn(JSON, 'parse');
  const { rows } = flattenCall({ ...unseen, document: { transcript_json: {} }, json: { transcript_json: bytes } });
  const parsed = parse.mock.calls.map(([text]) => text);
  parse.mockRestore();
  expect(parsed).toEqual([`{"callData":[{"words":"\\u00000"},{"words":${JSON.stringify([hello, other])}}]}`]);
  expect(rows.utterances[0]?.words).toEqual({ value: ['été'], start: [14], length: [1.15], score: [0.937] });
});
