import { expect, test } from 'vitest';
import { arrayEnd, ascii, JsonWriter } from '../../../src/warehouse/bigquery/json-writer.ts';

const readBack = <T>(values: readonly T[], write: (writer: JsonWriter, value: T) => void): unknown => {
  const writer = new JsonWriter();
  writer.open(ascii('['));
  for (const value of values) write(writer, value);
  writer.close(arrayEnd);
  return JSON.parse(Buffer.concat(writer.end()).toString().slice(0, -1));
};

test('numbers come back as the same doubles, at the ends of those written digit by digit too', () => {
  const ends = [0, 9, 10, 999_999, 1e6, 1e9, 2 ** 31, 1.7e15, 5e-324, -0.5, 0.0005, 1e21, 0.1 + 0.2];
  const steps = Array.from({ length: 20_000 }, (_, index) => [index, index * 199.999, index / 1000, index * 0.0007]);
  const values = [...ends, ...steps.flat()].flatMap((value) => [value, value + 0.001]);
  expect(readBack(values, (writer, value) => writer.number(value))).toEqual(values);
  expect(readBack([-0, Number.NaN], (writer, value) => writer.number(value))).toEqual([0, null]);
});

test('texts and words come back as they were, of any length and script', () => {
  const odd = ['', 'a', 'é', '߿ࠀ', '中文', '\u{1f600}', '"', '\\', '\n\t\0\u001f'.repeat(30), '\u2028', '\ud800'];
  const texts = [...odd, ...odd.map((text) => `été ${text} fin`), ...odd.map((text) => text.padStart(401, 'x'))];
  expect(readBack(texts, (writer, text) => writer.text(text))).toEqual(texts);
  // Several chunks: they end among these.
  const value = Array.from({ length: 30_000 }, (_, index) => (index % 99 === 0 ? null : (odd[index % 11] ?? '')));
  const start = value.map((_, index) => (index % 5 === 0 ? null : -index / 7));
  const words = { value, start, length: start.toReversed(), score: value.map((_, index) => index / 100) };
  const none = { value: [], start: [], length: [], score: [] };
  expect(readBack([words, none], (writer, some) => writer.words(some))).toEqual([
    words.value.map((word, at) => ({
      value: word,
      start: words.start[at],
      length: words.length[at],
      score: words.score[at],
    })),
    [],
  ]);
});
