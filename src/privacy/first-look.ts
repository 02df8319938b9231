/**
 * A first look at texts: nearly all talk holds no value, and reading numbers out of words costs fifty times this look.
 * The look may choose too many utterances, never too few.
 */

import { rememberRecent } from '../lib/recent.ts';
import { isShort } from './detect-context.ts';
import { listPhrases } from './languages.ts';
import { mostDigitsOf } from './number-words.ts';
import { fillers, listOrders, longestInterruption, type Spoken } from './read-pieces.ts';
import { toKey } from './read-text.ts';
import { interruptionWords, leastDigits } from './runs.ts';
import { tokens } from './tokens.ts';

/** Neighbours that may hold the beginning of a value, such as the letters of an account, or its end. */
const reach = 2;

/** Table by character code, because every letter of every call is looked up: its place in the alphabet without accents. */
const letters = new Uint8Array(0x250).map((_, code) => {
  const text = String.fromCharCode(code);
  return /[a-z\u00c0-\u024f]/i.test(text) ? toKey(text).charCodeAt(0) & 31 || 27 : 0;
});
/** Words with accents recur. */
const keyOf = rememberRecent(1_000, toKey);
/** Only Latin letters and common punctuation are handled. */
const isForeign = (code: number): boolean => code > 0x24f && !(code >= 0x2000 && code <= 0x20cf);
const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39;
/** Of a card verification value, or of month and year. */
const fewestDigits = 3;

/**
 * Facts of a word: most digits that it adds to a number, and bits. Every word without any is neither number nor filler.
 * Behind a word that `corrects`, a number goes on after more words than elsewhere.
 */
const known = new Map<string, number>();
const [digitBits, filler, corrects, sign, dot, cue] = [7, 8, 16, 32, 64, 128];
/** By first and last letter, a bit for each length of a known word: nearly all talk is passed over without making strings. */
const knownLengths = new Int32Array(1024);
const endsOf = (text: string, from: number, to: number): number =>
  ((letters[text.charCodeAt(from)] as number) << 5) | (letters[text.charCodeAt(to - 1)] as number);
const learn = (word: string, facts: number): void => {
  known.set(word, (known.get(word) ?? 0) | facts);
  const ends = endsOf(word, 0, word.length);
  knownLengths[ends] = (knownLengths[ends] as number) | (1 << word.length);
};
for (const [word, digits] of mostDigitsOf) learn(word, digits);
for (const word of fillers) learn(word, filler);
const announced = listPhrases('announces');
const usual = new Set(announced.flatMap(([phrase, kind]) => (isShort(kind) ? [] : phrase)));
const tells = (word: string): number => (usual.has(word) || mostDigitsOf.has(word) ? 0 : 100) + word.length;
/** The word of a phrase that nearly all talk has not, or the longest one, tells most. */
for (const [phrase] of announced.filter(([, kind]) => isShort(kind)))
  learn(toKey(phrase.toReversed().sort((a, b) => tells(b) - tells(a))[0] ?? ''), cue);
for (const [phrase] of ['corrections', 'hesitations'].flatMap(listPhrases)) learn(phrase.at(-1) ?? '', corrects);
for (const [phrase, own] of listPhrases('signs'))
  learn(phrase.at(-1) ?? '', /@|at/.test(own) ? sign : own === '.' ? dot : 0);

/**
 * Content of one text. `parts` = in order, most digits of a number. -1 is a word that is neither
 * numbers nor fillers; 0 is a word of a correction.
 */
export const lookAt = (sent: string) => {
  const text = sent.includes('ph_') ? sent.replaceAll(tokens, ' ') : sent;
  const parts: number[] = [];
  let [digits, seen] = [0, 0];
  const count = (own: number): void => {
    digits += own;
    parts.push(own);
  };
  for (let at = 0; at < text.length; ) {
    const code = text.charCodeAt(at);
    const from = at;
    at += 1;
    if ((letters[code] as number) > 0) {
      let highest = code;
      for (; (letters[text.charCodeAt(at)] as number) > 0; at += 1) highest |= text.charCodeAt(at);
      const isKnown = ((knownLengths[endsOf(text, from, at)] as number) & (1 << (at - from))) !== 0;
      const word = isKnown ? text.slice(from, at).toLowerCase() : '';
      const facts = (isKnown && known.get(highest > 0x7f ? keyOf(word) : word)) || 0;
      seen |= facts;
      if (facts & digitBits) count(facts & digitBits);
      else if (facts & corrects) parts.push(0);
      // Letters of an account, not "I", "a", "il y a" and "c'est".
      else if (facts === 0 && at - from === 1) {
        if (!/[aiy'\u2019]/i.test(text.slice(from - 1, at + 1))) parts.push(1);
      } else if (!(facts & filler)) parts.push(-1);
    } else if (isDigit(code)) {
      while (isDigit(text.charCodeAt(at))) at += 1;
      // Accounts have letters and digits in one.
      count((letters[text.charCodeAt(from - 1)] as number) > 0 ? 2 * (at - from) : at - from);
    } else if (isForeign(code))
      return { parts: [leastDigits], digits: leastDigits, hasSign: true, hasDot: true, hasCue: true };
    else if (code === 0x40) seen |= sign;
    else if (code === 0x2e) seen |= dot;
  }
  return { parts, digits, hasSign: (seen & sign) > 0, hasDot: (seen & dot) > 0, hasCue: (seen & cue) > 0 };
};

/**
 * Whether each utterance is to be read; undefined where none is.
 * @param announces whether an utterance announces a value that only its context gives away.
 */
export const chooseUtterances = (
  spoken: readonly Spoken[],
  announces: (utterance: number) => boolean,
): readonly boolean[] | undefined => {
  const looks = spoken.map(({ text }) => lookAt(text));
  if (!looks.some(({ digits, hasSign }) => digits > 0 || hasSign)) return undefined;
  const chosen = looks.map(() => false);
  const choose = (from: number, to: number): void => void chosen.fill(true, Math.max(0, from - reach), to + reach + 1);
  const near = (index: number) => looks.slice(Math.max(0, index - reach), index + reach + 1);
  for (const [index, look] of looks.entries()) {
    if (look.hasSign && near(index).some(({ hasDot }) => hasDot)) choose(index, index);
    const isNearNumber = look.hasCue && near(index).reduce((sum, { digits }) => sum + digits, 0) >= fewestDigits;
    if (isNearNumber && announces(index)) choose(index, index);
  }
  // Numbers that are close enough to each other to be dictated in parts.
  for (const order of listOrders(spoken)) {
    // `words` = number of words that may still stand before the next number.
    let [from, last, digits, words] = [0, 0, 0, 0];
    for (const index of order) {
      if (index - last > longestInterruption) digits = 0;
      last = index;
      words = Math.max(words, interruptionWords);
      for (const part of looks[index]?.parts ?? []) {
        if (part > 0) words = interruptionWords;
        else words += part || interruptionWords;
        if (words < 0) digits = 0;
        if (part <= 0) continue;
        if (digits === 0) from = index;
        digits += part;
        if (digits >= leastDigits) choose(from, index);
      }
    }
  }
  return chosen.includes(true) ? chosen : undefined;
};
