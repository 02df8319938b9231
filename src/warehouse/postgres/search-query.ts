/** Searching: one query a language, because each stems in its own way. */
import { toMicros, toTimestamp } from '../../postgres/sql-time.ts';
import type { SearchText } from '../search.ts';
import { hitsPerCall, marks, separatedSql } from '../search.ts';
import { type Layout, qualified } from './layout.ts';
import { quotedLexeme, ranOut } from './search-ddl.ts';
import { boundary, everyWord, stopMark, wordsThatCount } from './search-language.ts';

/** A search as one language reads it; tsquery as text. */
export interface LanguageQuery {
  readonly language: string;
  /** The whole condition. */
  readonly full: string;
  /** What the index can tell: phrases as words, and no excluded phrases. */
  readonly words: string;
  /** One word or phrase of it, for the utterances to show. */
  readonly any: string;
  /**
   * Where positions ran out, utterances have to tell: of the words that follow one another, as `says` wants them, and `told`,
   * the whole condition with a lexeme of its own for each.
   */
  readonly sequences: readonly string[];
  readonly told: string;
  /** Those of them that are wanted. */
  readonly wantedSequences: readonly string[];
  /** Their words, as the index has them. */
  readonly placed: readonly string[];
  /** Positions that are there prove the whole condition: nothing is excluded, and no word may be any. */
  readonly proved: boolean;
  /** The words that are wanted, as the index has them. */
  readonly lexemes: readonly string[];
  /** Rows of this language, about: which way is shorter depends on it, and the planner knows little of words. */
  readonly rows: number;
}

/** The languages of the index, and the search in each. Parameters: `languageParameters`. */
export const languageQueriesSql = (layout: Layout): string => {
  const table = qualified(layout, 'transcript_search');
  const fold = qualified(layout, 'transcript_fold');
  const read = (parameter: string) =>
    `${fold}(websearch_to_tsquery(${wordsThatCount(layout, 'language')}, ${parameter}::text)::text)::tsquery::text`;
  const each = (parameter: string, sql: string) => `ARRAY(SELECT ${sql} FROM unnest(${parameter}::text[]) AS phrase)`;
  // Of the two lexemes of a stop word with accents, the marked one.
  const asQuery = `coalesce((SELECT string_agg(lexeme, ' <-> ' ORDER BY place)
      FROM (SELECT DISTINCT ON (place) place, ${quotedLexeme('w.lexeme')} AS lexeme
              FROM unnest((${qualified(layout, 'transcript_document')}(language, phrase)).document) w CROSS JOIN LATERAL unnest(w.positions) place
             ORDER BY place, starts_with(w.lexeme, '${stopMark}') DESC) placed)::tsquery::text, '')`;
  // Steps from one language to the next by the index, instead of reading all rows.
  return `WITH RECURSIVE l(language) AS (
  (SELECT language FROM ${table} ORDER BY language LIMIT 1)
  UNION ALL
  SELECT (SELECT s.language FROM ${table} s WHERE s.language > l.language ORDER BY s.language LIMIT 1) FROM l WHERE l.language IS NOT NULL
)
SELECT language, ${boundary('language')} AS boundary, ${read('$1')} AS outside, ${read('$2')} AS wanted_outside,
       ${each('$3', asQuery)} AS phrases, ${each('$4', asQuery)} AS excluded_phrases,
       (SELECT greatest(reltuples, 0)::float8 FROM pg_class WHERE oid = '${table}'::regclass) * coalesce(known.share, 1) AS rows
  FROM l
  LEFT JOIN (SELECT unnest(most_common_vals::text::text[]) AS language, unnest(most_common_freqs)::float8 AS share
               FROM pg_stats WHERE schemaname = '${layout.schema}' AND tablename = 'transcript_search' AND attname = 'language') known
  USING (language)
 WHERE language IS NOT NULL`;
};

export const languageParameters = (text: SearchText): readonly unknown[] => [
  text.outsidePhrases,
  text.wantedOutsidePhrases,
  text.phrases,
  text.excludedPhrases,
];

/** The words of a text one after the other, as the index has them, with \x02 between two lexemes of a word. */
const spelled = (layout: Layout, language: string, text: string): string => {
  const fold = qualified(layout, 'transcript_fold');
  const lexized = (word: string) => `(ts_lexize(m.mapdict::regdictionary, ${word}))[1]`;
  const said = `(ts_lexize('simple', p.token))[1]`;
  const stop = `'${stopMark}' || ${said} || coalesce(E'\\x02' || ${lexized(`${fold}(${said})`)}, '')`;
  return `(SELECT ${fold}(E'\\x01' || string_agg(coalesce(${lexized('p.token')}, ${stop}), E'\\x01' ORDER BY p.ordinality) || E'\\x01')
     FROM ts_parse('default', ${separatedSql(text)}) WITH ORDINALITY p
     JOIN pg_ts_config_map m ON m.mapcfg = ${wordsThatCount(layout, language)} AND m.mapseqno = 1 AND m.maptokentype = p.tokid)`;
};

