/** A first look at a text: which numbers and words it has. Most talk has nothing that a detector would read. */
import { mostDigitsOf } from './number-words.ts';
import { fillers } from './read-pieces.ts';
import { dateAt } from './read-tokens.ts';

/** What one text holds. */
export interface Sketch {
  /** In their order: most digits of a number; less than 0, so many words that are neither numbers nor fillers. */
  readonly parts: readonly number[];
  readonly hasNumber: boolean;
  /** A sign of an address and what stands before its ending. */
  readonly hasAddress: boolean;
}

/** Beyond Latin letters and common punctuation nothing is known of word boundaries here. */
const isForeign = (code: number): boolean => code > 0x24f && !(code >= 0x2000 && code <= 0x20cf);
/** By character code; a table, for every letter of every call is looked up. */
const letters = new Uint8Array(1 << 16);
for (let code = 0; code <= 0x24f; code += 1) {
  const char = String.fromCharCode(code);
  if (/[a-z\u00c0-\u024f]/i.test(char) && char !== '\u00d7' && char !== '\u00f7') letters[code] = 1;
}
const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39;

const addressSigns = new Set(['arobase', 'arrobase', 'arobas', 'arobaz', 'at']);
const addressDots = new Set(['point', 'dot']);

/** Any letter to its lower case, of Latin-1; others to something that no known word begins with. */
const lowerOf = (code: number): number => (code < 0x100 ? code | 0x20 : 0);
/** A place in a table for each word, by its length and its first, second and last letter. */
const placeOf = (first: number, second: number, last: number, length: number): number =>
  ((((lowerOf(first) * 31 + lowerOf(second)) * 31 + lowerOf(last)) * 31) ^ length) & 0xffff;

/** The places of all words that mean anything here: most words need no closer look. */
const known = new Uint8Array(1 << 16);
for (const word of [...mostDigitsOf.keys(), ...fillers, ...addressSigns, ...addressDots]) {
  const { length } = word;
  known[placeOf(word.charCodeAt(0), word.charCodeAt(Math.min(1, length - 1)), word.charCodeAt(length - 1), length)] = 1;
}

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
export const sketch = (text: string): Sketch | undefined => {
  const parts: number[] = [];
  let hasNumber = false;
  let hasSign = false;
  let hasDot = false;
  const { length } = text;
  let at = 0;
  while (at < length) {
    const code = text.charCodeAt(at);
    const from = at;
    if (letters[code] === 1) {
      at += 1;
      while (at < length && letters[text.charCodeAt(at)] === 1) at += 1;
      const second = at - from > 1 ? text.charCodeAt(from + 1) : code;
      const isKnown = known[placeOf(code, second, text.charCodeAt(at - 1), at - from)] === 1;
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

/** Wider than what `detect-context.ts` looks for, over text as it is: what it passes over announces nothing. */
const announcement =
  /rypto|pictogr|cv[cv]|curit|chiffres|digits|rification|\bdos d|derri|back of|\bn[e\u00e9\u00c9][e\u00e9\u00c9]?s?(?![a-z\d_])|naissance|born|birth|d\W?o\W?b|\bddn|anniversaire|\bje suis d/i;

/** False where words announce neither a card verification value nor a date of birth; `announces` looks closer. */
export const mayAnnounce = (text: string): boolean => announcement.test(text);
