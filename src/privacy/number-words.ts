/** Numbers in words, as they stand in transcripts: with or without hyphens and accents. */
import { listPhrases, phrasesOf, wordsOf } from './languages.ts';
import type { Token } from './read-text.ts';

const listNumbers = (name: string): readonly (readonly [words: string, value: number])[] =>
  listPhrases(name).flatMap(([words, value]) => words.map((word) => [word, Number(value)] as const));

/** Numbers below a hundred, by their words. */
const belowHundred = new Map<string, number>();
const learn = (words: string, value: number): void => void belowHundred.set(words.replaceAll('-', ' '), value);
const [units, tens] = [listNumbers('units'), listNumbers('tens')];
const [longTens, jointUnits, joints] = [wordsOf('longTens'), wordsOf('jointUnits'), wordsOf('joint')];
const digitsOfWord = new Map(Array.from(joints, (word) => [word, 0]));
for (const [words, value] of [...units, ...tens]) {
  learn(words, value);
  for (const word of words.split('-')) if (!digitsOfWord.has(word)) digitsOfWord.set(word, value < 10 ? 1 : 2);
}
for (const [ten, value] of tens)
  for (const [unit, more] of units.filter(([, own]) => own > 0 && own <= (longTens.has(ten) ? 19 : 9)))
    for (const joint of jointUnits.has(unit) ? ['', ...joints] : [''])
      learn(`${ten} ${joint} ${unit}`.replace('  ', ' '), value + more);

const hundreds = wordsOf('hundreds');
/** A hundred by itself is a number. */
const lone = wordsOf('loneHundred');
const thousands = wordsOf('thousands');
/** Words before a digit that counts so many times. */
export const repeats: ReadonlyMap<string, number> = new Map(listNumbers('repeats'));
/** Letters and words that are a zero between digits. */
export const zeros = wordsOf('zeros');
const times = wordsOf('times');
const ands = wordsOf('and');
/** Behind a letter that is no zero. */
const behindLetter = phrasesOf('spelledLike', 'corrections');

/** Most digits that a word adds to a number. */
export const mostDigitsOf: ReadonlyMap<string, number> = new Map([
  ...digitsOfWord,
  ...[zeros, [], hundreds, thousands].flatMap((words, at) => Array.from(words, (word) => [word, at + 1] as const)),
  ...[...repeats].map(([word, count]) => [word, 2 * count - 2] as const),
]);

const isIn = (words: ReadonlySet<string>, token: Token | undefined): boolean => words.has(token?.key ?? '');

type Tokens = readonly Token[];
type Part = { readonly value: number; readonly next: number };
/** `isBound` = by hyphens, or one word. */
type Way = Part & { readonly isBound: boolean };

/** Index of the next word, behind a hyphen that joins it. */
const stepOver = (tokens: Tokens, at: number): number =>
  tokens[at]?.text === '-' && !tokens[at]?.isSpaced && tokens[at + 1]?.isSpaced === false ? at + 1 : at;

/** Every number below a hundred that begins at a word, the longest first. */
const listWays = (tokens: Tokens, at: number): readonly Way[] => {
  const ways: Way[] = [];
  let [words, to, isBound] = ['', at, true];
  for (let count = 0; count < mostWords && digitsOfWord.has(tokens[to]?.key ?? ''); count += 1) {
    words += `${count > 0 ? ' ' : ''}${tokens[to]?.key}`;
    const value = belowHundred.get(words);
    if (value !== undefined) ways.unshift({ value, next: to + 1, isBound });
    const next = stepOver(tokens, to + 1);
    isBound &&= next > to + 1 || [to, next].some((own) => isIn(joints, tokens[own]));
    to = next;
  }
  return ways;
};
/** "quatre-vingt dix-neuf" */
const mostWords = 4;

/** "trente quatre vingt" is 30 80 before it is 34 20: a word belongs to the next one where both are a number. */
const belongsToNext = (tokens: Tokens, { next }: Way): boolean => (listWays(tokens, next - 1)[0]?.next ?? next) > next;

/** @param isSplit whether words without a hyphen between them are separate numbers. */
const chooseWay = (tokens: Tokens, at: number, isSplit: boolean): Way | undefined => {
  const ways = listWays(tokens, at);
  const isFitting = (way: Way) => (isSplit ? way.isBound : !belongsToNext(tokens, way));
  return ways.length < 2 ? ways[0] : (ways.find(isFitting) ?? ways.at(-1));
};

type Read = (tokens: Tokens, at: number, isSplit: boolean) => Part | undefined;

/** A number with a scale word in it: "deux cent trois", "mille". */
const readScaled =
  (words: ReadonlySet<string>, factor: number, mostBefore: number, read: Read): Read =>
  (tokens, at, isSplit) => {
    const isAlone = isIn(words, tokens[at]);
    const first = isAlone ? { value: 1, next: at } : read(tokens, at, isSplit);
    if (first === undefined || first.value === 0 || first.value > mostBefore) return first;
    const scale = isAlone ? at : stepOver(tokens, first.next);
    if (!isIn(words, tokens[scale])) return first;
    const then = stepOver(tokens, scale + 1);
    const rest = read(tokens, isIn(ands, tokens[then]) ? then + 1 : then, isSplit);
    const value = first.value * factor;
    // "deux cent trois cent" is 200 300.
    const isNext = rest !== undefined && rest.value < 10 && isIn(words, tokens[stepOver(tokens, rest.next)]);
    return rest !== undefined && rest.value > 0 && !isNext
      ? { value: value + rest.value, next: rest.next }
      : { value, next: scale + 1 };
  };
