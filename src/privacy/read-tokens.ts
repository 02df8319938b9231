/** Text → words, digits and marks with their places. */

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
const whole = `(?=[\\da-fp])(?<![\\p{L}\\d])(?:${date}|\\d\\d?/\\d\\d?/\\d{4}|[\\da-f]{8}(?:-[\\da-f]{4}){3}-[\\da-f]{12}|ph_[a-z\\d]+_[a-z2-7]{52})(?![\\p{L}\\d])`;
const pattern = new RegExp(`(${whole}|[\\p{L}\\p{M}]+)|(\\d+)|[^\\s]`, 'gu');

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
