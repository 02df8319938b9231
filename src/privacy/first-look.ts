/**
 * A first look at texts: nearly all talk holds no value, and reading numbers out of words costs fifty times this look.
 * The look may choose too many utterances, never too few.
 */

import { shortKinds } from './detect-context.ts';
import { languages, meaningsOf, splitPhrases } from './languages.ts';
import { mostDigitsOf } from './number-words.ts';
import { fillers, longestInterruption, type Spoken } from './read-pieces.ts';
import { toKey } from './read-text.ts';
import { interruptionWords, leastDigits } from './runs.ts';

type Look = ReturnType<typeof lookAt>;

/** Neighbours that may hold the beginning of a value, such as the letters of an account, or its end. */
const reach = 2;

/** Table by character code, because every letter of every call is looked up: its place in the alphabet without accents. */
const letters = new Uint8Array(0x250).map((_, code) => {
  const text = String.fromCharCode(code);
  return /[a-z\u00c0-\u024f]/i.test(text) ? toKey(text).charCodeAt(0) & 31 || 27 : 0;
});
/** Only Latin letters and common punctuation are handled. */
const isForeign = (code: number): boolean => code > 0x24f && !(code >= 0x2000 && code <= 0x20cf);
const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39;
/** Of a card verification value, or of month and year. */
const fewestDigits = 3;

/**
 * Facts of a word; every word without any is neither number nor filler. `corrects` = behind it a number goes on after
 * more words than elsewhere. `isCue` = announces a value of few digits. `isOurs` = our own tokens begin so.
 */
const none = {
  digits: 0,
  isFiller: false,
  corrects: false,
  isSign: false,
  isDot: false,
  isCue: false,
  isOurs: false,
};
const known = new Map<string, typeof none>();
/** By first and last letter, a bit for each length of a known word: nearly all talk is passed over without making strings. */
const knownLengths = new Int32Array(1024);
const endsOf = (text: string, from: number, to: number): number =>
  ((letters[text.charCodeAt(from)] as number) << 5) | (letters[text.charCodeAt(to - 1)] as number);
const learn = (words: Iterable<string>, facts: Partial<typeof none>): void => {
  for (const word of words) {
    known.set(word, { ...none, ...known.get(word), ...facts });
    const ends = endsOf(word, 0, word.length);
    knownLengths[ends] = (knownLengths[ends] as number) | (1 << word.length);
  }
};

const lastWords = (phrases: string): readonly string[] => splitPhrases(phrases).map((words) => words.at(-1) ?? '');
const lastWordsOf = (sign: string): readonly string[] =>
  meaningsOf('signs').flatMap(([said, own]) => (own === sign ? lastWords(said) : []));
const phrasesOfKinds = (isMeant: (kind: string) => boolean) =>
  languages.flatMap(({ announces }) =>
    Object.entries(announces).flatMap(([kind, phrases]) => (isMeant(kind) ? splitPhrases(phrases) : [])),
  );
const isShort = (kind: string): boolean => shortKinds.some((own) => own === kind);
/** Words of phrases that announce values of many digits: nearly all talk has some. */
const usual = new Set(phrasesOfKinds((kind) => !isShort(kind)).flat());
const isTelling = (word: string): boolean => word.length > 2 && !usual.has(word) && !mostDigitsOf.has(word);
/** The most telling word of a phrase. */
const cueOf = (words: readonly string[]): string => {
  const byLength = words.toReversed().sort((a, b) => b.length - a.length);
  return toKey(byLength.find(isTelling) ?? byLength[0] ?? '');
};

for (const [word, digits] of mostDigitsOf) learn([word], { digits });
learn(fillers, { isFiller: true });
for (const { corrections, hesitations } of languages)
  learn(lastWords(`${corrections},${hesitations}`), { corrects: true });
