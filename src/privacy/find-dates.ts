/** Dates as people write and say them, in French or English. */
import { spansOf } from './detect-numbers.ts';
import type { Span } from './finding.ts';
import type { Piece } from './read-pieces.ts';

type Said = Exclude<Piece, { kind: 'turn' }>;

const monthNames = [
  'janvier january jan janv',
  'fevrier february feb fev fevr',
  'mars march mar',
  'avril april avr apr',
  'mai may',
  'juin june jun',
  'juillet july jul juil',
  'aout august aug',
  'septembre september sep sept',
  'octobre october oct',
  'novembre november nov',
  'decembre december dec',
];
const months = new Map(
  monthNames.flatMap((names, index) => names.split(' ').map((name) => [name, index + 1] as const)),
);
const ordinals = new Map(
  'first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth'
    .split(' ')
    .map((name, index) => [name, index + 1] as const),
);
const between = new Set("of de du the le er ere st nd rd th in en and , . - / '".split(' '));
const tensBefore = new Set(['20', '30']);

export interface FoundDate {
  readonly value: string;
  readonly spans: readonly Span[];
}

/** @param pieces of one utterance. */
export const findDates = (pieces: readonly Piece[]): FoundDate[] => {
  const said = pieces.filter(
    (piece): piece is Said => piece.kind !== 'turn' && !(piece.kind !== 'number' && between.has(piece.key)),
  );
  const found: FoundDate[] = [];
  for (let at = 0; at < said.length; at += 1) {
    const date = readDate(said, at);
    if (date === undefined) continue;
    found.push({ value: date.value, spans: spansOf(said.slice(at, date.next)) });
    at = date.next - 1;
  }
  return found;
};

interface Read {
  readonly value: string;
  readonly next: number;
}

const readDate = (said: readonly Said[], at: number): Read | undefined =>
  readWritten(said[at], at) ?? readNamed(said, at) ?? readDigits(said, at);

/** "12/03/1985" and "1985-03-12" are one token. */
const readWritten = (piece: Said | undefined, at: number): Read | undefined => {
  if (piece?.kind !== 'word' || !/^\d/.test(piece.key)) return undefined;
  const parts = /^(\d\d?)\/(\d\d?)\/(\d{4})$/.exec(piece.key);
  const digits =
    parts === null
      ? piece.key.slice(0, 10)
      : parts
          .slice(1)
          .map((part) => part.padStart(2, '0'))
          .join('');
  const value = readIso(digits.replaceAll('-', ''));
  return value === undefined ? undefined : { value, next: at + 1 };
};

const isoOf = (year: number, month: number, day: number): string =>
  [year, month, day].map((part) => String(part).padStart(2, '0')).join('-');

/** "12 mars 1985" or "March 12, 1985". */
const readNamed = (said: readonly Said[], at: number): Read | undefined => {
  const isMonthFirst = readMonth(said[at]) !== undefined;
  const day = readDay(said, isMonthFirst ? at + 1 : at);
  const month = day && readMonth(said[isMonthFirst ? at : day.next]);
  if (day === undefined || month === undefined) return undefined;
  const year = readYear(said, isMonthFirst ? day.next : day.next + 1);
  return year && { value: isoOf(year.value, month, day.value), next: year.next };
};

const readMonth = (piece: Said | undefined): number | undefined =>
  piece?.kind === 'word' ? months.get(piece.key) : undefined;

interface Counted {
  readonly value: number;
  readonly next: number;
}

/** "12", "premier", "twelfth", "twenty-first". */
const readDay = (said: readonly Said[], at: number): Counted | undefined => {
  const piece = said[at];
  if (piece === undefined || piece.kind === 'mark') return undefined;
  if (piece.kind === 'word') {
    const value = piece.key === 'premier' ? 1 : piece.key === 'thirtieth' ? 30 : ordinals.get(piece.key);
    return value === undefined ? undefined : { value, next: at + 1 };
  }
  const next = said[at + 1];
  const unit = next?.kind === 'word' ? ordinals.get(next.key) : undefined;
  const value = Number(piece.text);
  if (tensBefore.has(piece.text) && unit !== undefined && unit < 10) return { value: value + unit, next: at + 2 };
  return value >= 1 && value <= 31 ? { value, next: at + 1 } : undefined;
};

/** "1985", "nineteen eighty-five", "85", "mille neuf cent …" (one number already). */
const readYear = (said: readonly Said[], at: number): Counted | undefined => {
  const text = digitsAt(said, at);
  const pair = `${text}${digitsAt(said, at + 1)}`;
  if (/^(19|20)\d\d$/.test(text)) return { value: Number(text), next: at + 1 };
  if (/^(19|20)\d\d$/.test(pair)) return { value: Number(pair), next: at + 2 };
  const triple = `${pair}${digitsAt(said, at + 2)}`;
  if (/^(19|20)0\d$/.test(triple)) return { value: Number(triple), next: at + 3 };
  if (/^\d\d$/.test(text)) return { value: 1900 + Number(text), next: at + 1 };
  return undefined;
};

const digitsAt = (said: readonly Said[], at: number): string => {
  const piece = said[at];
  return piece?.kind === 'number' ? piece.text : '';
};

const dayMonthYear = /^(0?[1-9]|[12]\d|3[01])(0?[1-9]|1[0-2])((?:19|20)\d\d|\d\d)$/;
const yearMonthDay = /^((?:19|20)\d\d)(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])$/;
const monthDayYear = /^(0?[1-9]|1[0-2])(0?[1-9]|[12]\d|3[01])((?:19|20)\d\d)$/;

/** "12/03/1985", "12 03 85", "douze zéro trois quatre-vingt-cinq": up to eight numbers that follow each other. */
const readDigits = (said: readonly Said[], at: number): Read | undefined => {
  let text = '';
  let found: Read | undefined;
  for (let next = at; next < at + 8 && said[next]?.kind === 'number'; next += 1) {
    text += digitsAt(said, next);
    if (text.length > 8) break;
    const iso = readIso(text);
    if (iso !== undefined && text.length >= 5) found = { value: iso, next: next + 1 };
  }
  return found;
};

const readIso = (text: string): string | undefined => {
  const ymd = yearMonthDay.exec(text);
  if (ymd !== null) return isoOf(Number(ymd[1]), Number(ymd[2]), Number(ymd[3]));
  const dmy = dayMonthYear.exec(text);
  if (dmy !== null) return isoOf(yearOf(dmy[3] as string), Number(dmy[2]), Number(dmy[1]));
  const mdy = monthDayYear.exec(text);
  return mdy === null ? undefined : isoOf(yearOf(mdy[3] as string), Number(mdy[1]), Number(mdy[2]));
};

const yearOf = (text: string): number => (text.length === 4 ? Number(text) : 1900 + Number(text));
