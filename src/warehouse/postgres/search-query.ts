/** Searching: one query a language, because each stems in its own way. */
import { toMicros, toTimestamp } from '../../postgres/sql-time.ts';
import type { SearchText } from '../search.ts';
import { hitsPerCall, marks } from '../search.ts';
import { type Layout, qualified } from './layout.ts';
import { boundary, phraseReach } from './search-ddl.ts';

/** A search as one language reads it; tsquery as text. */
export interface LanguageQuery {
  readonly language: string;
  /** The whole condition. */
  readonly full: string;
  /** What the index can tell: phrases as words. */
  readonly words: string;
  /** One word or phrase of it, for the utterances to show; and the same with phrases as words. */
  readonly any: string;
  readonly anyWords: string;
  /** One word of it outside phrases. */
  readonly anyWordAlone: string;
  /**
   * Utterances have to confirm phrases: the index has no stop words, and a phrase that reaches far may be made by words of
   * two utterances.
   */
  readonly confirmsPhrases: boolean;
  /** Phrases for the utterances, each as `says` wants it. */
  readonly phrases: readonly string[];
  /** Those whose absence the utterances have to show, because the index lacks their stop words. */
  readonly excludedPhrases: readonly string[];
  /** The words alone, as the index has them. */
  readonly lexemes: readonly string[];
  /** Rows of this language, about: which way is shorter depends on it, and the planner knows little of words. */
  readonly rows: number;
}

/** The languages of the index, and the search in each. Parameters: `languageParameters`. */
export const languageQueriesSql = (layout: Layout): string => {
  const table = qualified(layout, 'transcript_search');
  const fold = qualified(layout, 'transcript_fold');
  const read = (parameter: string) =>
    `${fold}(websearch_to_tsquery(language::regconfig, ${parameter}::text)::text)::tsquery::text`;
  const spelledPhrases = (parameter: string) =>
    `ARRAY(SELECT ${stopWordPattern(layout, 'language', 'phrase')} || E'\\x02' || ${spelled(layout, 'language', 'phrase')} FROM unnest(${parameter}::text[]) AS phrase)`;
  const hasStopWord = (parameter: string) =>
    `EXISTS (SELECT FROM unnest(${parameter}::text[]) AS phrase CROSS JOIN LATERAL ts_parse('default', phrase) p ${dictionaryOf('language')}
        WHERE ts_lexize(m.mapdict::regdictionary, p.token) = '{}')`;
  // Steps from one language to the next by the index, instead of reading all rows.
  return `WITH RECURSIVE l(language) AS (
  (SELECT language FROM ${table} ORDER BY language LIMIT 1)
  UNION ALL
  SELECT (SELECT s.language FROM ${table} s WHERE s.language > l.language ORDER BY s.language LIMIT 1) FROM l WHERE l.language IS NOT NULL
)
SELECT language, ${read('$1')} AS full, ${read('$2')} AS positive, ${read('$3')} AS without_phrases, ${read('$4')} AS alone,
       ${spelledPhrases('$5')} AS phrases, ${hasStopWord('$5')} AS has_stop_word,
       ${spelledPhrases('$6')} AS excluded_phrases, ${hasStopWord('$6')} AS excludes_stop_word,
       (SELECT greatest(reltuples, 0)::float8 FROM pg_class WHERE oid = '${table}'::regclass) * coalesce(known.share, 1) AS rows
  FROM l
  LEFT JOIN (SELECT unnest(most_common_vals::text::text[]) AS language, unnest(most_common_freqs)::float8 AS share
               FROM pg_stats WHERE schemaname = '${layout.schema}' AND tablename = 'transcript_search' AND attname = 'language') known
  USING (language)
 WHERE language IS NOT NULL`;
};

export const languageParameters = (text: SearchText): readonly unknown[] => [
  text.full,
  text.positive,
  text.withoutExcludedPhrases,
  text.words.join(' '),
  text.phrases,
  text.excludedPhrases,
];

/** The dictionary of each token of `ts_parse`, and none of compounds as a whole: their parts follow them. */
const dictionaryOf = (language: string): string =>
  `JOIN pg_ts_config_map m ON m.mapcfg = ${language}::regconfig AND m.mapseqno = 1 AND m.maptokentype = p.tokid AND p.tokid NOT IN (15, 16, 17)`;

/** The words of a text one after the other as the index has them, and stop words as they are written. */
const spelled = (layout: Layout, language: string, text: string): string =>
  `(SELECT ${qualified(layout, 'transcript_fold')}(E'\\x01' || string_agg(coalesce((ts_lexize(m.mapdict::regdictionary, p.token))[1], lower(p.token)), E'\\x01' ORDER BY p.ordinality) || E'\\x01')
     FROM ts_parse('default', translate(${text}, '<', ' ')) WITH ORDINALITY p ${dictionaryOf(language)})`;

