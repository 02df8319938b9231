/**
 * Which utterances may hold a personal value: nearly all talk holds none, and reading a number out of words costs fifty times
 * this look at them. It may choose too many, never too few.
 */
import { announces } from './detect-context.ts';
import type { DetectorName } from './finding.ts';
import { fillers, interruptionWords, leastDigits } from './number-runs.ts';
import { mostDigitsOf } from './number-words.ts';
import { longestInterruption, type Spoken } from './read-pieces.ts';
import { dateAt } from './read-tokens.ts';

/** What one text holds. */
interface Sketch {
  /** In their order: most digits of a number; less than 0, so many words that are neither numbers nor fillers. */
  readonly parts: readonly number[];
  readonly hasNumber: boolean;
  /** A sign of an address and what stands before its ending. */
  readonly hasAddress: boolean;
}

/** Beyond Latin letters and common punctuation nothing is known of word boundaries here. */
const isForeign = (code: number): boolean => code > 0x24f && !(code >= 0x2000 && code <= 0x20cf);
const isLetter = (code: number): boolean =>
  (code >= 0x61 && code <= 0x7a) ||
  (code >= 0x41 && code <= 0x5a) ||
  (code >= 0xc0 && code <= 0x24f && code !== 0xd7 && code !== 0xf7);
const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39;

const addressSigns = new Set(['arobase', 'arrobase', 'arobas', 'arobaz', 'at']);
const addressDots = new Set(['point', 'dot']);

/** Any letter to its lower case, of Latin-1; others to something that no known word begins with. */
const lowerOf = (code: number): number => (code < 0x100 ? code | 0x20 : 0);
const beginOf = (first: number, second: number): number => (lowerOf(first) << 8) | lowerOf(second);

/** The first two letters of every word that means anything here: most words need no closer look. */
const begins = new Uint8Array(1 << 16);
for (const word of [...mostDigitsOf.keys(), ...fillers, ...addressSigns, ...addressDots])
  begins[beginOf(word.charCodeAt(0), word.length > 1 ? word.charCodeAt(1) : 0)] = 1;

/** A word that is neither number nor filler. */
const addWord = (parts: number[]): void => {
  const last = parts.length - 1;
  if (last >= 0 && (parts[last] as number) < 0) parts[last] = (parts[last] as number) - 1;
  else parts.push(-1);
};

/** Offset behind a date whose digits are no number; `from` where none begins. "1/2/2024-03-04" begins with another one. */
const skipDate = (text: string, from: number): number => {
  if (text.charCodeAt(from + 4) !== 0x2d) return from;
  if (text.charCodeAt(from - 1) === 0x2f && isDigit(text.charCodeAt(from - 2))) return from;
  dateAt.lastIndex = from;
  return dateAt.test(text) ? dateAt.lastIndex : from;
};

/** Undefined where the text has characters that this look cannot tell words by. */
const sketch = (text: string): Sketch | undefined => {
  const parts: number[] = [];
  let hasNumber = false;
  let hasSign = false;
  let hasDot = false;
  let at = 0;
  while (at < text.length) {
    const code = text.charCodeAt(at);
    const from = at;
    if (isLetter(code)) {
      at += 1;
      while (isLetter(text.charCodeAt(at))) at += 1;
      const isKnown = begins[beginOf(code, at - from > 1 ? text.charCodeAt(from + 1) : 0)] === 1;
      const word = isKnown ? text.slice(from, at).toLowerCase() : '';
      const digits = mostDigitsOf.get(word);
      if (digits !== undefined) {
        parts.push(digits);
        hasNumber = true;
      } else if (!isKnown || !fillers.has(word)) {
        addWord(parts);
        hasSign ||= isKnown && addressSigns.has(word);
      }
      hasDot ||= isKnown && addressDots.has(word);
    } else if (isDigit(code)) {
      hasNumber = true;
      const behind = skipDate(text, from);
      if (behind > from) {
        addWord(parts);
        at = behind;
        continue;
      }
      while (isDigit(text.charCodeAt(at))) at += 1;
      parts.push(at - from);
    } else if (isForeign(code)) return undefined;
    else {
      if (code === 0x40) hasSign = true;
      else if (code === 0x2e) hasDot = true;
      at += 1;
    }
  }
  return { parts, hasNumber, hasAddress: hasSign && hasDot };
};

/** False where a text by itself can hold no value. */
export const mayHoldValue = (text: string): boolean => {
  const found = sketch(text);
  return found === undefined || found.hasNumber || found.hasAddress;
};

/** Neighbours that may hold the beginning of a value, such as the letters of an account, or its end. */
const reach = 2;

/** Words by which digits without a check of their own may be a social security number. */
const nirWords = /s[eé]cu|vitale|assur|matricul|\bnir\b|ss\b/i;

/** @returns whether each utterance is to be read; undefined where none is. */
export const chooseUtterances = (
  spoken: readonly Spoken[],
  isOn: (name: DetectorName) => boolean,
): readonly boolean[] | undefined => {
  const sketches: Sketch[] = [];
  let hasNumber = false;
  for (const { text } of spoken) {
    const one = sketch(text);
    if (one === undefined) return spoken.map(() => true);
    sketches.push(one);
    hasNumber ||= one.hasNumber;
  }
  let chosen: boolean[] | undefined;
  const choose = (from: number, to: number): void => {
    chosen ??= spoken.map(() => false);
    for (let at = Math.max(0, from - reach); at <= to + reach && at < chosen.length; at += 1) chosen[at] = true;
  };
  for (const [index, { hasAddress }] of sketches.entries()) if (hasAddress) choose(index, index);
  if (!hasNumber) return chosen;
  chooseRuns(spoken, sketches, choose);
  if (isOn('cvv') || isOn('birth')) {
    for (const [index, { text }] of spoken.entries()) {
      const isAnswered = sketches.slice(index, index + 1 + reach).some((one) => one.hasNumber);
      if (isAnswered && announces(text)) choose(index, index);
    }
  }
  if (chosen !== undefined && isOn('nir')) {
    for (const [index, { text }] of spoken.entries()) if (nirWords.test(text)) chosen[index] = true;
  }
  return chosen;
};

/** Numbers close enough to each other to be dictated in parts, of each speaker and of all, that have digits enough. */
const chooseRuns = (
  spoken: readonly Spoken[],
  sketches: readonly Sketch[],
  choose: (from: number, to: number) => void,
): void => {
  const speakers = new Set(spoken.map(({ speaker }) => speaker));
  for (const wanted of speakers.size === 1 ? [undefined] : [...speakers, undefined]) {
    let digits = 0;
    let words = interruptionWords;
    let begin = 0;
    let last = 0;
    for (const [index, { parts }] of sketches.entries()) {
      if (wanted !== undefined && spoken[index]?.speaker !== wanted) continue;
      if (index - last > longestInterruption) digits = 0;
      last = index;
      words = Math.max(words, interruptionWords);
      for (const part of parts) {
        if (part < 0) {
          words += part;
          if (words < 0) digits = 0;
          continue;
        }
        if (digits === 0) begin = index;
        digits += part;
        words = interruptionWords;
        if (digits >= leastDigits) choose(begin, index);
      }
    }
  }
};
