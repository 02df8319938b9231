/** Finds values that only their context shows: card verification values, dates of birth, expiry dates, accounts. */
import type { Span } from './finding.ts';
import { type Announced, phrasesOf, wordsOf } from './languages.ts';
import type { Piece, Spoken } from './read-pieces.ts';
import type { Token } from './read-text.ts';
import { type Claims, findRuns, spansOf, textOf } from './runs.ts';
import type { Said } from './spelling.ts';

/** Words that announce a value. */
export type Mention = Span & { readonly kind: Announced };

/** A conversation with its pieces and mentions. */
export interface Talk {
  readonly spoken: readonly Spoken[];
  /** Of each utterance; undefined where it is not read. */
  readonly pieces: readonly (readonly Piece[] | undefined)[];
  readonly mentionsIn: (utterance: number) => readonly Mention[];
}

/** Kinds of values that words announce. */
export interface Names {
  /** Whether words near an utterance announce a value of a kind: in it, the next or one of three before. */
  readonly isNamed: (kind: Announced, utterance: number) => boolean;
  /** Kind of value that the words nearest to a place announce. */
  readonly nameAt: (utterance: number, start: number) => Announced | undefined;
}

/** Calls `make` once for each utterance. */
export const onceEach = <T>(make: (utterance: number) => T) => {
  const made: T[] = [];
  return (utterance: number): T => (made[utterance] ??= make(utterance));
};

const announcements = phrasesOf('announces');

/** In the order of their ends. The names that stand for values say nothing. */
export const findMentions = (tokens: readonly Token[], utterance = 0): readonly Mention[] => {
  const mentions = tokens.flatMap(({ start }, at): Mention[] => {
    const found = tokens[at - 1]?.text === '[' ? undefined : announcements(tokens, at);
    return found === undefined
      ? []
      : [{ kind: found.meaning as Announced, utterance, start, end: tokens[found.end - 1]?.end ?? start }];
  });
  return mentions.sort((a, b) => a.end - b.end || b.start - a.start);
};

export type InContext = (typeof shortKinds)[number] | 'account';

/** Values that may have fewer digits than any number by itself. */
export const shortKinds = ['last4', 'cvv', 'birth', 'expiry'] as const;
export const isShort = (kind: string): boolean => shortKinds.some((own) => own === kind);
/** Whether words announce a value that only they show. */
export const announces = (mentions: readonly Mention[]): boolean => mentions.some(({ kind }) => isShort(kind));

/** Utterances behind the question in which its answer is looked for. */
const answersWithin = 2;
/** Most characters between the announcement and the value, in one utterance. */
const reach = 60;

type Utterances = Talk['pieces'];
type Value = { readonly value: string; readonly spans: readonly Span[] };

const codeFinder =
  (least: number, most: number) =>
  ([pieces = []]: Utterances): Value[] =>
    findRuns(pieces)
      .map((atoms) => ({ value: textOf(atoms), spans: spansOf(atoms) }))
      .filter(({ value }) => /^\d+$/.test(value) && value.length >= least && value.length <= most);

/** Claims the first value behind each mention: in the rest of its utterance, then in the beginnings of the next ones. */
export const claimAnnounced = (detector: InContext, talk: Talk, claims: Claims): void => {
  const { spoken, pieces, mentionsIn } = talk;
  const valuesIn = onceEach((at) => finders[detector](pieces.slice(at, at + 1 + answersWithin)));
  const mentions = pieces.flatMap((own, at) => (own ? mentionsIn(at).filter(({ kind }) => kind === detector) : []));
  for (const { utterance: asked, end } of mentions) {
    // Where a value stands behind it, a mention asks for no other.
    const within = claims.hasAny(asked, end, asked, end + reach) ? 0 : answersWithin;
    const places = Array.from(spoken.slice(asked, asked + 1 + within), (_, by) => asked + by);
    const startOf = (at: number): number => (at === asked ? end : 0);
    const isReached = (at: number, start: number) => start >= startOf(at) && start < startOf(at) + reach;
    const isBehind = ({ spans: [first] }: Value) =>
      first && first.utterance >= asked && first.utterance <= asked + within && isReached(first.utterance, first.start);
    const isNear = places.some((at) => claims.hasAny(at, startOf(at), at, startOf(at) + reach));
    const isAnswered = isNear && claims.findings.some((own) => own.detector === detector && isBehind(own));
    if (isAnswered || places.some((at) => spoken[at]?.text.includes(`[${detector}]`, startOf(at)))) continue;
    const value = places.flatMap((at) => valuesIn(at).filter(isBehind)).find(({ spans }) => claims.isFree(spans));
    if (value !== undefined) claims.add(detector, value.value, value.spans);
  }
};

const months = wordsOf('months');
const unitOrdinals = wordsOf('unitOrdinals');
const otherOrdinals = wordsOf('otherOrdinals');
const between = new Set([...wordsOf('betweenDates'), ...",.-/'"]);

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
  return (utterances: Utterances): Value[] => {
    const said = utterances
      .flatMap((pieces) => pieces ?? [])
      .filter((piece): piece is Said => piece.kind !== 'turn' && !piece.isFiller && !between.has(piece.key));
    const signs = said.map(signOf);
    const text = signs.join(' ');
    return [...text.matchAll(whole)].flatMap(({ 0: match, index }) => {
      const from = countWords(text.slice(0, index)) - 1;
      const own = said.slice(from, from + countWords(match)).filter((_, at) => signs[from + at] !== 'x');
      const value = own.map((piece) => piece.text).join(' ');
      return own[0]?.utterance === said[0]?.utterance ? [{ value, spans: spansOf(own) }] : [];
    });
  };
};

const finders: Readonly<Record<InContext, (utterances: Utterances) => Value[]>> = {
  cvv: codeFinder(3, 4),
  last4: codeFinder(4, 4),
  account: codeFinder(5, 23),
  birth: dateFinder(dates),
  expiry: dateFinder(expiries),
};
