/** The policies on a transcript: utterances by spans, everything beside them as any other field. */
import { isDeepStrictEqual } from 'node:util';
import { isObject } from '../calls/field-reader.ts';
import { type Redaction, redactionsField } from '../calls/redactions.ts';
import { detect } from './detect.ts';
import { countWordsOf, markRedactions } from './mark-redactions.ts';
import { openTranscript } from './redact-transcript.ts';
import type { RuleNode } from './rules.ts';
import {
  type Fields,
  mostRounds,
  replacementOf,
  type SanitizeOptions,
  sanitizeFields,
  sanitizeName,
  sanitizeValue,
} from './sanitize-value.ts';

/** The transcript with the policies applied; the same object where nothing had to change. */
export const sanitizeTranscript = (transcript: Fields, node: RuleNode, options: SanitizeOptions): unknown => {
  const { callData, [redactionsField]: held, ...rest } = transcript;
  const others = sanitizeValue(rest, node, 'transcript_json', options, 1);
  const said = redactSaid(callData, options);
  const utterances = sanitizeBeside(said.callData, node.child('callData'), options);
  const items: readonly unknown[] = Array.isArray(callData) ? callData : [];
  const countWords = (index: number) => countWordsOf(items[index]);
  const marks = markRedactions({ held, added: said.redactions, count: items.length, countWords }, node, options);
  if (others === rest && utterances === callData && isDeepStrictEqual(marks, held)) return transcript;
  return {
    ...(isObject(others) ? others : {}),
    callData: utterances,
    ...(marks === undefined ? {} : { [redactionsField]: marks }),
  };
};

const sanitizeBeside = (callData: unknown, node: RuleNode, options: SanitizeOptions): unknown => {
  if (!Array.isArray(callData)) return sanitizeValue(callData, node, 'callData', options, 2);
  let isChanged = false;
  const items = callData.map((item: unknown) => {
    const kept = sanitizeUtterance(item, node, options);
    if (kept !== item) isChanged = true;
    return kept;
  });
  return isChanged ? items : callData;
};

/**
 * Fields of an utterance beside text and words, and of words beside their value: unknown ones may hold anything.
 * @param node of the utterances.
 */
export const sanitizeUtterance = (item: unknown, node: RuleNode, options: SanitizeOptions): unknown =>
  isObject(item)
    ? sanitizeFields(item, node, options, (value, inner, name) => {
        if (name === 'content' && typeof value === 'string') return value;
        if (name === 'words' && Array.isArray(value)) return sanitizeWords(value, node.child('words'), options);
        return sanitizeValue(value, inner, name, options, 4);
      })
    : item;

const sanitizeWords = (words: readonly unknown[], node: RuleNode, options: SanitizeOptions): readonly unknown[] => {
  let isChanged = false;
  const kept = words.map((word) => {
    if (!isObject(word) || !mayHold(word, node, options)) return word;
    const own = sanitizeFields(word, node, options, (value, inner, name) =>
      name === 'value' ? value : sanitizeValue(value, inner, name, options, 6),
    );
    if (own !== word) isChanged = true;
    return own;
  });
  return isChanged ? kept : words;
};

/** A word has a value and small numbers: there are hundreds in a call, and nearly none has more. */
const mayHold = (word: Fields, node: RuleNode, options: SanitizeOptions): boolean => {
  for (const name in word) {
    if (name === 'value') continue;
    if (!staysNamed(name, node, options)) return true;
    const value = word[name];
    if (typeof value === 'number' && (Math.abs(value) < 1e6 || (Number.isFinite(value) && !Number.isInteger(value))))
      continue;
    if (value !== null && typeof value !== 'boolean') return true;
  }
  return false;
};

/** Whether a field keeps its name, and a small number in it stays. @param node of the object that has it. */
export const staysNamed = (name: string, node: RuleNode, options: SanitizeOptions): boolean => {
  const inner = node.child(name);
  return (inner.action === 'redact' || inner.action === 'keep') && sanitizeName(name, inner, options) === name;
};

/** The utterances with findings replaced, and where; the same list where there are none. */
const redactSaid = (
  callData: unknown,
  options: SanitizeOptions,
): { readonly callData: unknown; readonly redactions: readonly Redaction[] } => {
  let result = callData;
  const redactions: Redaction[] = [];
  for (let round = 0; round < mostRounds; round += 1) {
    const opened = openTranscript(result);
    const said = opened.redact(detect(opened.spoken, options), (finding) => replacementOf(finding, options));
    if (said === undefined) break;
    result = said.callData;
    redactions.push(...said.redactions);
  }
  return { callData: result, redactions };
};