const readBelowThousand = readScaled(hundreds, 100, 19, chooseWay);
const readBelowMillion = readScaled(thousands, 1_000, 999, readBelowThousand);

export interface Heard {
  readonly digits: string;
  readonly next: number;
  /** Other ways to hear the same words, as numbers with blanks between them. */
  readonly others?: readonly string[];
  /** A zero that may be the letter. */
  readonly isO?: boolean;
}

/**
 * The number that begins at a word or at digits; undefined when none does.
 * @param isAfterNumber whether a letter may be a zero.
 */
export const readNumber = (tokens: Tokens, at: number, isSplit: boolean, isAfterNumber: boolean): Heard | undefined => {
  const first = readOnce(tokens, at, isSplit, isAfterNumber);
  if (first === undefined || !/^[23]$/.test(first.digits) || !isIn(times, tokens[first.next])) return first;
  const from = first.next + (isIn(articles, tokens[first.next + 1]) ? 2 : 1);
  const again = readOnce(tokens, from, isSplit, true);
  const unit = again?.digits === '0' ? readOnce(tokens, again.next, isSplit, true) : undefined;
  // "deux fois zéro cinq" is 05 05.
  const pair = unit?.digits.length === 1 ? { digits: `0${unit.digits}`, next: unit.next } : again;
  return pair && { digits: pair.digits.repeat(Number(first.digits)), next: pair.next };
};
const articles = wordsOf('articles');

const readOnce = (tokens: Tokens, at: number, isSplit: boolean, isAfterNumber: boolean): Heard | undefined => {
  const token = tokens[at];
  if (token?.kind === 'digits') return { digits: token.text, next: at + 1 };
  const key = token?.key ?? '';
  if (!mostDigitsOf.has(key)) return undefined;
  if (zeros.has(key))
    return isZero(tokens, at, isAfterNumber) ? { digits: '0', next: at + 1, isO: key.length === 1 } : undefined;
  const count = repeats.get(key);
  if (count !== undefined) return readRepeated(tokens, at + 1, count);
  const whole = readBelowMillion(tokens, at, isSplit);
  if (whole === undefined) return undefined;
  const [way] = listWays(tokens, at);
  if (whole.next <= (way?.next ?? at)) return hearWays(tokens, at, isSplit);
  return { digits: String(whole.value), next: whole.next, others: hearHundred(tokens, at, whole.next) };
};

/** Numbers below a hundred whose words may be parted otherwise: all of them, first as they are most likely meant. */
const hearWays = (tokens: Tokens, at: number, isSplit: boolean): Heard | undefined => {
  let [digits, next, end] = ['', at, at + 1];
  // A word at the end of one may begin the next.
  while (next < end && next - at < mostJoined) {
    const from = stepOver(tokens, next);
    const way = chooseWay(tokens, from, isSplit);
    if (way === undefined) break;
    end = Math.max(end, listWays(tokens, from)[0]?.next ?? end);
    digits += way.value;
    next = way.next;
  }
  if (next === at) return undefined;
  if (next - at === 1) return { digits, next };
  return { digits, next, others: [...new Set(hearOthers(tokens, at, next))].filter((own) => own !== digits) };
};

/** Words whose readings are listed together: there are twice as many of each further one. */
const mostJoined = 6;

const hearOthers = (tokens: Tokens, at: number, end: number): readonly string[] =>
  at >= end
    ? ['']
    : listWays(tokens, stepOver(tokens, at))
        .filter(({ next }) => next === end || (next < end && stepOver(tokens, next) === next))
        .flatMap(({ value, next }) =>
          hearOthers(tokens, next, end).map((rest) => (rest === '' ? String(value) : `${value} ${rest}`)),
        );

/** "treize cent vingt" may be 13 120 in groups: a number behind a hundred is never read apart. */
const hearHundred = (tokens: Tokens, at: number, end: number): readonly string[] => {
  const before = listWays(tokens, at)[0];
  const from = before === undefined ? end : stepOver(tokens, before.next);
  const rest = isIn(lone, tokens[from]) ? readBelowThousand(tokens, from, false) : undefined;
  return before !== undefined && rest?.next === end ? [`${before.value} ${rest.value}`] : [];
};

/** "oh, seven" begins with a zero; "N O 93" and "O comme Oscar" have a letter. */
const isZero = (tokens: Tokens, at: number, isAfterNumber: boolean): boolean => {
  const next = tokens[tokens[at + 1]?.text === ',' ? at + 2 : at + 1];
  const isBeside = isAfterNumber || next?.kind === 'digits' || mostDigitsOf.has(next?.key ?? '') || tokens.length === 1;
  return isBeside && tokens[at - 1]?.key !== 'n' && behindLetter(tokens, at + 1) === undefined;
};

/** "double zero", also where a recogniser has joined the zero to the next digit ("double 09"). */
const readRepeated = (tokens: Tokens, at: number, count: number): Heard | undefined => {
  const token = tokens[at];
  const value = belowHundred.get(token?.key ?? '');
  const digits = token?.kind === 'digits' ? token.text : zeros.has(token?.key ?? '') ? '0' : String(value ?? '');
  if (digits.length === 1 || /^[1-9]\d$/.test(digits)) return { digits: digits.repeat(count), next: at + 1 };
  return digits.startsWith('0') ? { digits: '0'.repeat(count - 1) + digits, next: at + 1 } : undefined;
};