learn(['at', 'chez', ...lastWordsOf('@')], { isSign: true });
learn(lastWordsOf('.'), { isDot: true });
learn(phrasesOfKinds(isShort).map(cueOf), { isCue: true });
learn(['ph'], { isOurs: true });
const tokenGoesOn = /_[a-z\d]+_[a-z2-7]{52}/y;

/** A word that is neither number nor filler. */
const addWord = (parts: number[]): void => {
  const last = parts.length - 1;
  if (last >= 0 && (parts[last] as number) < 0) parts[last] = (parts[last] as number) - 1;
  else parts.push(-1);
};

/**
 * Content of one text. `parts` = in order, most digits of a number. A negative value counts words that are neither
 * numbers nor fillers; 0 is a word of a correction.
 */
export const lookAt = (text: string) => {
  const parts: number[] = [];
  let [digits, hasSign, hasDot, hasCue] = [0, false, false, false];
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
      const facts = isKnown ? known.get(highest > 0x7f ? toKey(word) : word) : undefined;
      if (facts?.digits) count(facts.digits);
      // Letters of an account, not "I", "a", "il y a" and "c'est".
      else if (facts === undefined && at - from === 1) {
        if (!/[aiy'\u2019]/i.test(text.slice(from - 1, at + 1))) parts.push(1);
      } else if (facts?.corrects) parts.push(0);
      else if (!facts?.isFiller) addWord(parts);
      if (facts === undefined) continue;
      hasSign ||= facts.isSign;
      hasDot ||= facts.isDot;
      hasCue ||= facts.isCue;
      tokenGoesOn.lastIndex = at;
      if (facts.isOurs && tokenGoesOn.test(text)) at = tokenGoesOn.lastIndex;
    } else if (isDigit(code)) {
      while (isDigit(text.charCodeAt(at))) at += 1;
      // Accounts have letters and digits in one.
      count((letters[text.charCodeAt(from - 1)] as number) > 0 ? 2 * (at - from) : at - from);
    } else if (isForeign(code))
      return { parts: [leastDigits], digits: leastDigits, hasSign: true, hasDot: true, hasCue: true };
    else if (code === 0x40) hasSign = true;
    else if (code === 0x2e) hasDot = true;
  }
  return { parts, digits, hasSign, hasDot, hasCue };
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
  const isDialogue = spoken.some(({ speaker }) => speaker !== spoken[0]?.speaker);
  const runs = new Map<string | undefined, Run>();
  const near = (index: number): readonly Look[] => looks.slice(Math.max(0, index - reach), index + reach + 1);
  for (const [index, look] of looks.entries()) {
    if (look.hasSign && near(index).some(({ hasDot }) => hasDot)) choose(index, index);
    const isNearNumber = look.hasCue && near(index).reduce((sum, { digits }) => sum + digits, 0) >= fewestDigits;
    if (isNearNumber && announces(index)) choose(index, index);
    // Runs of each speaker, and of all together.
    for (const key of isDialogue ? [spoken[index]?.speaker, undefined] : [undefined]) {
      const run = runs.get(key) ?? { from: index, last: index, digits: 0, words: 0 };
      runs.set(key, run);
      goOn(run, look, index, choose);
    }
  }
  return chosen.includes(true) ? chosen : undefined;
};

/** Numbers close enough to each other to be dictated in parts. */
interface Run {
  from: number;
  last: number;
  digits: number;
  /** Number of words that may still stand before the next number. */
  words: number;
}

const goOn = (run: Run, { parts }: Look, index: number, choose: (from: number, to: number) => void): void => {
  if (index - run.last > longestInterruption) run.digits = 0;
  run.last = index;
  run.words = Math.max(run.words, interruptionWords);
  for (const part of parts) {
    if (part > 0) run.words = interruptionWords;
    else run.words += part || interruptionWords;
    if (run.words < 0) run.digits = 0;
    if (part <= 0) continue;
    if (run.digits === 0) run.from = index;
    run.digits += part;
    if (run.digits >= leastDigits) choose(run.from, index);
  }
};
