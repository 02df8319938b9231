/**
 * Finds values that a record itself names in its transcript: names and numbers of its contacts, and metadata under a
 * rule of their own. Whole words, spelled words and spoken numbers count. Names that no field has stay.
 */
import { joinKnown } from '../calls/own-fields.ts';
import { isObject } from '../lib/parse-json.ts';
import type { Finding } from './finding.ts';
import { phrasesOf, wordsOf } from './languages.ts';
import { normalizeNumber, writtenDigits } from './phone-number.ts';
import { readPieces, type Spoken } from './read-pieces.ts';
import { readPlain, readTokens } from './read-text.ts';
import type { RuleNode } from './rules.ts';
import { spansOf } from './runs.ts';

/** Path of the rule on these values. */
export const knownPath = 'transcript.known_values';

type Countries = Parameters<typeof normalizeNumber>[1];
interface KnownOptions {
  readonly hashesOf: (form: string) => readonly string[];
  readonly countries: Countries;
}
type Named = readonly (readonly [value: string, label: string])[];
export type Known = ReturnType<typeof openKnown>;

const titles = wordsOf('titles');
const ordinary = wordsOf('ordinaryNames');
const articles = wordsOf('articles');
const introduces = phrasesOf('beforeNames');

/** Longer values are texts, and shorter numbers are said for many reasons. */
const longest = { words: 6, characters: 24, introduction: 4, readings: 64 };
const leastDigits = 5;

/** Words and numbers, with each way to hear them and the two characters behind. */
const readSaid = (texts: readonly { readonly text: string }[]) => {
  let isAfterNumber = true;
  const pieces = texts.flatMap(({ text }, utterance) => readPieces(readTokens(text), utterance));
  return pieces.flatMap((piece) => {
    const { start, end } = piece;
    const said = texts[piece.utterance]?.text ?? '';
    // The name that stands for a value is no value.
    if (piece.kind === 'mark' || said[start - 1] === '[') return [];
    // "o" is a zero only behind a number.
    const isNumber = piece.kind === 'number' && (!piece.isO || isAfterNumber);
    isAfterNumber = isNumber;
    const ways = piece.kind === 'word' ? [piece.key] : isNumber ? piece.readings.map((one) => one.text) : ['o'];
    const [text, behind] = [said.slice(start, end), said.slice(end, end + 2)];
    return [{ ...piece, key: ways[0] ?? '', ways, text, behind, isNumber }];
  });
};
type Said = ReturnType<typeof readSaid>[number];

/** The values among the fields of a raw record. @param metadata the rules that name keys of metadata */
export const listNamed = (fields: Readonly<Record<string, unknown>>, metadata: RuleNode): readonly string[] => {
  const ruled = (value: unknown, node: RuleNode): readonly unknown[] => {
    if (Array.isArray(value)) return value.flatMap((item) => ruled(item, node));
    if (isObject(value)) return Object.entries(value).flatMap(([key, own]) => ruled(own, node.child(key)));
    return node.action === 'keep' ? [] : [value];
  };
  const [own, ...contacts] = ['metadata', 'in', 'out'].map((name): unknown =>
    Buffer.isBuffer(fields[name]) ? JSON.parse(String(fields[name])) : fields[name],
  );
  const values = [
    ...contacts.flatMap((side) => (isObject(side) ? [side.label, side.data] : [])),
    ...ruled(own, metadata),
  ];
  const texts = values.filter((value) => typeof value === 'string' || typeof value === 'number').map(String);
  return texts.filter((text) => !/^(?:ph_|…|\[[a-z0-9_]+\]$)/.test(text));
};

const twoLetters: Readonly<Record<string, string>> = { ä: 'ae', ö: 'oe', ü: 'ue', ß: 'ss', ø: 'oe', å: 'aa' };
const inTwoLetters = (text: string) => text.toLowerCase().replaceAll(/[äöüßøå]/g, (one) => twoLetters[one] ?? one);

