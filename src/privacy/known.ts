/**
 * Finds values that a record itself names in its transcript: names and numbers of its contacts, and metadata under a
 * rule of their own. Whole words, spelled words and spoken numbers count. Names that no field has stay.
 */
import { joinKnown } from '../calls/known.ts';
import { isObject } from '../lib/parse-json.ts';
import type { Finding } from './finding.ts';
import { phrasesOf, wordsOf } from './languages.ts';
import { normalizeNumber, writtenDigits } from './phone-number.ts';
import { isFiller, type NumberPiece, readPieces, type Spoken, type WordPiece } from './read-pieces.ts';
import { readPlain, readTokens } from './read-text.ts';
import { spansOf } from './runs.ts';

/** Path of the rule on these values. */
export const knownPath = 'transcript.known_values';

type Said = NumberPiece | WordPiece;
type Countries = Parameters<typeof normalizeNumber>[1];
type Named = readonly (readonly [value: string, label: string])[];
export type Known = ReturnType<typeof openKnown>;

const titles = wordsOf((language) => language.titles);
const ordinary = wordsOf((language) => language.ordinaryNames);
const articles = wordsOf((language) => language.articles);
const introduces = phrasesOf((language) => language.beforeNames);

/** Longer values are texts, and shorter numbers are said for many reasons. */
const longest = { words: 6, characters: 24, introduction: 4, readings: 64 };
const leastDigits = 5;

const textOf = (piece: Said): string => (piece.kind === 'number' ? piece.text : piece.key);
const readSaid = (texts: readonly { readonly text: string }[]): readonly Said[] => {
  const said: Said[] = [];
  for (const piece of texts.flatMap(({ text }, utterance) => readPieces(readTokens(text), utterance))) {
    if (piece.kind !== 'word' && piece.kind !== 'number') continue;
    const { utterance, start, end } = piece;
    const isO = /^o$/i.test(texts[utterance]?.text.slice(start, end) ?? '') && said.at(-1)?.kind === 'word';
    // A letter is a zero only behind a number.
    const letter = {
      kind: 'word',
      utterance,
      start,
      end,
      key: 'o',
      text: 'o',
      isSpaced: true,
      isFiller: false,
      isCorrection: false,
    } as const;
    said.push(isO ? letter : piece);
  }
  return said;
};

