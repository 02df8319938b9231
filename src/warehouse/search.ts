/** Full-text search over transcripts: a warehouse's part of it, and the parser of search texts. */
import { terminal } from '../lib/errors.ts';

export interface SearchRequest {
  /** As typed: words, "a phrase", or, -without, begin*. */
  readonly text: string;
  /** The call's own time, `[from, to)` in microseconds since the epoch. */
  readonly from?: number | undefined;
  readonly to?: number | undefined;
  /** A call is found only if a later utterance than that of `text` has these words; each text within one utterance. */
  readonly thenText?: string | undefined;
  /** Speaker side as sent, such as `out`; any side by default. */
  readonly side?: string | undefined;
  /** SQL condition on the speaker, from expressions of the side and of the call's direction. */
  readonly speaker?: ((side: string, direction: string) => string) | undefined;
  /** Most calls to return, newest first. */
  readonly limit: number;
  /** Ends the search where it runs; the promise is rejected then. */
  readonly signal?: AbortSignal;
}

export interface SearchHit {
  readonly utteranceIndex: number;
  readonly side: string | null;
  readonly text: string;
  /** `[start, end)` of each found word, in UTF-16 units of `text`. */
  readonly highlights: readonly (readonly [number, number])[];
}

export interface FoundCall {
  readonly callId: string;
  /** Microseconds since the epoch. */
  readonly callTimestamp: number | null;
  readonly language: string | null;
  /** The first utterances that have one of the words, or a phrase, at most `hitsPerCall`. */
  readonly hits: readonly SearchHit[];
}

export interface SearchResult {
  readonly calls: readonly FoundCall[];
  /** More calls match than were asked for. */
  readonly more: boolean;
  /** Calls of the warehouse that were not indexed in time; the search does not find them. */
  readonly pending: number;
}

export interface SearchIndexStatus {
  /** `building` means unfinished, or an older definition; `create` continues. */
  readonly state: 'absent' | 'building' | 'ready';
  /** Calls whose transcript is indexed; null where the warehouse does not tell. */
  readonly calls: number | null;
  /** Calls that wait for being indexed; the next search indexes them. Null where the warehouse does not tell. */
  readonly pending: number | null;
  readonly bytes: number | null;
}

export interface TranscriptSearch {
  /**
   * Makes the index and fills it from the rows that are there, beside running loads, which keep it fresh from its first
   * moment on. Continues after an interrupted call, and waits for a running one. A call that cannot be indexed stays
   * pending.
   * @throws CallsyncError DATABASE_…, BIGQUERY_…
   */
  create(told?: { readonly onProgress?: (indexedCalls: number) => void; readonly onWait?: () => void }): Promise<void>;
  /** Removes the index; nothing else changes. */
  drop(): Promise<void>;
  status(): Promise<SearchIndexStatus>;
  /**
   * Finds all calls committed before it begins, except `pending` ones.
   * @throws CallsyncError SEARCH_INDEX_MISSING; USAGE_SEARCH where nothing but stop words, or no word, is to be found
   */
  find(request: SearchRequest): Promise<SearchResult>;
}

export type SearchTerm = ReturnType<typeof toTerm>;

export const hitsPerCall = 3;

/**
 * The alternatives that `or` stands between; of each, all terms count.
 * @throws CallsyncError USAGE_SEARCH when nothing is left to find
 */
export const readSearchText = (text: string): readonly (readonly SearchTerm[])[] => {
  const alternatives: SearchTerm[][] = [[]];
  for (const term of readTerms(text))
    if (term.toLowerCase() === 'or') alternatives.push([]);
    else alternatives.at(-1)?.push(toTerm(term));
  const asked = alternatives.filter((terms) => terms.some(({ isExcluded }) => !isExcluded));
  if (asked.length > 0) return asked;
  throw terminal('USAGE_SEARCH', 'The search has no word to find.', {
    hint: 'Write words, a "phrase in quotes", or both; a minus sign excludes a word.',
  });
};

