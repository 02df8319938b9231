/** Finds values that only their context shows: card verification values, dates of birth, expiry dates, accounts. */
import type { Span } from './finding.ts';
import type { Announced } from './languages/language.ts';
import { compilePhrases, languages, splitPhrases, wordsOf } from './languages.ts';
import type { Piece, Spoken } from './read-pieces.ts';
import type { Token } from './read-text.ts';
import { type Claims, findRuns, spansOf, textOf } from './runs.ts';
import type { Said } from './spelling.ts';

/** Words that announce a value, at a place of their utterance. */
export interface Mention {
  readonly kind: Announced;
  readonly start: number;
  readonly end: number;
}

const announcements = compilePhrases(
  languages.flatMap(({ announces: own }) =>
    Object.entries(own).map(([kind, phrases]) => [phrases, kind as Announced] as const),
  ),
);

/** In the order of their ends. The names that stand for values say nothing. */
export const findMentions = (tokens: readonly Token[]): readonly Mention[] => {
  const mentions = tokens.flatMap(({ start }, at): Mention[] => {
    const found = tokens[at - 1]?.text === '[' ? undefined : announcements(tokens, at);
    return found === undefined ? [] : [{ kind: found.meaning, start, end: tokens[found.end - 1]?.end ?? start }];
  });
  return mentions.sort((a, b) => a.end - b.end || b.start - a.start);
};

/** Kinds of values that nothing but words shows. */
/** Short ones, which no other look finds. */
const inContext = ['cvv', 'birth', 'last4', 'expiry'] as const;
export type InContext = (typeof inContext)[number] | 'account';

const accents: Readonly<Record<string, string>> = {
  a: '[a\u00e0\u00e2]',
  e: '[e\u00e9\u00e8\u00ea]',
  o: '[o\u00f4]',
  u: '[u\u00fb]',
};
const patternOf = (words: readonly string[]): string =>
  words
    .map((word) => word.replaceAll('*', '[a-z]*').replace(/^_$/, '[a-z]+'))
    .map((word) => word.replaceAll(/(?<!\[)[aeou]/g, (letter) => accents[letter] ?? letter))
    .join('[^a-z\\d\u00e0-\u00ff]*');
/** Nearly no text announces a value, and reading its words costs several times as much as this. */
const announcing = new RegExp(
  `(?<![a-z\\d\u00e0-\u00ff_[])(?:${languages
    .flatMap(({ announces: own }) => inContext.flatMap((kind) => splitPhrases(own[kind])).map(patternOf))
    .join('|')})(?![a-z\\d\u00e0-\u00ff])`,
);

/** Whether words announce a value that only they show. */
export const announces = (text: string): boolean => announcing.test(text.toLowerCase());

/** `answersWithin` = utterances behind the question in which its answer is looked for. `reach` = most characters between the announcement and the value, in one utterance. */
const near = { answersWithin: 2, reach: 60 };
/** A value that follows at once goes before numbers of which it might be a part. */
export const atOnce = { answersWithin: 0, reach: 12 };

type Value = { readonly value: string; readonly spans: readonly Span[] };

const codeFinder =
  (least: number, most: number) =>
  ([pieces = []]: readonly (readonly Piece[])[]): Value[] =>
    findRuns(pieces)
      .map((atoms) => ({ value: textOf(atoms), spans: spansOf(atoms) }))
      .filter(({ value }) => /^\d+$/.test(value) && value.length >= least && value.length <= most);

/** Claims the first value behind each mention: in the rest of its utterance, then in the beginnings of the next ones. */
export const claimAnnounced = (
  detector: InContext,
  spoken: readonly Spoken[],
  pieces: readonly (readonly Piece[])[],
  mentionsIn: (utterance: number) => readonly Mention[],
  announcing: readonly number[],
  claims: Claims,
  { answersWithin, reach } = near,
): void => {
  const known = new Map<number, Heard>();
  const hear = (utterance: number): Heard => {
    const values = () => finders[detector](pieces.slice(utterance, utterance + 1 + near.answersWithin));
    const heard = known.get(utterance) ?? hearValues(detector, spoken[utterance]?.text ?? '', values());
    known.set(utterance, heard);
    return heard;
  };
  const note = ([first]: readonly Span[]): void => {
    if (first !== undefined) hear(first.utterance).claimed[first.start] = 1;
  };
  for (const finding of claims.findings) if (finding.detector === detector) note(finding.spans);
  for (const utterance of announcing) {
    for (const { kind, end } of mentionsIn(utterance)) {
      if (kind !== detector) continue;
      const windows = Array.from({ length: 1 + answersWithin }, (_, behind) => ({
        heard: hear(utterance + behind),
        from: behind === 0 ? end : 0,
      }));
      if (windows.some(({ heard, from }) => isAnswered(heard, from, reach))) continue;
      const value = windows.flatMap(({ heard, from }) => firstWithin(heard, from, reach, claims) ?? [])[0];
      if (value === undefined) continue;
      claims.add(detector, value.value, value.spans);
      note(value.spans);
    }
  }
};

type Heard = ReturnType<typeof hearValues>;

/** Announcements and values in one utterance. */
const hearValues = (detector: string, text: string, values: readonly Value[]) => ({
  values,
  /** Values before it stand before every further mention. */
  next: 0,
  /** Position of the last replaced value; -1 if there is none. */
  lastReplaced: text.lastIndexOf(`[${detector}]`),
  /** Characters at which a value of the kind begins: each mention announces one. */
  claimed: new Uint8Array(text.length),
});

const isAnswered = ({ lastReplaced, claimed }: Heard, from: number, reach: number): boolean =>
  lastReplaced >= from || claimed.subarray(from, from + reach).includes(1);

const firstWithin = (heard: Heard, from: number, reach: number, claims: Claims): Value | undefined => {
  const startOf = (at: number): number => heard.values[at]?.spans[0]?.start ?? Number.POSITIVE_INFINITY;
  while (startOf(heard.next) < from) heard.next += 1;
  for (let at = heard.next; startOf(at) < from + reach; at += 1)
    if (claims.isFree((heard.values[at] as Value).spans)) return heard.values[at];
  return undefined;
};

const months = wordsOf((language) => language.months);
const unitOrdinals = wordsOf(({ ordinals }) => ordinals[0]);
const otherOrdinals = wordsOf(({ ordinals }) => ordinals[1]);
const between = new Set([...wordsOf(({ betweenDates }) => betweenDates), ...",.-/'"]);

/** "12/03/1985" and "1985-03-12" are one token. */
const written =
  /^(?:(?:[0-3]?\d\/[01]?\d|[01]?\d\/[0-3]?\d)\/(?:19|20)\d\d$|(?:19|20)\d\d-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01]))/;

