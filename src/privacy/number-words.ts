/** Numbers in words, as they stand in transcripts: with or without hyphens and accents. */
import { languages, phrasesOf, wordsOf } from './languages.ts';
import type { Token } from './read-text.ts';

/**
 * `whole`: "soixante dix huit" is 78. `split`: words without a hyphen between them are separate numbers. `eager`: as
 * whole, and "trente quatre vingt" is 34 20 rather than 30 80.
 */
export type Reading = 'whole' | 'split' | 'eager';

const table = (lists: readonly (readonly [first: number, words: string])[], step: number): [string, number][] =>
  lists.flatMap(([first, words]) =>
    words.split(' ').map((word, index): [string, number] => [word, first + index * step]),
  );

const units = new Map(languages.flatMap((language) => table(language.units, 1)));
const tens = new Map(languages.flatMap((language) => table(language.tens, 10)));
const hundreds = wordsOf(({ hundreds: words }) => words);
const thousands = wordsOf(({ thousands: words }) => words);
const repeats = new Map(
  languages.flatMap(({ repeats: words }) => words.map((word, index) => [word, index + 2] as const)),
);
const zeros = wordsOf(({ zeros: words }) => words);
const times = wordsOf(({ times: words }) => words);

/** Most digits that a word, with or without accents, adds to a number. */
export const mostDigitsOf: ReadonlyMap<string, number> = new Map([
  ...[...units].map(([word, value]) => [word, value < 10 ? 1 : 2] as const),
  ...[...tens.keys(), 'vingts'].map((word) => [word, 2] as const),
  ...[...hundreds].map((word) => [word, 3] as const),
  ...[...thousands].map((word) => [word, 4] as const),
  ...[...repeats].map(([word, count]) => [word, 2 * count - 2] as const),
  ...[...zeros, 'z\u00e9ro'].map((word) => [word, 1] as const),
]);

type Part = { readonly value: number; readonly next: number };

const isSpoken = (token: Token | undefined): boolean =>
  token !== undefined &&
  (token.kind === 'digits' || [units, tens, repeats, zeros].some((words) => words.has(token.key)));

/** The number that begins at a word or at digits; undefined when none does. */
export const readNumber = (tokens: readonly Token[], at: number, reading: Reading, isAfterNumber: boolean) => {
  const first = readOnce(tokens, at, reading, isAfterNumber);
  if (first === undefined || !/^[23]$/.test(first.digits) || !times.has(tokens[first.next]?.key ?? '')) return first;
  const from = first.next + (articles.has(tokens[first.next + 1]?.key ?? '') ? 2 : 1);
  const repeated = readOnce(tokens, from, reading, true);
  return repeated === undefined ? first : { digits: repeated.digits.repeat(Number(first.digits)), next: repeated.next };
};
const articles = new Set(['le', 'un', 'the']);

const readOnce = (tokens: readonly Token[], at: number, reading: Reading, isAfterNumber: boolean) => {
  const token = tokens[at];
  if (token?.kind === 'digits') return { digits: token.text, next: at + 1 };
  if (token?.kind !== 'word' || !mostDigitsOf.has(token.key)) return undefined;
  if (zeros.has(token.key)) return isZero(tokens, at, isAfterNumber) ? { digits: '0', next: at + 1 } : undefined;
  const count = repeats.get(token.key);
  if (count !== undefined) return readRepeated(tokens, at + 1, count);
  const part = readBelowMillion(tokens, at, reading);
  return part === undefined ? undefined : { digits: String(part.value), next: part.next };
};

/** "oh, seven" begins with a zero; "N O 93" and "O comme Oscar" have a letter. */
const isZero = (tokens: readonly Token[], at: number, isAfterNumber: boolean): boolean =>
  (isAfterNumber || isSpoken(tokens[tokens[at + 1]?.text === ',' ? at + 2 : at + 1])) &&
  tokens[at - 1]?.key !== 'n' &&
  spelledLike(tokens, at + 1) === undefined;
const spelledLike = phrasesOf((language) => language.spelledLike);

/**
 * Every other way to hear the words from `at` to `next`: "soixante dix sept" as 60 17, 70 7 and 60 10 7.
 * @param spend takes a step; false where there is none left.
 */
export const readOtherwise = (
  tokens: readonly Token[],
  { at, next, reading }: { readonly at: number; readonly next: number; readonly reading: Reading },
  spend: () => boolean,
): string[] => {
  const own = tokens.slice(at, next);
  if (own.length === 1 || own.some(({ key }) => thousands.has(key))) return [];
  const hundred = own.findIndex(({ key }) => hundreds.has(key));
  if (hundred !== -1) return readBeforeHundred(own, hundred);
  if (reading !== 'whole') return [];
  const heardFrom = new Map<number, readonly string[]>([[own.length, ['']]]);
  for (let from = own.length - 1; from >= 0; from -= 1) {
    const heard = new Set<string>();
    for (let to = from + 1; to <= own.length; to += 1) {
      if (!spend()) return [];
      const number = from === 0 && to === own.length ? undefined : readOnce(own.slice(0, to), from, 'eager', false);
      if (number?.next !== to) continue;
      for (const rest of heardFrom.get(to) ?? []) if (spend()) heard.add(number.digits + rest);
    }
    heardFrom.set(from, [...heard]);
  }
  return [...(heardFrom.get(0) ?? [])];
};

