import type { WordArrays } from '../../schemas/tables.ts';
import { cleanText, isDirty } from './clean.ts';
import { type FieldReader, isObject } from './field-reader.ts';

type Words = { -readonly [K in keyof WordArrays]: unknown[] };

/** Rows of `utterances` with their words as arrays (interface §2.2), and the number of words in all. */
export const flattenUtterances = (
  callId: string,
  at: number | null,
  callData: unknown,
  read: FieldReader,
): { readonly rows: unknown[][]; readonly words: number } => {
  const rows: unknown[][] = [];
  let total = 0;
  const list = read.array(callData, 'transcript_json.callData');
  for (let index = 0; index < list.length; index += 1) {
    const field = `transcript_json.callData[${index}]`;
    const utterance = read.element(list[index], field);
    const words = wordArrays(read.array(utterance.words, `${field}.words`), field, read);
    total += words.value.length;
    rows.push([
      callId,
      at,
      index,
      read.text(utterance.from, `${field}.from`),
      read.text(utterance.content, `${field}.content`),
      read.numberText(utterance.datetime, `${field}.datetime`),
      read.numberText(utterance.duration, `${field}.duration`),
      read.numberText(utterance.score, `${field}.score`),
      words.value.length,
      words,
    ]);
  }
  return { rows, words: total };
};

/** The hot loop of flatten: most of a call is words, so the common case takes no function call per field. */
const wordArrays = (words: readonly unknown[], field: string, read: FieldReader): Words => {
  const count = words.length;
  const arrays: Words = {
    value: new Array(count),
    start: new Array(count),
    length: new Array(count),
    score: new Array(count),
  };
  for (let index = 0; index < count; index += 1) {
    const word = words[index];
    if (!isObject(word)) {
      arrays.value[index] = arrays.start[index] = arrays.length[index] = arrays.score[index] = null;
      read.note(`${field}.words[${index}]`, 'not an object');
      continue;
    }
    const { value, start, length, score } = word;
    arrays.value[index] =
      typeof value === 'string'
        ? isDirty(value)
          ? cleanText(value)
          : value
        : read.text(value, `${field}.words[${index}].value`);
    arrays.start[index] = isPlain(start) ? start : read.numberText(start, `${field}.words[${index}].start`);
    arrays.length[index] = isPlain(length) ? length : read.numberText(length, `${field}.words[${index}].length`);
    arrays.score[index] = isPlain(score) ? score : read.numberText(score, `${field}.words[${index}].score`);
  }
  return arrays;
};

/** A finite number other than zero, whose sign could be negative and differ between warehouses. */
const isPlain = (value: unknown): value is number => typeof value === 'number' && value !== 0 && Number.isFinite(value);
