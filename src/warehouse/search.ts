/** Full-text search over transcripts: what a warehouse offers, and how a search text is read. */
import { terminal } from '../errors.ts';

export interface SearchRequest {
  /** As typed: words, "a phrase", or, -without. */
  readonly text: string;
  /** The call's own time, `[from, to)` in microseconds since the epoch. */
  readonly from?: number | undefined;
  readonly to?: number | undefined;
  /** Speaker side as sent, such as `out`; any side by default. */
  readonly side?: string | undefined;
  /** Most calls to return, newest first. */
  readonly limit: number;
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

export interface FoundCalls {
  readonly calls: readonly FoundCall[];
  /** More calls match than were asked for. */
  readonly more: boolean;
}

export interface SearchResult extends FoundCalls {
  /** Calls that are in the warehouse and could not be indexed in time: they are not found. */
  readonly pending: number;
}

export interface SearchIndexStatus {
  /** `building`: it was not finished, or holds an older definition; `create` goes on with it. */
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
   * moment on. Goes on where an interrupted call stopped, and after one that is under way. A call that cannot be indexed stays pending.
   * @throws CallsyncError DATABASE_…, BIGQUERY_…
   */
  create(told?: { readonly onProgress?: (indexedCalls: number) => void; readonly onWait?: () => void }): Promise<void>;
  /** Removes the index; nothing else changes. */
  drop(): Promise<void>;
  status(): Promise<SearchIndexStatus>;
  /** Finds what is committed when it begins, but for `pending` calls. @throws CallsyncError SEARCH_INDEX_MISSING, USAGE_SEARCH */
  find(request: SearchRequest): Promise<SearchResult>;
}

/** A search text taken apart. */
export interface SearchText {
  /** All of it that stands outside phrases, as typed: words, `or`, excluded words. */
  readonly outsidePhrases: string;
  /** The same without what is excluded. */
  readonly wantedOutsidePhrases: string;
  readonly words: readonly string[];
  readonly phrases: readonly string[];
  readonly excludedPhrases: readonly string[];
  readonly hasOr: boolean;
  readonly hasExclusion: boolean;
}

export const hitsPerCall = 3;

/** @throws CallsyncError USAGE_SEARCH when nothing is left to find */
export const readSearchText = (text: string): SearchText => {
  const terms = readTerms(text);
  const included = terms.filter((term) => !term.startsWith('-'));
  const wantedOutside = included.filter((term) => !isPhrase(term));
  const words = wantedOutside.filter((term) => !isOr(term));
  const phrases = readPhrases(included);
  if (!hasWord([...words, ...phrases].join(' '))) {
    throw terminal('USAGE_SEARCH', 'The search has no word to find.', {
      hint: 'Write words, a "phrase in quotes", or both; a minus sign excludes a word.',
    });
  }
  return {
    outsidePhrases: terms.filter((term) => !isPhrase(term)).join(' '),
    wantedOutsidePhrases: wantedOutside.join(' '),
    words,
    phrases,
    excludedPhrases: readPhrases(terms.filter((term) => term.startsWith('-'))),
    hasOr: included.some(isOr),
    hasExclusion: included.length < terms.length,
  };
};

/** The searches that `or` stands between, where one of them has a phrase; else the text alone. */
export const readAlternatives = (text: string): readonly string[] => {
  const terms = readTerms(text);
  if (!terms.some((term) => term.includes('"'))) return [text];
  const alternatives: string[][] = [[]];
  for (const term of terms) {
    if (isOr(term)) alternatives.push([]);
    else alternatives.at(-1)?.push(term);
  }
  const written = alternatives.filter((words) => words.length > 0).map((words) => words.join(' '));
  return written.length === 0 ? [text] : written;
};

/**
 * Typographic apostrophes are read as plain ones, letters like apostrophes separate words, and a less-than sign begins no tag.
 * A dash that stands alone would exclude the word after it.
 */
const readTerms = (text: string): readonly string[] => {
  const plain = text
    .replace(/[\u2018\u2019\u201B\u2032\uFF07]/gu, "'")
    .replace(/[\p{Lm}\p{Sk}\p{Cc}\\ŉ<\u2216\uFE68\uFF3C]/gu, ' ');
  return (plain.match(/-?"[^"]*"?|[^\s"]+/gu) ?? []).filter(hasWord);
};

const hasWord = (text: string): boolean => /[\p{L}\p{N}]/u.test(text);
const isPhrase = (term: string): boolean => /^-?"/u.test(term);
const readPhrases = (terms: readonly string[]): readonly string[] =>
  terms.filter(isPhrase).map((term) => term.replace(/^-/u, '').replaceAll('"', ''));
const isOr = (term: string): boolean => term.toLowerCase() === 'or';

/** Around what was found, on its way out of the database: private-use characters, which transcripts do not hold. */
export const marks = { start: '\uE000', end: '\uE001' } as const;

/** Takes the marks out of a text and says where they were. */
export const readMarks = (marked: string): Pick<SearchHit, 'text' | 'highlights'> => {
  const highlights: [number, number][] = [];
  let text = '';
  let start: number | undefined;
  for (const part of marked.split(/([\uE000\uE001])/u)) {
    if (part === marks.start) start = text.length;
    else if (part === marks.end) {
      if (start !== undefined && start < text.length) highlights.push([start, text.length]);
      start = undefined;
    } else text += part;
  }
  return { text, highlights };
};