/** Ways in which a value is said, as letters and digits. */
const listForms = (value: string, countries: Countries): readonly string[] => {
  const digits = value.replaceAll(/\D/g, '');
  const number = digits.length < leastDigits ? '' : (normalizeNumber(value, countries) ?? '');
  const words = readSaid([{ text: value.replace(/@.*$/, '') }]).map(({ key }) => key);
  const isCode = digits !== '' && (words.length < 3 || words.every((word) => /^\d+$/.test(word)));
  const parts = isCode ? [] : words.flatMap((word, at) => [[word], words.slice(at, at + 2), words.slice(at, at + 3)]);
  const isName = (key: string): boolean => key.length > 1 && !titles.has(key) && introduces([{ key }], 0) === undefined;
  const forms = [words, ...parts].filter((way) => way.some(isName)).map((way) => way.join(''));
  if (words.filter(isName).length > longest.words) forms.length = 0;
  const isLong = (form: string): boolean => form.length >= (/\d/.test(form) ? leastDigits : 2);
  return [digits, ...writtenDigits(number), ...forms].filter(isLong);
};

/**
 * `labelOf` = the replacement of a form. `hashes` = those of all values, the first of each form.
 * @param carried hashes of values that other records of the call name; their replacement is not known
 */
export const openKnown = (named: Named, carried: unknown, { hashesOf, countries }: KnownOptions) => {
  // Of equal forms, the label of the first counts.
  const own = new Map<string, string>();
  for (const [value, label] of named)
    for (const form of [value, inTwoLetters(value)].flatMap((text) => listForms(text, countries)))
      if (!own.has(form)) own.set(form, label);
  const others = new Set(joinKnown(carried));
  const isOther = (form: string): boolean => others.size > 0 && hashesOf(form).some((hash) => others.has(hash));
  const begun = new Set([...own.keys()].flatMap((form) => Array.from(form, (_, at) => form.slice(0, at + 1))));
  return {
    /** Whether a form may begin so. */
    mayGoOn: (text: string) => begun.has(text) || (others.size > 0 && text.length <= longest.characters),
    labelOf: (form: string) => own.get(form) ?? (isOther(form) ? '[known]' : undefined),
    hashes: joinKnown([...others, ...Array.from(own.keys(), (form) => hashesOf(form)[0])]),
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
      if (last?.isNumber === true && word.isFiller) continue;
      if (last && !word.isNumber && word.utterance !== last.utterance) break;
      texts = texts.flatMap((text) => word.ways.map((way) => text + way)).filter(mayGoOn);
      if (texts.length === 0 || texts.length > longest.readings) break;
      own.push(word);
      const found = texts.map(labelOf).find((one) => one !== undefined);
      if (found !== undefined) [label, count] = [found, own.length];
    }
    const meant = own.slice(0, count);
    const last = meant.at(-1);
    if (last === undefined || !isMeant(words, from, meant, labelOf)) continue;
    const spans = spansOf(meant).map((span) => plain[span.utterance]?.placeOf(span) ?? span);
    findings.push({ detector: 'known', value: label, spans });
    from = words.indexOf(last, from);
  }
  return findings;
};

const isCapital = ({ text }: Said): boolean => /^\p{Lu}\p{Ll}/u.test(text);

/** Whether words are a name: spelled, introduced, beside another, with a capital in a sentence, alone, or not ordinary. */
const isMeant = (words: readonly Said[], from: number, own: readonly Said[], labelOf: Known['labelOf']) => {
  const names = own.filter(({ key }) => !titles.has(key));
  const [name] = names;
  if (name === undefined || names.length > 1 || own.some(({ isNumber }) => isNumber)) return true;
  const said = words.slice(Math.max(0, from - longest.introduction), from);
  if (said.some((_, at) => introduces(said, at)?.end === said.length)) return true;
  const same = words.filter(({ utterance }) => utterance === name.utterance);
  const [at, end] = [same.indexOf(own[0] as Said), same.indexOf(own.at(-1) as Said) + 1];
  const isNear = ({ key }: Said) => key.length > (titles.has(key) ? 3 : 1);
  const beside = [same.slice(0, at).findLast(isNear), same.slice(end).find(isNear)];
  const isSpelled = same[end]?.key === name.key.charAt(0);
  if (isSpelled || beside.some((word) => word && labelOf(word.key) !== undefined)) return true;
  const before = same[at - 1];
  if (before && !isCapital(before) && !/[.!?…]/.test(before.behind) && isCapital(own[0] as Said)) return true;
  const isOrdinary = name.key.length < 3 || ordinary.has(name.key);
  if (!isOrdinary || /^['’]s/.test(name.behind)) return !articles.has(before?.text.toLowerCase() ?? '');
  return same.every((word) => own.includes(word) !== word.isFiller);
};