/** "zéro deux mille neuf cent cinquante" is February 1950. */
const monthAndYear = /^(0?[2-9]|1[0-2])(9\d\d)$/;

/** The search for dates runs over signs: digits of a number, or a letter for each kind of word. */
const signOf = (piece: Said): string => {
  if (piece.kind === 'number') return piece.text.replace(monthAndYear, '$11$2');
  if (piece.kind === 'mark') return 'x';
  const { key } = piece;
  if (months.has(key)) return 'M';
  if (unitOrdinals.has(key)) return 'u';
  return otherOrdinals.has(key) ? 'o' : written.test(key) ? 'W' : 'x';
};

/** Digits may be said one by one: a blank may stand between any two. */
const spaced = (digits: string): string => digits.replaceAll('_', ' ?');
const [day, day2, month, month2, year] = [
  '(?:[12]_\\d|3_[01]|(?:0_)?[1-9])',
  '(?:0_[1-9]|[12]_\\d|3_[01])',
  '(?:1_[0-2]|(?:0_)?[1-9])',
  '(?:0_[1-9]|1_[0-2])',
  '(?:(?:1_9|2_0)_\\d_\\d)',
].map(spaced) as [string, string, string, string, string];
const namedDay = '(?:(?:20|30) u|[ou]|(?:0 ?)?[1-9]|[12]\\d|3[01])';
const named = `(?:${namedDay} M|M ${namedDay})`;
/** The year may be the answer to another question. */
const dates = spaced(
  `W|${named} (?:${year}|\\d_\\d)|${named}(?: x){1,8} ${year}|M ${year}|${year}_${month2}_${day2}|${day}_${month}_${year}|${month}_${day}_${year}|(?:${day2}_${month}|${day}_${month2}|${month2}_${day2})_\\d_\\d`,
);
const expiries = spaced(`(?<!${namedDay} )M (?:2_0_)?[2-4]_\\d|${month}_(?:2_0_)?[2-4]_\\d`);

const dateFinder = (pattern: string) => {
  const whole = new RegExp(`(?<=^| )(?:${pattern})(?= |$)`, 'g');
  const countWords = (text: string): number => text.split(' ').length;
  /** Values that begin in the first utterance. */
  return (utterances: readonly (readonly Piece[])[]): Value[] => {
    const said = utterances
      .flat()
      .filter(
        (piece): piece is Said =>
          piece.kind !== 'turn' && !(piece.kind !== 'number' && (piece.isFiller || between.has(piece.key))),
      );
    const signs = said.map(signOf);
    return [...signs.join(' ').matchAll(whole)].flatMap(({ 0: match, index }) => {
      const from = countWords(signs.join(' ').slice(0, index)) - 1;
      const own = said.slice(from, from + countWords(match)).filter((piece) => signOf(piece) !== 'x');
      if (own[0]?.utterance !== said[0]?.utterance) return [];
      return [
        { value: own.map((piece) => (piece.kind === 'mark' ? piece.key : piece.text)).join(' '), spans: spansOf(own) },
      ];
    });
  };
};

const finders: Readonly<Record<InContext, (utterances: readonly (readonly Piece[])[]) => Value[]>> = {
  cvv: codeFinder(3, 4),
  last4: codeFinder(4, 4),
  account: codeFinder(5, 23),
  birth: dateFinder(dates),
  expiry: dateFinder(expiries),
};
