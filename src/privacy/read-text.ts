/**
 * Text as detectors read it. Digits, signs and dashes of every alphabet become plain ones, and invisible characters
 * go. Then it becomes words, digits and marks with their places.
 */
import type { Span } from './finding.ts';

const same = (span: Span): Span => span;

/** Characters beyond Latin-1, and other spellings of the signs of an address. */
const disguised = /[^\0-\u00ff]|\u00ad|%40|&#64;|[[({] ?(?:at|arobase|dot|point) ?[\])}]/giu;
const dash = /^[\u2010-\u2015\u2212]$/;
const roomless = /^[\u00ad\u200b-\u200f\u2060\ufeff]$/;

/** `placeOf` = the place in the original text of a place in the read text. */
export const readPlain = (text: string) => {
  if (text.search(disguised) === -1) return { text, placeOf: same };
  const starts: number[] = [];
  let [plain, at] = ['', 0];
  const add = (piece: string, start: number): void => {
    plain += piece;
    for (let offset = 0; offset < piece.length; offset += 1) starts.push(start + offset);
  };
  for (const { 0: found, index } of text.matchAll(disguised)) {
    add(text.slice(at, index), at);
    add(plainOf(found), index);
    at = index + found.length;
  }
  add(text.slice(at), at);
  return {
    text: plain,
    placeOf: ({ utterance, start, end }: Span): Span => ({
      utterance,
      start: starts[start] ?? text.length,
      end: starts[end] ?? text.length,
    }),
  };
};

const plainOf = (found: string): string => {
  if (dash.test(found)) return '-';
  if (roomless.test(found)) return '';
  if (/40|64|at|arobase/i.test(found)) return '@';
  if (/dot|point/i.test(found)) return '.';
  const compatible = found.normalize('NFKC');
  return /^[!-~]$/.test(compatible) ? compatible : found;
};

export interface Token {
  readonly kind: 'word' | 'digits' | 'mark';
  readonly text: string;
  /** Lower case without accents, for words. */
  readonly key: string;
  readonly start: number;
  readonly end: number;
  /** A blank stands before it. */
  readonly isSpaced: boolean;
}

const date = '\\d{4}-\\d\\d-\\d\\d(?:[T ]\\d\\d:\\d\\d(?::\\d\\d(?:[.,]\\d+)?)?(?:Z|[+-]\\d\\d:?\\d\\d)?)?';
/** Dates, identifiers and our own tokens: their digits are no part of a number that somebody dictates. */
const wholes = `(?=[\\da-fp])(?<![\\p{L}\\d])(?:${date}|\\d\\d?/\\d\\d?/\\d{4}|[\\da-f]{8}(?:-[\\da-f]{4}){3}-[\\da-f]{12}|ph_[a-z\\d]+_[a-z2-7]{52})(?![\\p{L}\\d])`;
const pattern = new RegExp(`(${wholes}|[\\p{L}\\p{M}]+)|(\\d+)|[^\\s]`, 'gu');

const whole = new RegExp(`^${wholes}$`, 'u');
/** Whether a text is a date, an identifier or a token. */
export const isWhole = (text: string): boolean => whole.test(text);

/** Lower case, without accents. */
export const toKey = (text: string): string => {
  const lower = text.toLowerCase();
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the range is ASCII
  return /^[\x00-\x7f]*$/.test(lower) ? lower : lower.normalize('NFD').replaceAll(/\p{M}+/gu, '');
};

export const readTokens = (text: string): Token[] => {
  const tokens: Token[] = [];
  let last = 0;
  for (const match of text.matchAll(pattern)) {
    const [found, word, digits] = match;
    const start = match.index;
    const kind = word !== undefined ? 'word' : digits !== undefined ? 'digits' : 'mark';
    const end = start + found.length;
    tokens.push({ kind, text: found, key: kind === 'word' ? toKey(found) : found, start, end, isSpaced: start > last });
    last = end;
  }
  return tokens;
};