/** Whether an utterance says words one after the other, given as a regular expression of `spelled`, however often they are said. */
const says = (layout: Layout, language: string): string => `${spelled(layout, language, 'u.content')} ~ sequence`;

const lexeme = /'(?:[^'\\]|''|\\.)*'/gu;
/** Words that follow one another in a query. */
const sequence = new RegExp(`${lexeme.source}(?: <(?:-|\\d+)> ${lexeme.source})+`, 'gu');
const sequencesOf = (query: string): readonly string[] => query.match(sequence) ?? [];
/** Before the number of a sequence, a lexeme that no document has. */
const said = 'said ';
const unquote = (quoted: string): string =>
  quoted.slice(1, -1).replace(/''|\\(.)/gu, (pair, escaped) => escaped ?? pair[0]);
const lexemesOf = (queries: readonly string[]): readonly string[] =>
  queries.flatMap((query) => (query.match(lexeme) ?? []).map(unquote));

/** A sequence as `says` wants it; `<2>` is one word of any kind between two. */
const patternOf = (query: string): string => {
  const between = [...query.matchAll(/ <(-|\d+)> /gu)].map(([, distance]) => (distance === '-' ? 1 : Number(distance)));
  const words = lexemesOf([query]).map((word, at) => {
    const others = at === 0 ? '' : '[^\x01]+\x01'.repeat((between[at - 1] ?? 1) - 1);
    return `${others}(?:[^\x01]+\x02)?${word.replaceAll(/[^\p{L}\p{N}]/gu, '\\$&')}(?:\x02[^\x01]+)?\x01`;
  });
  return `\x01${words.join('')}`;
};

const join = (queries: readonly string[], operator: '&' | '|'): string =>
  queries
    .filter((query) => query !== '')
    .map((query) => `(${query})`)
    .join(` ${operator} `);
const between = / <(?:-|\d+)> /gu;
const asWords = (query: string): string => query.replaceAll(between, ' & ');

export interface LanguageRow {
  readonly language: string;
  readonly boundary: string;
  /** What stands outside phrases, and that without what is excluded; empty where it is stop words alone. */
  readonly outside: string;
  readonly wanted_outside: string;
  readonly phrases: readonly string[];
  readonly excluded_phrases: readonly string[];
  readonly rows: number;
}