/** The values among the fields of a raw record. @param isNamed whether a rule names a key of metadata */
export const listNamed = (fields: Readonly<Record<string, unknown>>, isNamed: (key: string) => boolean) => {
  const values = ['in', 'out', 'metadata'].flatMap((name) => {
    const value: unknown = Buffer.isBuffer(fields[name]) ? JSON.parse(String(fields[name])) : fields[name];
    const isWanted = name === 'metadata' ? isNamed : (key: string) => key === 'label' || key === 'data';
    return Object.entries(isObject(value) ? value : {}).flatMap(([key, own]) => (isWanted(key) ? [own] : []));
  });
  const texts = values.filter((value) => typeof value === 'string' || typeof value === 'number').map(String);
  return texts.filter((text) => !/^(?:ph_|…|\[)/.test(text));
};

/** Ways in which a value is said, as letters and digits. */
const listForms = (value: string, countries: Countries): readonly string[] => {
  const digits = value.replaceAll(/\D/g, '');
  const number = digits.length < leastDigits ? '' : (normalizeNumber(value, countries) ?? '');
  const words = readSaid([{ text: value.replace(/@.*$/, '') }]).map(textOf);
  const isCode = digits !== '' && words.length < 3;
  const parts = isCode ? [] : words.flatMap((word, at) => [[word], words.slice(at, at + 2), words.slice(at, at + 3)]);
  const ways = [words, ...parts].filter((way) => way.some((word) => word.length > 1 && !titles.has(word)));
  const forms = words.length > longest.words ? [] : ways.map((way) => way.join(''));
  const isLong = (form: string): boolean => form.length >= (/\d/.test(form) ? leastDigits : 2);
  return [digits, ...writtenDigits(number), ...forms].filter(isLong);
};

/**
 * `labelOf` = the replacement of a form. `hashes` = those of all values, the first of each form.
 * @param carried hashes of values that other records of the call name; their replacement is not known
 */
export const openKnown = (
  named: Named,
  carried: unknown,
  hashesOf: (form: string) => readonly string[],
  countries: Countries,
) => {
  const own = new Map(
    named.flatMap(([value, label]) => listForms(value, countries).map((form) => [form, label] as const)).reverse(),
  );
  const others = new Set(joinKnown(carried));
  const isOther = (form: string): boolean => others.size > 0 && hashesOf(form).some((hash) => others.has(hash));
  const begun = new Set([...own.keys()].flatMap((form) => Array.from(form, (_, at) => form.slice(0, at + 1))));
  return {
    /** Whether a form may begin so. */
    mayGoOn: (text: string) => begun.has(text) || (others.size > 0 && text.length <= longest.characters),
    labelOf: (form: string) => own.get(form) ?? (isOther(form) ? '[known]' : undefined),
    hashes: joinKnown(
      [...others],
      Array.from(own.keys(), (form) => hashesOf(form)[0]),
    ),
  };
};

/** Findings whose value is their replacement: at each place, the form of the most words. */
export const findKnown = (spoken: readonly Spoken[], { labelOf, mayGoOn }: Known): readonly Finding[] => {
  const plain = spoken.map(({ text }) => readPlain(text));
  const words = readSaid(plain);
  const findings: Finding[] = [];
  for (let from = 0; from < words.length; from += 1) {
    const own: Said[] = [];
    let [label, count, texts] = ['', 0, ['']];
    for (const word of words.slice(from, from + longest.characters)) {
      const last = own.at(-1);
      // A number goes on behind "yes" and "then", also in the next utterance.
      if (last?.kind === 'number' && isFiller(word)) continue;
      if (last && word.kind === 'word' && word.utterance !== last.utterance) break;
      const readings = word.kind === 'number' ? [word.text, ...word.others] : [word.key];
      texts = texts.flatMap((text) => readings.map((reading) => text + reading)).filter(mayGoOn);
      if (texts.length === 0 || texts.length > longest.readings) break;
      own.push(word);
      const found = texts.map(labelOf).find((one) => one !== undefined);
      if (found !== undefined) [label, count] = [found, own.length];
    }
    const meant = own.slice(0, count);
    const [first] = meant;
    if (first === undefined || !isMeant(words, from, meant, plain[first.utterance]?.text ?? '', labelOf)) continue;
    const spans = spansOf(meant).map((span) => plain[span.utterance]?.placeOf(span) ?? span);
    findings.push({ detector: 'known', value: label, spans });
    from = words.indexOf(meant.at(-1) as Said, from);
  }
  return findings;
};

const isCapital = (word: Said): boolean => word.kind === 'word' && /^\p{Lu}\p{Ll}/u.test(word.text);

/** Whether words are a name: spelled, introduced, beside another, with a capital in a sentence, alone, or not ordinary. */
const isMeant = (
  words: readonly Said[],
  from: number,
  own: readonly Said[],
  text: string,
  labelOf: Known['labelOf'],
) => {
  const { utterance, start } = own[0] as Said;
  const [before, behind] = [words[from - 1], words[from + own.length]];
  const names = own.map(textOf).filter((word) => !titles.has(word));
  if (names.length > 1 || own.some(({ kind }) => kind === 'number')) return true;
  const keys = words.slice(Math.max(0, from - longest.introduction), from).map((word) => ({ key: textOf(word) }));
  if (keys.some((_, at) => introduces(keys, at)?.end === keys.length)) return true;
  const isNear = (word: Said) =>
    word.utterance === utterance && textOf(word).length > (titles.has(textOf(word)) ? 3 : 1);
  const beside = [words.slice(0, from).findLast(isNear), words.slice(from + own.length).find(isNear)];
  const isSpelled = behind?.utterance === utterance && textOf(behind) === names[0]?.charAt(0);
  if (isSpelled || beside.some((word) => word && labelOf(textOf(word)) !== undefined)) return true;
  const isFirst = before?.utterance !== utterance;
  const isWithin = !isFirst && !isCapital(before) && !/[.!?…]/.test(text.slice(before.end, start));
  if (isWithin && isCapital(own[0] as Said)) return true;
  const isOrdinary = names.some((name) => name.length < 3 || ordinary.has(name));
  if (!isOrdinary || /^['’]s\b/.test(text.slice(own.at(-1)?.end))) return isFirst || !articles.has(textOf(before));
  return words.every((word) => word.utterance !== utterance || own.includes(word) !== isFiller(word));
};