/** "treize cent vingt" may be 13 120 in groups: a number behind a hundred is never read apart. */
const readBeforeHundred = (own: readonly Token[], hundred: number): string[] => {
  const before = own[hundred]?.key === 'cent' ? readOnce(own.slice(0, hundred), 0, 'whole', false) : undefined;
  const rest = readOnce(own, hundred, 'whole', false);
  return before?.next === hundred && rest?.next === own.length ? [before.digits + rest.digits] : [];
};

/** "double zero", also where a recogniser has joined the zero to the next digit ("double 09"). */
const readRepeated = (tokens: readonly Token[], at: number, count: number) => {
  const token = tokens[at];
  if (token === undefined) return undefined;
  const digits = token.kind === 'digits' ? token.text : zeros.has(token.key) ? '0' : String(units.get(token.key) ?? '');
  if (digits.length === 1 || (digits.length === 2 && !digits.startsWith('0')))
    return { digits: digits.repeat(count), next: at + 1 };
  return digits.startsWith('0') ? { digits: '0'.repeat(count - 1) + digits, next: at + 1 } : undefined;
};

/** Where a further word of the same number would be, if one may follow: behind spaces, or only behind a hyphen. */
const following = (tokens: readonly Token[], at: number, reading: Reading): number | undefined => {
  if (tokens[at]?.text === '-') return tokens[at + 1]?.kind === 'word' && !tokens[at]?.isSpaced ? at + 1 : undefined;
  return reading !== 'split' && tokens[at]?.kind === 'word' ? at : undefined;
};

type Read = (tokens: readonly Token[], at: number, reading: Reading) => Part | undefined;

/** A number with a scale word in it: "deux cent trois", "mille". No hyphens are written around scale words. */
const readScaled =
  (scale: { words: ReadonlySet<string>; factor: number; mostBefore: number; read: Read }): Read =>
  (tokens, at, reading) => {
    const isAlone = scale.words.has(tokens[at]?.key ?? '');
    const first = isAlone ? { value: 1, next: at } : scale.read(tokens, at, reading);
    if (first === undefined || first.value === 0 || first.value > scale.mostBefore) return first;
    const then = isAlone ? at : following(tokens, first.next, 'whole');
    if (then === undefined || !scale.words.has(tokens[then]?.key ?? '')) return first;
    const value = first.value * scale.factor;
    const rest = following(tokens, then + 1, 'whole');
    const last = rest === undefined ? undefined : scale.read(tokens, skipAnd(tokens, rest), reading);
    return last === undefined || last.value === 0
      ? { value, next: then + 1 }
      : { value: value + last.value, next: last.next };
  };

/** "one hundred and five" */
const skipAnd = (tokens: readonly Token[], at: number): number => (tokens[at]?.key === 'and' ? at + 1 : at);

const readBelowHundred = (tokens: readonly Token[], at: number, reading: Reading): Part | undefined => {
  const key = tokens[at]?.key ?? '';
  const ten = tens.get(key);
  if (ten !== undefined) return addUnit(tokens, { value: ten, next: at + 1 }, ten === 60 ? 19 : 9, reading);
  const unit = units.get(key);
  if (unit === undefined) return undefined;
  const then = following(tokens, at + 1, reading);
  const next = then === undefined ? undefined : tokens[then]?.key;
  if (unit === 4 && key === 'quatre' && (next === 'vingt' || next === 'vingts')) {
    const eighty = { value: 80, next: (then as number) + 1 };
    return next === 'vingts' ? eighty : addUnit(tokens, eighty, 19, reading);
  }
  if (key === 'dix' && (next === 'sept' || next === 'huit' || next === 'neuf'))
    return { value: 10 + (units.get(next) as number), next: (then as number) + 1 };
  return { value: unit, next: at + 1 };
};

/** "quarante quatre-vingts" is 40 80, "soixante dix-sept" is 60 17: a hyphen or "vingt" binds words. */
const belongsToNext = (tokens: readonly Token[], at: number, reading: Reading): boolean => {
  if (tokens[at - 1]?.text === '-' && !tokens[at]?.isSpaced) return false;
  if (reading !== 'eager' && tokens[at]?.key === 'quatre' && tokens[at + 1]?.key.startsWith('vingt')) return true;
  return following(tokens, at + 1, 'split') !== undefined;
};

/** The unit behind a ten: up to nine, or up to nineteen where French counts on from sixty and eighty. */
const addUnit = (tokens: readonly Token[], ten: Part, most: number, reading: Reading): Part => {
  const then = following(tokens, ten.next, tokens[ten.next]?.key === 'et' ? 'whole' : reading);
  if (then === undefined) return ten;
  const isEt = tokens[then]?.key === 'et';
  const from = isEt ? following(tokens, then + 1, 'whole') : then;
  if (from === undefined) return ten;
  const key = tokens[from]?.key ?? '';
  if (isEt && !['un', 'une', 'onze'].includes(key)) return ten;
  if (!isEt && belongsToNext(tokens, from, reading)) return ten;
  const unit = units.get(key);
  if (unit === undefined || unit === 0 || unit > most) return ten;
  if (key !== 'dix') return { value: ten.value + unit, next: from + 1 };
  const teen = readBelowHundred(tokens, from, reading) as Part;
  return { value: ten.value + teen.value, next: teen.next };
};

const readBelowThousand = readScaled({ words: hundreds, factor: 100, mostBefore: 19, read: readBelowHundred });
const readBelowMillion = readScaled({ words: thousands, factor: 1_000, mostBefore: 999, read: readBelowThousand });