/** A pattern for LIKE with the stop words of a phrase in their order: a look at it saves most utterances from being parsed. */
const stopWordPattern = (layout: Layout, language: string, phrase: string): string =>
  `(SELECT ${qualified(layout, 'transcript_fold')}('%' || coalesce(string_agg(lower(p.token) || '%', '' ORDER BY p.ordinality), ''))
     FROM ts_parse('default', ${phrase}) WITH ORDINALITY p ${dictionaryOf(language)} WHERE ts_lexize(m.mapdict::regdictionary, p.token) = '{}')`;

/** Whether an utterance says a phrase, given as its `stopWordPattern` and `spelled`, word for word. */
const says = (layout: Layout, language: string): string =>
  `CASE WHEN ${qualified(layout, 'transcript_fold')}(lower(u.content)) LIKE split_part(phrase, E'\\x02', 1)
        THEN strpos(${spelled(layout, language, 'u.content')}, split_part(phrase, E'\\x02', 2)) > 0 ELSE false END`;

const lexeme = /'(?:[^'\\]|''|\\.)*'/gu;
const unquote = (quoted: string): string =>
  quoted.slice(1, -1).replace(/''|\\(.)/gu, (pair, escaped) => escaped ?? pair[0]);

const asWords = (query: string): string => query.replaceAll(/ <(?:-|\d+)> /gu, ' & ');

export interface LanguageRow {
  readonly language: string;
  readonly full: string;
  readonly positive: string;
  /** Without excluded phrases. */
  readonly without_phrases: string;
  /** Words outside phrases. */
  readonly alone: string;
  readonly phrases: readonly string[];
  readonly has_stop_word: boolean;
  readonly excluded_phrases: readonly string[];
  readonly excludes_stop_word: boolean;
  readonly rows: number;
}

/** Null when a language has no word of the search: stop words alone. */
export const toLanguageQuery = (row: LanguageRow): LanguageQuery | null => {
  if (row.positive === '') return null;
  const full = row.excludes_stop_word ? row.without_phrases : row.full;
  const any = row.positive.replaceAll(' & ', ' | ');
  const distances = [...row.positive.matchAll(/ <(\d+)> /gu)].map(([, distance]) => Number(distance));
  return {
    language: row.language,
    full,
    // Without a phrase, and with both its words, is not the same: that one stays for the positions.
    words: asWords(full.includes('!(') ? row.positive : full),
    any,
    anyWords: asWords(any),
    anyWordAlone: row.alone.replaceAll(' & ', ' | '),
    confirmsPhrases: row.has_stop_word || distances.some((distance) => distance > phraseReach),
    phrases: row.phrases,
    excludedPhrases: row.excludes_stop_word ? row.excluded_phrases : [],
    lexemes: (row.positive.match(lexeme) ?? []).map(unquote),
    rows: row.rows,
  };
};

/** Parameters of `findSql`. */
export const findParameters = (query: LanguageQuery, range: FindRange): readonly unknown[] => [
  query.full,
  query.words,
  query.language,
  range.from,
  range.to,
  range.side,
  query.phrases,
  range.limit,
  query.confirmsPhrases,
  query.excludedPhrases,
];

export interface FindRange {
  readonly from: number | null;
  readonly to: number | null;
  readonly side: string | null;
  readonly limit: number;
}

/** Conditions that a search does not need are constant when it is planned, and vanish. */
const inRange = `language = $3
   AND ($4::bigint IS NULL OR call_timestamp >= ${toTimestamp('$4')})
   AND ($5::bigint IS NULL OR call_timestamp < ${toTimestamp('$5')})
   AND ($6::text IS NULL OR side = $6::text)`;
const newestFirst = 'ORDER BY call_timestamp DESC NULLS LAST, call_id';

const hasWords = 'document @@ $2::tsquery';

/** Rows to look at, $11 of the newest or all, and what has to be asked of each. */
const rowsAmong = (layout: Layout) => {
  const table = qualified(layout, 'transcript_search');
  return {
    newest: { rows: `(SELECT * FROM ${table} WHERE ${inRange} ${newestFirst} LIMIT $11) s`, where: hasWords },
    walked: { rows: `${table} s`, where: `${inRange} AND ${hasWords}` },
    // OFFSET keeps other conditions away from the planner, who would look up all rows of a language or side for a few words.
    named: { rows: `(SELECT * FROM ${table} WHERE ${hasWords} OFFSET 0) s`, where: inRange },
  } as const;
};
export type Among = keyof ReturnType<typeof rowsAmong>;

/** Ways of finding, as settings of the transaction: the words' index and a sort, or a walk from the newest row on. */
export const byIndex = 'SET LOCAL enable_indexscan = off; SET LOCAL enable_bitmapscan = on';
export const byTime = 'SET LOCAL enable_indexscan = on; SET LOCAL enable_bitmapscan = off';
/** These queries are over sooner than they could be compiled. */
export const prepareToFind = `SET LOCAL jit = off; SET LOCAL enable_seqscan = off; ${byTime}`;