/** Null when a language has no word of the search: stop words alone, outside phrases. */
export const toLanguageQuery = (row: LanguageRow): LanguageQuery | null => {
  const wanted = [row.wanted_outside, ...row.phrases].filter((query) => query !== '');
  if (wanted.length === 0) return null;
  const excluded = row.excluded_phrases.filter((query) => query !== '').map((query) => `!(${query})`);
  const withoutExcluded = [row.outside, ...row.phrases];
  // Last, so that it is asked for where the rest is found.
  const ofLanguage = `'${row.boundary}'`;
  const full = join([...withoutExcluded, ...excluded, ofLanguage], '&');
  const any = join([row.wanted_outside.replaceAll(' & ', ' | '), ...row.phrases], '|');
  let told = 0;
  return {
    language: row.language,
    full,
    // Without a compound, and without both its words, is not the same.
    words: asWords(join([...(row.outside.includes('!(') ? wanted : withoutExcluded), ofLanguage], '&')),
    any,
    sequences: sequencesOf(full).map(patternOf),
    told: full.replaceAll(sequence, () => `'${said}${++told}'`),
    wantedSequences: sequencesOf(any).map(patternOf),
    placed: lexemesOf(sequencesOf(full)),
    proved: !/!|<\d/u.test(full.replaceAll(lexeme, '')),
    lexemes: lexemesOf(wanted),
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
  query.sequences,
  range.limit,
  query.placed,
  query.told,
  query.proved,
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

/**
 * Whether a row matches. Positions tell, unless those of a word that follows another ran out; then those that are there may
 * prove it, and the utterances tell of any other.
 */
const matches = (layout: Layout): string => {
  const saidBy = `SELECT FROM ${qualified(layout, 'utterances')} u
                   WHERE u.call_id = s.call_id AND coalesce(u.side, '') = s.side AND ${says(layout, '$3')}`;
  const told = `array_to_tsvector(ARRAY(SELECT '${said}' || number FROM unnest($7::text[]) WITH ORDINALITY w(sequence, number)
                                         WHERE EXISTS (${saidBy})))`;
  return `CASE WHEN NOT s.clipped OR NOT EXISTS (SELECT FROM unnest(s.document) w WHERE w.lexeme = ANY($9::text[]) AND ${ranOut('w.positions')})
       THEN s.document @@ $1::tsquery
       ELSE s.document @@ $2::tsquery
        AND ($11::boolean AND s.document @@ $1::tsquery OR (s.document || ${told}) @@ $10::tsquery)
       END`;
};

/** Rows to look at, $12 of the newest or all, and what has to be asked of each. */
const rowsAmong = (layout: Layout) => {
  const table = qualified(layout, 'transcript_search');
  return {
    newest: { rows: `(SELECT * FROM ${table} WHERE ${inRange} ${newestFirst} LIMIT $12) s`, where: matches(layout) },
    walked: { rows: `${table} s`, where: `${inRange} AND ${matches(layout)}` },
    // OFFSET keeps other conditions away from the planner, who would look up all rows of a language or side for a few words.
    named: {
      rows: `(SELECT * FROM ${table} WHERE ${hasWords} OFFSET 0) s`,
      where: `${inRange} AND ($1::tsquery = $2::tsquery OR ${matches(layout)})`,
    },
  } as const;
};
export type Among = keyof ReturnType<typeof rowsAmong>;

/** Ways of finding, as settings of the transaction: the words' index and a sort, or a walk from the newest row on. */
export const byIndex = 'SET LOCAL enable_indexscan = off; SET LOCAL enable_bitmapscan = on';
export const byTime = 'SET LOCAL enable_indexscan = on; SET LOCAL enable_bitmapscan = off';
/** These queries are over sooner than they could be compiled. */
export const prepareToFind = `SET LOCAL jit = off; SET LOCAL enable_seqscan = off; ${byTime}`;

/** How many of the $12 newest rows there are, and, where $13 asks for it, have the words. Other parameters as those of `findSql`. */
export const sampleSql = (layout: Layout): string =>
  `SELECT count(*) AS rows, count(*) FILTER (WHERE $13::boolean AND ${hasWords}) AS with_words FROM ${rowsAmong(layout).newest.rows}
 WHERE $1::tsquery IS NOT NULL AND $7::text[] IS NOT NULL AND $8::int IS NOT NULL AND $9::text[] IS NOT NULL AND $10::tsquery IS NOT NULL AND $11::boolean IS NOT NULL`;

/** Calls and sides of one language, newest first: among the newest rows, all that are walked past, or those that the index names. */
export const findSql = (layout: Layout, among: Among): string => {
  const { rows, where } = rowsAmong(layout)[among];
  return `SELECT s.call_id, s.side, s.language, ${toMicros('s.call_timestamp')} AS micros
  FROM ${rows}
 WHERE ${where}
 ${newestFirst}
 LIMIT $8`;
};

/**
 * The utterances to show of found calls and sides, with marks: those that have a word or phrase. Positions of words and
 * boundaries tell; where they ran out, each utterance is read. Stop words are marked only where nothing else is. Run with
 * `byTime`. Parameters: ids, sides, language, `any`, lexemes, `wantedSequences`.
 */
export const hitsSql = (layout: Layout): string => {
  const document = qualified(layout, 'transcript_document');
  const fold = qualified(layout, 'transcript_fold');
  const marked = (
    configuration: string,
    lexeme: string,
  ) => `(SELECT ts_headline(${configuration}, h.said, q.query, 'HighlightAll=true, StartSel=${marks.start}, StopSel=${marks.end}')
     FROM (SELECT string_agg(${quotedLexeme('w.lexeme')}, ' | ')::tsquery AS query
             FROM unnest(to_tsvector(${configuration}, h.said)) w WHERE ${lexeme} = ANY($5::text[])) q)`;
  return `SELECT s.call_id, h.utterance_index, h.side, h.content,
       coalesce(${marked(wordsThatCount(layout, '$3::text'), `${fold}(w.lexeme)`)}, ${marked(everyWord(layout), `'${stopMark}' || ${fold}(w.lexeme)`)}, h.said) AS marked
  FROM unnest($1::text[], $2::text[]) AS s(call_id, side)
 CROSS JOIN LATERAL (
   WITH told AS MATERIALIZED (
     SELECT w.lexeme, w.positions
       FROM ${qualified(layout, 'transcript_search')} d CROSS JOIN LATERAL unnest(d.document) w
      WHERE d.call_id = s.call_id AND d.side = s.side AND (w.lexeme = ANY($5::text[]) OR w.lexeme = ${boundary('$3::text')})
   ),
   found AS (
     SELECT place
       FROM (SELECT told.lexeme, p, width_bucket(p, (SELECT positions FROM told WHERE lexeme = ${boundary('$3::text')})) AS place
               FROM told CROSS JOIN LATERAL unnest(told.positions) p WHERE told.lexeme = ANY($5::text[])) spoken
      GROUP BY place HAVING string_agg(${quotedLexeme('lexeme')} || ':' || p, ' ')::tsvector @@ $4::tsquery
   ),
   numbered AS (
     SELECT u.utterance_index, u.side, u.content, row_number() OVER (ORDER BY u.utterance_index) AS place
       FROM ${qualified(layout, 'utterances')} u
      WHERE u.call_id = s.call_id AND coalesce(u.side, '') = s.side AND u.content <> ''
   )
   SELECT u.utterance_index, u.side, u.content, ${separatedSql('u.content')} AS said
     FROM numbered u
    WHERE CASE WHEN NOT EXISTS (SELECT FROM told WHERE ${ranOut('told.positions')}) THEN u.place IN (SELECT place FROM found)
               ELSE (${document}($3::text, u.content)).document @@ $4::tsquery
                    OR EXISTS (SELECT FROM unnest($6::text[]) AS sequence WHERE ${says(layout, '$3')}) END
    ORDER BY u.utterance_index LIMIT ${hitsPerCall}) h`;
};
