/** Text as detectors read it: digits, signs and dashes of every alphabet and disguise as the plain ones, nothing that takes no room. */
import type { Span } from './finding.ts';

export interface PlainText {
  readonly text: string;
  /** Where a place in it stands in the text as it came. */
  readonly placeOf: (span: Span) => Span;
}

const same = (span: Span): Span => span;

/** Beyond Latin-1, or another way of writing a sign of an address. */
const disguised = /[^\0-\u00ff]|\u00ad|%40|&#64;|[[({] ?(?:at|arobase|dot|point) ?[\])}]/giu;
const dash = /^[\u2010-\u2015\u2212]$/;
const roomless = /^[\u00ad\u200b-\u200f\u2060\ufeff]$/;

export const readPlain = (text: string): PlainText => {
  if (text.search(disguised) === -1) return { text, placeOf: same };
  const starts: number[] = [];
  const ends: number[] = [];
  let plain = '';
  let at = 0;
  const add = (piece: string, start: number, end: number): void => {
    plain += piece;
    for (let offset = 0; offset < piece.length; offset += 1) {
      const isSame = piece.length === end - start;
      starts.push(isSame ? start + offset : start);
      ends.push(isSame ? start + offset + 1 : end);
    }
  };
  for (const { 0: found, index } of text.matchAll(disguised)) {
    add(text.slice(at, index), at, index);
    at = index + found.length;
    add(plainOf(found), index, at);
  }
  add(text.slice(at), at, text.length);
  return {
    text: plain,
    placeOf: ({ utterance, start, end }) => ({
      utterance,
      start: starts[start] ?? text.length,
      end: ends[end - 1] ?? text.length,
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
