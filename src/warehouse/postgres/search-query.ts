/** Searching: one query a language, because each stems in its own way. */
import { toMicros, toTimestamp } from '../../postgres/sql-time.ts';
import type { SearchText } from '../search.ts';
import { hitsPerCall, marks } from '../search.ts';
import { type Layout, qualified } from './layout.ts';

/** A search as one language reads it; tsquery as text. */
export interface LanguageQuery {
  readonly language: string;
  /** The whole condition. */
  readonly full: string;
  /** What must be found, phrases as words: what the index can tell. */
  readonly words: string;
  /** One word or phrase of it, for the utterances to show. */
  readonly any: string;
  /** The words alone, as the index has them. */
  readonly lexemes: readonly string[];
}

/** The languages of the index, and the search in each. Parameters: the whole text, and the text without exclusions. */
export const languageQueriesSql = (layout: Layout): string => {
  const table = qualified(layout, 'transcript_search');
  const fold = qualified(layout, 'transcript_fold');
  const read = (parameter: string) =>
    `${fold}(websearch_to_tsquery(language::regconfig, ${parameter}::text)::text)::tsquery::text`;
  // Steps from one language to the next by the index, instead of reading all rows.
  return `WITH RECURSIVE l(language) AS (
  (SELECT language FROM ${table} ORDER BY language LIMIT 1)
  UNION ALL
  SELECT (SELECT s.language FROM ${table} s WHERE s.language > l.language ORDER BY s.language LIMIT 1) FROM l WHERE l.language IS NOT NULL
)
SELECT language, ${read('$1')} AS full, ${read('$2')} AS positive FROM l WHERE language IS NOT NULL`;
};

const lexeme = /'(?:[^'\\]|''|\\.)*'/gu;
const unquote = (quoted: string): string =>
  quoted.slice(1, -1).replace(/''|\\(.)/gu, (pair, escaped) => escaped ?? pair[0]);

/** Null when a language has no word of the search: stop words alone. */
export const toLanguageQuery = (row: {
  readonly language: string;
  readonly full: string;
  readonly positive: string;
}): LanguageQuery | null => {
  if (row.positive === '') return null;
  return {
    language: row.language,
    full: row.full,
    words: row.positive.replaceAll(/ <(?:-|\d+)> /gu, ' & '),
    any: row.positive.replaceAll(' & ', ' | '),
    lexemes: (row.positive.match(lexeme) ?? []).map(unquote),
  };
};

/** Parameters of `findSql`. */
export const findParameters = (query: LanguageQuery, text: SearchText, range: FindRange): readonly unknown[] => [
  query.full,
  query.words,
  query.language,
  range.from,
  range.to,
  range.side,
  // An alternative may be found without its phrase.
  text.hasOr ? [] : text.phrases,
  range.limit,
];

export interface FindRange {
  readonly from: number | null;
  readonly to: number | null;
  readonly side: string | null;
  readonly limit: number;
}

/** Conditions that a search does not need are constant when it is planned, and vanish. */
const wanted = `language = $3 AND document @@ $2::tsquery
   AND ($4::bigint IS NULL OR call_timestamp >= ${toTimestamp('$4')})
   AND ($5::bigint IS NULL OR call_timestamp < ${toTimestamp('$5')})
   AND ($6::text IS NULL OR side = $6::text)`;

/** With more rows than this, walking through time finds the newest sooner than sorting all that match. */
export const fewRows = 2_000;

/**
 * How many rows have the words, up to one more than `fewRows`: the planner knows nothing of rare words, and would walk
 * through all rows in search of one that nobody said. Run with `byIndex`. Parameters as those of `findSql`.
 */
export const countSomeSql = (layout: Layout): string =>
  `SELECT count(*) AS rows FROM (SELECT FROM ${qualified(layout, 'transcript_search')}
 WHERE ${wanted} AND $1::text IS NOT NULL AND $7::text[] IS NOT NULL AND $8::int IS NOT NULL LIMIT ${fewRows + 1}) counted`;

/** Ways of finding, as settings of the transaction: the words' index and a sort, or a walk from the newest row on. */
export const byIndex =
  'SET LOCAL enable_indexscan = off; SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = on';
export const byTime =
  'SET LOCAL enable_indexscan = on; SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off';
('SET LOCAL enable_indexscan = on; SET LOCAL enable_seqscan = on; SET LOCAL enable_bitmapscan = on');

/**
 * Calls and sides of one language, newest first. The index finds the words; positions confirm phrases; an utterance
 * confirms them again, since neighbours in the document may be of two utterances.
 */
export const findSql = (layout: Layout): string => {
  const document = qualified(layout, 'transcript_document');
  return `SELECT s.call_id, s.side, s.language, ${toMicros('s.call_timestamp')} AS micros
  FROM ${qualified(layout, 'transcript_search')} s
 WHERE ${wanted}
   AND ($1::tsquery = $2::tsquery OR clipped OR document @@ $1::tsquery)
   AND ($7::text[] = '{}' OR NOT EXISTS (
     SELECT FROM unnest($7::text[]) AS phrase
      WHERE NOT EXISTS (
        SELECT FROM ${qualified(layout, 'utterances')} u
         WHERE u.call_id = s.call_id AND coalesce(u.side, '') = s.side
           AND (${document}(s.language, u.content)).document
               @@ ${qualified(layout, 'transcript_fold')}(phraseto_tsquery(s.language::regconfig, phrase)::text)::tsquery)))
 ORDER BY call_timestamp DESC NULLS LAST, call_id
 LIMIT $8`;
};

/**
 * The utterances to show of found calls and sides, with marks. Parameters: ids, sides, language, any, lexemes, and whether
 * there are words alone, so that one of the lexemes is enough. Run with `byTime`: in the order of utterances, up to the limit.
 */
export const hitsSql = (layout: Layout): string => {
  const fold = qualified(layout, 'transcript_fold');
  return `SELECT s.call_id, h.*
  FROM unnest($1::text[], $2::text[]) AS s(call_id, side)
 CROSS JOIN LATERAL (
   SELECT u.utterance_index, u.side, ts_headline($3::text::regconfig, u.content, q.query,
            'HighlightAll=true, StartSel=${marks.start}, StopSel=${marks.end}') AS marked
     FROM ${qualified(layout, 'utterances')} u
    CROSS JOIN LATERAL (
      SELECT string_agg('''' || replace(replace(w.lexeme, '\\', '\\\\'), '''', '''''') || '''', ' | ')::tsquery AS query
        FROM unnest(to_tsvector($3::text::regconfig, u.content)) w WHERE ${fold}(w.lexeme) = ANY($5::text[])) q
    WHERE u.call_id = s.call_id AND coalesce(u.side, '') = s.side AND q.query IS NOT NULL
      AND ($6::boolean OR (${qualified(layout, 'transcript_document')}($3::text, u.content)).document @@ $4::tsquery)
    ORDER BY u.utterance_index LIMIT ${hitsPerCall}) h`;
};
