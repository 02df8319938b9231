/** Numbers said in French or English, as they stand in transcripts: with or without hyphens and accents. */
import type { Token } from './read-text.ts';

/**
 * `whole`: "soixante dix huit" is 78. `split`: words without a hyphen between them are separate numbers. `eager`: as
 * whole, and "trente quatre vingt" is 34 20 rather than 30 80.
 */
export type Reading = 'whole' | 'split' | 'eager';

const table = (text: string, first: number, step = 1): [string, number][] =>
  text.split(' ').map((word, index) => [word, first + index * step]);

const units = new Map([
  ...table('zero un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize', 0),
  ...table('zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen', 0),
  ...table('seventeen eighteen nineteen', 17),
  ['une', 1] as const,
]);
const tens = new Map([
  ...table('vingt trente quarante cinquante soixante septante huitante nonante', 20, 10),
  ...table('twenty thirty forty fifty sixty seventy eighty ninety', 20, 10),
  ['octante', 80] as const,
  ['fourty', 40] as const,
]);
const hundreds = new Set(['cent', 'cents', 'hundred']);
const thousands = new Set(['mille', 'thousand']);
const repeats = new Map([
  ['double', 2],
  ['triple', 3],
]);
const zeros = new Set(['oh', 'o']);

/** Most digits that a word, with or without accents, adds to a number. */
export const mostDigitsOf: ReadonlyMap<string, number> = new Map([
  ...[...units].map(([word, value]) => [word, value < 10 ? 1 : 2] as const),
  ...[...tens.keys(), 'vingts'].map((word) => [word, 2] as const),
  ...[...hundreds].map((word) => [word, 3] as const),
  ...[...thousands].map((word) => [word, 4] as const),
  ...[...repeats].map(([word, times]) => [word, times - 1] as const),
  ...[...zeros, 'z\u00e9ro'].map((word) => [word, 1] as const),
]);

type Part = { readonly value: number; readonly next: number };

const isSpoken = (token: Token | undefined): boolean =>
  token !== undefined &&
  (token.kind === 'digits' || [units, tens, repeats, zeros].some((words) => words.has(token.key)));

/** The number that begins at a word; undefined when none does. */
export const readSpokenNumber = (tokens: readonly Token[], at: number, reading: Reading, isAfterNumber: boolean) => {
  const token = tokens[at];
  if (token?.kind !== 'word' || !mostDigitsOf.has(token.key)) return undefined;
  if (zeros.has(token.key))
    return isAfterNumber || isSpoken(tokens[at + 1]) ? { digits: '0', next: at + 1 } : undefined;
  const times = repeats.get(token.key);
  if (times !== undefined) return readRepeated(tokens, at + 1, times);
  const part = readBelowMillion(tokens, at, reading);
  return part === undefined ? undefined : { digits: String(part.value), next: part.next };
};

/**
 * Every other way to hear the words from `at` to `next`: "soixante dix sept" as 60 17, 70 7 and 60 10 7.
 * @param spend takes a step; false where there is none left.
 */
export const readOtherwise = (tokens: readonly Token[], at: number, next: number, spend: () => boolean): string[] => {
  const own = tokens.slice(at, next);
  const heardFrom = new Map<number, readonly string[]>([[own.length, ['']]]);
  for (let from = own.length - 1; from >= 0; from -= 1) {
    const heard = new Set<string>();
    for (let to = from + 1; to <= own.length; to += 1) {
      if (!spend()) return [];
      const number =
        from === 0 && to === own.length ? undefined : readSpokenNumber(own.slice(0, to), from, 'eager', false);
      if (number?.next !== to) continue;
      for (const rest of heardFrom.get(to) ?? []) if (spend()) heard.add(number.digits + rest);
    }
    heardFrom.set(from, [...heard]);
  }
  return [...(heardFrom.get(0) ?? [])];
};

/**
 * `next` = index of the token behind it.
 */
const readRepeated = (tokens: readonly Token[], at: number, times: number) => {
  const token = tokens[at];
  if (token === undefined) return undefined;
  const digit = token.kind === 'digits' ? token.text : zeros.has(token.key) ? '0' : String(units.get(token.key) ?? '');
  return digit.length === 1 ? { digits: digit.repeat(times), next: at + 1 } : undefined;
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