/** A word as typed, or the text between quotes. `isPrefix` = also words that begin with its stem. */
const toTerm = (term: string) => ({
  text: term.replace(/^-/u, '').replaceAll('"', ''),
  isPhrase: /^-?"/u.test(term),
  isPrefix: /^[^"]*\*$/u.test(term),
  isExcluded: term.startsWith('-'),
});

/**
 * Punctuation, symbols and blanks beyond ASCII, as a character class for JavaScript and PostgreSQL. The list is fixed,
 * because an index must not depend on a version of Unicode. PostgreSQL's parser takes these characters for letters in
 * databases of character type C, such as the embedded one.
 */
const separatorClass = [
  String.raw`\u0080-\u00A9\u00AB-\u00B1\u00B4\u00B6-\u00B8\u00BB-\u00BF\u00D7\u00F7\u0149\u02B0-\u02FF`,
  String.raw`\u037E\u0387\u055A-\u055F\u0589\u058A\u05BE\u05C0\u05C3\u05F3\u05F4\u060C\u060D\u061B\u061E\u061F\u066A-\u066D\u06D4\u0964\u0965`,
  String.raw`\u1680\u2000-\u206F\u20A0-\u20FF\u2100\u2101\u2103\u2105\u2106\u2109\u2117\u2150-\u215F\u2189-\u245F\u2474-\u24B5`,
  String.raw`\u2500-\u2BFF\u2E00-\u2E7F\u3000-\u3004\u3007-\u3020\u3030\u33A7-\u33DF`,
  String.raw`\uE000\uE001\uFE00-\uFE1F\uFE30-\uFE6F\uFEFF\uFF01-\uFF0F\uFF1A-\uFF20\uFF3B-\uFF40\uFF5B-\uFF65\uFFE0-\uFFFD`,
].join('');
/** Characters beyond 16 bits, which both dialects write differently. */
const pictures = ['1F000', '1FAFF'] as const;
const separators = new RegExp(`[${separatorClass}${pictures.map((code) => `\\u{${code}}`).join('-')}]`, 'gu');

/**
 * SQL that replaces each separator of a text by a blank. ASCII marks count too: `<` would begin a tag, and a host
 * name is one word or several, depending on accents.
 */
export const separatedSql = (text: string): string =>
  String.raw`regexp_replace(${text}, '[\u0001-\u002F\u003A-\u0040\u005B-\u0060\u007B-\u007F${separatorClass}${pictures.map((code) => `\\U${code.padStart(8, '0')}`).join('-')}]', ' ', 'g')`;

/**
 * Typographic quotes are read as plain ones, marks and letters like apostrophes separate words, and a less-than sign begins no
 * tag. A dash that stands alone would exclude the word after it.
 */
const readTerms = (text: string): readonly string[] => {
  const plain = text
    .replace(/[\u00AB\u00BB\u201C-\u201F\u300C-\u300F\uFF02]/gu, '"')
    .replace(/\u2212/gu, '-')
    .replace(separators, ' ')
    .replace(/[\p{Lm}\p{Sk}\p{Cc}\\ŉ<]/gu, ' ');
  return (plain.match(/-?"[^"]*"?|[^\s"]+/gu) ?? []).filter(hasWord);
};

const hasWord = (text: string): boolean => /[\p{L}\p{N}]/u.test(text);

/** Marks around matches in the database's answer: private-use characters, which transcripts do not have. */
export const marks = { start: '\uE000', end: '\uE001' } as const;

/**
 * Positions of the marks in the unmarked text.
 * @param marked the text with marks, in which one character stands for each of the text's.
 */
export const readMarks = (marked: string, text: string): Pick<SearchHit, 'text' | 'highlights'> => {
  const highlights: [number, number][] = [];
  const characters = text[Symbol.iterator]();
  let at = 0;
  let start: number | undefined;
  for (const character of marked)
    if (character === marks.start) start = at;
    else if (character === marks.end) {
      if (start !== undefined && start < at) highlights.push([start, at]);
      start = undefined;
    } else at += characters.next().value?.length ?? 0;
  return { text, highlights };
};
