/** Dates as people write and say them, in French or English. */
import { spansOf } from './detect-numbers.ts';
import type { Span } from './finding.ts';
import type { Piece } from './read-pieces.ts';

type Said = Exclude<Piece, { kind: 'turn' }>;

const setOf = (words: string): ReadonlySet<string> => new Set(words.split(/\s+/));
const months = setOf(
  `janvier january jan janv fevrier february feb fev fevr mars march mar avril april avr apr mai may juin june jun juillet july jul juil
   aout august aug septembre september sep sept octobre october oct novembre november nov decembre december dec`,
);
const unitOrdinals = setOf('first second third fourth fifth sixth seventh eighth ninth');
const otherOrdinals = setOf(
  `premier tenth eleventh twelfth thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth thirtieth`,
);
const between = setOf("of de du the le er ere st nd rd th in en and , . - / '");

/** "12/03/1985" and "1985-03-12" are one token. */
const written =
  /^(?:(?:[0-3]?\d\/[01]?\d|[01]?\d\/[0-3]?\d)\/(?:19|20)\d\d$|(?:19|20)\d\d-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01]))/;

/** A date is looked for in signs: digits of a number, or a letter for each kind of word. */
const signOf = (piece: Said): string => {
  if (piece.kind === 'number') return piece.text;
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
const namedDay = '(?:(?:20|30) u|[ou]|0?[1-9]|[12]\\d|3[01])';
const dates = new RegExp(
  spaced(
    `(?<=^| )(?:W|(?:${namedDay} M|M ${namedDay}) (?:${year}|\\d\\d)|${year}_${month2}_${day2}|${day}_${month}_${year}|${month}_${day}_${year}|(?:${day2}_${month}|${day}_${month2})_\\d_\\d)(?= |$)`,
  ),
  'g',
);

interface FoundDate {
  readonly value: string;
  readonly spans: readonly Span[];
}

/** @param pieces of one utterance. */
export const findDates = (pieces: readonly Piece[]): FoundDate[] => {
  const said = pieces.filter(
    (piece): piece is Said => piece.kind !== 'turn' && !(piece.kind !== 'number' && between.has(piece.key)),
  );
  const signs = said.map(signOf).join(' ');
  const countWords = (text: string): number => text.split(' ').length;
  return [...signs.matchAll(dates)].map(({ 0: match, index }) => {
    const from = countWords(signs.slice(0, index)) - 1;
    const own = said.slice(from, from + countWords(match));
    return {
      value: own.map((piece) => (piece.kind === 'mark' ? piece.key : piece.text)).join(' '),
      spans: spansOf(own),
    };
  });
};