/** How many of the $11 newest rows there are, and, where $12 asks for it, have the words. Other parameters as those of `findSql`. */
export const sampleSql = (layout: Layout): string =>
  `SELECT count(*) AS rows, count(*) FILTER (WHERE $12::boolean AND ${hasWords}) AS with_words FROM ${rowsAmong(layout).newest.rows}
 WHERE $1::tsquery IS NOT NULL AND $7::text[] IS NOT NULL AND $8::int IS NOT NULL AND $9::boolean IS NOT NULL AND $10::text[] IS NOT NULL`;

/**
 * Calls and sides of one language, newest first: among the newest rows, all that are walked past, or those that the index
 * names. The index finds the words, positions confirm phrases. Where those do not tell, as positions ran out, a phrase
 * reaches over the space between utterances or has stop words, the utterances confirm it again.
 */
export const findSql = (layout: Layout, among: Among): string => {
  const ofRow = `${qualified(layout, 'utterances')} u WHERE u.call_id = s.call_id AND coalesce(u.side, '') = s.side`;
  const { rows, where } = rowsAmong(layout)[among];
  return `SELECT s.call_id, s.side, s.language, s.clipped, ${toMicros('s.call_timestamp')} AS micros
  FROM ${rows}
 WHERE ${where}
   AND ($1::tsquery = $2::tsquery OR clipped OR document @@ $1::tsquery)
   AND (NOT (clipped OR $9::boolean) OR NOT EXISTS (
     SELECT FROM unnest($7::text[]) AS phrase
      WHERE NOT EXISTS (SELECT FROM ${ofRow} AND ${says(layout, '$3')})))
   AND NOT EXISTS (
     SELECT FROM unnest($10::text[]) AS phrase
      WHERE EXISTS (SELECT FROM ${ofRow} AND ${says(layout, '$3')}))
 ${newestFirst}
 LIMIT $8`;
};

/**
 * The utterances to show of found calls and sides, with marks. Positions of words and boundaries tell which utterances
 * have one; where positions ran out, each utterance is read. Run with `byTime`. Parameters: ids, sides, whether their
 * positions ran out, language, the words alone (`anyWords`) and as they are wanted (`any`), lexemes, whether there are
 * words alone, and the phrases that utterances have to confirm, where `any` is `anyWordAlone`.
 */
export const hitsSql = (layout: Layout): string => {
  const fold = qualified(layout, 'transcript_fold');
  const isHit = `(($8::boolean AND NOT s.clipped) OR (${qualified(layout, 'transcript_document')}($4::text, u.content)).document @@ $6::tsquery
     OR EXISTS (SELECT FROM unnest($9::text[]) AS phrase WHERE ${says(layout, '$4')}))`;
  return `SELECT s.call_id, h.utterance_index, h.side, ts_headline($4::text::regconfig, h.content, q.query,
         'HighlightAll=true, StartSel=${marks.start}, StopSel=${marks.end}') AS marked
  FROM unnest($1::text[], $2::text[], $3::boolean[]) AS s(call_id, side, clipped)
 CROSS JOIN LATERAL (
   WITH told AS MATERIALIZED (
     SELECT w.lexeme, w.positions
       FROM ${qualified(layout, 'transcript_search')} d CROSS JOIN LATERAL unnest(d.document) w
      WHERE d.call_id = s.call_id AND d.side = s.side AND (w.lexeme = ANY($7::text[]) OR w.lexeme = '${boundary}')
   ),
   having_words AS (
     SELECT place
       FROM (SELECT told.lexeme, coalesce(width_bucket(p, (SELECT positions FROM told WHERE lexeme = '${boundary}')), 0) AS place
               FROM told CROSS JOIN LATERAL unnest(told.positions) p WHERE told.lexeme = ANY($7::text[])) spoken
      GROUP BY place HAVING array_to_tsvector(array_agg(lexeme)) @@ $5::tsquery
   ),
   numbered AS (
     SELECT u.utterance_index, u.side, u.content, row_number() OVER (ORDER BY u.utterance_index) - 1 AS place
       FROM ${qualified(layout, 'utterances')} u
      WHERE u.call_id = s.call_id AND coalesce(u.side, '') = s.side AND u.content <> ''
   )
   SELECT u.utterance_index, u.side, u.content
     FROM numbered u
    WHERE (s.clipped OR u.place IN (SELECT place FROM having_words)) AND ${isHit}
    ORDER BY u.utterance_index LIMIT ${hitsPerCall}) h
 CROSS JOIN LATERAL (
   SELECT string_agg('''' || replace(replace(w.lexeme, '\\', '\\\\'), '''', '''''') || '''', ' | ')::tsquery AS query
     FROM unnest(to_tsvector($4::text::regconfig, h.content)) w WHERE ${fold}(w.lexeme) = ANY($7::text[])) q
 WHERE q.query IS NOT NULL`;
};
