/**
 * The search index of a Postgres warehouse: a side table with a row per call and side. Triggers on utterances take the rows of
 * what changes out of it, in the same transaction, and note the calls as pending; their new rows are made after that
 * (`search-catch-up.ts`). The triggers belong to the database, so that no load passes them by, whatever version of callsync
 * runs it, from the moment at which the index is created to the moment at which it is dropped.
 */
import { separatedSql } from '../search.ts';
import { type Layout, qualified, quote } from './layout.ts';
import {
  boundary,
  createLanguagesSql,
  dropLanguagesSql,
  everyWord,
  languageSql,
  latinStemmer,
  stemmer,
  stopMark,
} from './search-language.ts';

/** Raised when what is stored changes its meaning; an index of another number is made again. */
const definition = 'Search index of callsync, definition 6.';

const triggers = ['insert', 'update', 'delete', 'truncate'] as const;

const names = (layout: Layout) => ({
  table: qualified(layout, 'transcript_search'),
  pending: qualified(layout, 'transcript_search_pending'),
  calls: qualified(layout, 'calls'),
  utterances: qualified(layout, 'utterances'),
  fold: qualified(layout, 'transcript_fold'),
  document: qualified(layout, 'transcript_document'),
  refresh: qualified(layout, 'transcript_search_refresh'),
});

/** Makes the rows of calls that have none, from what is there now. Parameter: call ids. */
export const addRowsSql = (layout: Layout): string => {
  const { table, calls, utterances, document } = names(layout);
  return `INSERT INTO ${table} (call_id, side, call_timestamp, language, document, clipped)
SELECT t.call_id, t.side, t.call_timestamp, t.language, d.document, d.clipped
  FROM (SELECT c.call_id, coalesce(u.side, '') AS side, c.call_timestamp, c.language,
               string_agg(c.boundary || u.content, ' ' ORDER BY u.utterance_index) AS content
          FROM (SELECT call_id, call_timestamp, language, ${boundary('language')} || ' ' AS boundary
                  FROM (SELECT call_id, call_timestamp, ${languageSql('lang')} AS language FROM ${calls} WHERE call_id = ANY($1::text[])) spoken) c
          JOIN ${utterances} u ON u.call_id = c.call_id
         WHERE u.content <> ''
         GROUP BY c.call_id, coalesce(u.side, ''), c.call_timestamp, c.language) t
 CROSS JOIN LATERAL ${document}(t.language, t.content) d`;
};

/** Letters of Latin, Greek and Cyrillic whose form without accents is not empty, no longer, and needs no quoting. */
const plainLetters = String.raw`\u0020-\u007E\u00C0-\u0148\u014A-\u024F\u0370-\u052F`;

/**
 * Words are stemmed before their accents go, because stemmers need them (annulée, annuler); a query goes the same way. A stop
 * word is marked; one with accents is there a second time as it is read where it is typed without them (même, meme).
 * Accents go from all words at once where their letters allow it, else word by word, which takes half as long again. A load
 * spends most of the index's time here: a word that changes is replaced in the text of its entry ('word':1,2), which no
 * other letters are in, since taking positions apart and writing them again costs more than stemming.
 * tsvector keeps 255 positions a word, and has 16,383 for all that come later: `clipped` says that a word lacks positions,
 * and `ranOut` which. A word before the last position joins it, as its neighbour is not known.
 */
const documentFunction = (
  layout: Layout,
): string => `CREATE OR REPLACE FUNCTION ${names(layout).document}(language text, content text, OUT document tsvector, OUT clipped boolean)
LANGUAGE plpgsql STABLE AS $$
DECLARE
  any_letters regdictionary := ${stemmer('language')};
  latin_letters regdictionary := ${latinStemmer('language')};
  said tsvector := to_tsvector(${everyWord(layout)}, ${separatedSql('content')});
  written text;
  short boolean := length(content) < 16383;
BEGIN
  SELECT coalesce(string_agg(
           CASE WHEN w.stem = w.lexeme THEN w.entry
                WHEN w.stem IS NULL THEN replace(w.entry, w.lexeme, '${stopMark}' || w.lexeme)
                     || CASE WHEN octet_length(w.lexeme) > length(w.lexeme)
                             THEN coalesce(' ' || replace(w.entry, w.lexeme, (ts_lexize(any_letters, nullif(${names(layout).fold}(w.lexeme), w.lexeme)))[1]), '')
                             ELSE '' END
                WHEN w.lexeme ~ '[0-9./:@_-]' THEN w.entry
                ELSE replace(w.entry, w.lexeme, w.stem) END, ' '), '')
    INTO written
    FROM (SELECT lexeme, entry,
                 (ts_lexize(CASE WHEN any_letters <> latin_letters AND lexeme ~ '^[a-z]+$' THEN latin_letters ELSE any_letters END, lexeme))[1] AS stem
            FROM (SELECT unnest(tsvector_to_array(said)) AS lexeme, unnest(string_to_array(said::text, ' ')) AS entry) e
          OFFSET 0) w;
  IF short AND written !~ '[^${plainLetters}]' THEN
    document := ${names(layout).fold}(written)::tsvector;
  ELSE
    SELECT coalesce(string_agg(${quotedLexeme('f.word')} || ':' || array_to_string(array_replace(w.positions, 16382::smallint, 16383::smallint), ','), ' '), '')::tsvector
      INTO document
      FROM unnest(written::tsvector) AS w
     CROSS JOIN LATERAL (SELECT left(${names(layout).fold}(w.lexeme), 500) AS word) f
     WHERE f.word <> '';
  END IF;
  -- A word of 255 positions has 254 more than one.
  clipped := (NOT short OR octet_length(written) - octet_length(replace(replace(written, ',', ''), ':', '')) - length(document) >= 254)
             AND coalesce((SELECT bool_or(${ranOut('w.positions')}) FROM unnest(document) w), false);
END
$$`;

/** Whether a word of a document has been said where its positions do not tell. */
export const ranOut = (positions: string): string => `(cardinality(${positions}) >= 255 OR 16383 = ANY(${positions}))`;

/** A lexeme as tsvector and tsquery write it. */
export const quotedLexeme = (lexeme: string): string =>
  `'''' || replace(replace(${lexeme}, '\\', '\\\\'), '''', '''''') || ''''`;

/**
 * One function for every trigger. Loads wait for it: it makes no documents. Rows of pending calls are taken in the order of ids,
 * and before the rows of the index are looked for, by a statement that sees what was committed while it waited. A call that has
 * nothing left to index leaves no id behind; where a snapshot is older than the statement, what is left is not known.
 */
const refreshFunction = (layout: Layout): string => {
  const { refresh, table, pending, utterances } = names(layout);
  return `CREATE OR REPLACE FUNCTION ${refresh}() RETURNS trigger
LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE ids text[];
BEGIN
  IF TG_OP = 'TRUNCATE' THEN
    TRUNCATE ${table}, ${pending};
    RETURN NULL;
  END IF;
  IF TG_OP = 'UPDATE' THEN
    ids := ARRAY(SELECT call_id FROM changed UNION SELECT call_id FROM replaced ORDER BY call_id);
  ELSE
    ids := ARRAY(SELECT DISTINCT call_id FROM changed ORDER BY call_id);
  END IF;
  IF ids = '{}' THEN RETURN NULL; END IF;
  ${noteSql(layout, 'SELECT unnest(ids)')};
  ${removeRowsSql(layout, 'ids')};
  IF TG_OP <> 'INSERT' AND current_setting('transaction_isolation') = 'read committed' THEN
    DELETE FROM ${pending} p WHERE call_id = ANY(ids) AND NOT EXISTS (SELECT FROM ${utterances} u WHERE u.call_id = p.call_id);
  END IF;
  RETURN NULL;
END
$$`;
};

/** Takes the rows of pending calls, those that are there too, and waits for whoever has them. `ids` is a query, in order. */
const noteSql = (layout: Layout, ids: string): string =>
  `INSERT INTO ${names(layout).pending} (call_id) ${ids} ON CONFLICT (call_id) DO UPDATE SET call_id = excluded.call_id`;

/** `ids` is an array of call ids. */
export const removeRowsSql = (layout: Layout, ids: string): string =>
  `DELETE FROM ${names(layout).table} WHERE call_id = ANY(${ids})`;

/** Loads never update; an update by hand may give utterances to another call. */
const createTrigger = (layout: Layout, event: (typeof triggers)[number]): string => {
  const transition = {
    insert: 'NEW TABLE AS changed',
    update: 'OLD TABLE AS replaced NEW TABLE AS changed',
    delete: 'OLD TABLE AS changed',
    truncate: undefined,
  }[event];
  return `CREATE OR REPLACE TRIGGER transcript_search_${event} AFTER ${event.toUpperCase()} ON ${names(layout).utterances}
${transition === undefined ? '' : `REFERENCING ${transition} `}FOR EACH STATEMENT EXECUTE FUNCTION ${names(layout).refresh}()`;
};

/**
 * What creates the tables and their triggers, in one transaction. Creating a trigger waits for the loads that have written
 * utterances, and every later one runs it: what is not indexed then is committed, and can be seen by the fill.
 * @param unaccentSchema schema of the extension unaccent
 */
export const createSearchSql = (layout: Layout, unaccentSchema: string): readonly string[] => {
  const { table, pending, fold } = names(layout);
  const unaccent = quote(unaccentSchema);
  return [
    `CREATE TABLE IF NOT EXISTS ${table} (
  call_id text NOT NULL,
  side text NOT NULL,
  call_timestamp timestamptz,
  language text NOT NULL,
  clipped boolean NOT NULL,
  document tsvector NOT NULL,
  PRIMARY KEY (call_id, side)
) WITH (toast_tuple_target = 8160)`,
    `CREATE TABLE IF NOT EXISTS ${pending} (call_id text PRIMARY KEY)`,
    `COMMENT ON TABLE ${table} IS '${definition}'`,
    `COMMENT ON TABLE ${pending} IS 'Calls that are not indexed for search yet; empty most of the time.'`,
    `CREATE INDEX IF NOT EXISTS transcript_search_time ON ${table} (language, call_timestamp DESC NULLS LAST, call_id)`,
    `CREATE OR REPLACE FUNCTION ${fold}(word text) RETURNS text LANGUAGE sql STABLE AS $$SELECT ${unaccent}.unaccent('${unaccent}.unaccent'::regdictionary, word)$$`,
    createLanguagesSql(layout),
    documentFunction(layout),
    refreshFunction(layout),
    ...triggers.map((event) => createTrigger(layout, event)),
  ];
};

export const dropSearchSql = (layout: Layout): readonly string[] => {
  const { table, pending, fold, document, refresh, utterances } = names(layout);
  return [
    ...triggers.map((event) => `DROP TRIGGER IF EXISTS transcript_search_${event} ON ${utterances}`),
    `DROP FUNCTION IF EXISTS ${refresh}()`,
    `DROP FUNCTION IF EXISTS ${document}(text, text)`,
    `DROP FUNCTION IF EXISTS ${fold}(text)`,
    `DROP TABLE IF EXISTS ${table}, ${pending}`,
    ...dropLanguagesSql(layout),
  ];
};

/** One step of the fill. Parameters: the last id of the step before, and how many calls. */
export const nextCallsSql = (layout: Layout): string =>
  `SELECT call_id FROM ${names(layout).calls} WHERE call_id > $1 ORDER BY call_id LIMIT $2`;

/**
 * Holds up loads and erasures of these calls, so that none is erased between being read and being noted. In key order, as loads
 * lock. Parameter: call ids.
 */
export const lockCallsSql = (layout: Layout): string =>
  `SELECT call_id FROM ${names(layout).calls} c WHERE call_id = ANY($1)
   AND NOT EXISTS (SELECT FROM ${names(layout).table} s WHERE s.call_id = c.call_id)
 ORDER BY call_id COLLATE "C" FOR SHARE OF c`;

/** Notes what has anything to index. Parameter: call ids. */
export const notePendingSql = (layout: Layout): string =>
  noteSql(
    layout,
    `SELECT id FROM unnest($1::text[]) AS id
 WHERE EXISTS (SELECT FROM ${names(layout).utterances} u WHERE u.call_id = id AND u.content <> '') ORDER BY id`,
  );

/** Built beside running loads; that it is there and valid says that the index is complete. */
export const createGinSql = (layout: Layout): string =>
  `CREATE INDEX CONCURRENTLY transcript_search_document ON ${names(layout).table} USING gin (document)`;

export const dropGinSql = (layout: Layout): string =>
  `DROP INDEX CONCURRENTLY IF EXISTS ${qualified(layout, 'transcript_search_document')}`;

const isCurrent = (layout: Layout): string => {
  const { table, pending } = names(layout);
  return `(coalesce(obj_description(to_regclass('${table}'), 'pg_class') = '${definition}', false) AND to_regclass('${pending}') IS NOT NULL)`;
};

/** Whether there is something to catch up with; asked after every load. */
export const currentSql = (layout: Layout): string => `SELECT ${isCurrent(layout)} AS current`;

/** Whether tables, triggers and index are there, and of this definition. */
export const searchStateSql = (layout: Layout): string => {
  const { table, utterances } = names(layout);
  const index = qualified(layout, 'transcript_search_document');
  return `SELECT to_regclass('${table}') IS NOT NULL AS present,
       ${isCurrent(layout)} AS current,
       (SELECT count(*) = ${triggers.length} FROM pg_trigger
         WHERE tgrelid = to_regclass('${utterances}') AND tgname LIKE 'transcript\\_search\\_%' AND tgenabled IN ('O', 'A')) AS kept,
       (SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass('${index}')) AS valid,
       pg_total_relation_size(to_regclass('${table}')) AS bytes`;
};

export const countSearchSql = (layout: Layout): string =>
  `SELECT count(DISTINCT call_id) AS calls FROM ${names(layout).table}`;

/** Parameter: at most so many. */
export const listPendingSql = (layout: Layout): string =>
  `SELECT call_id FROM ${names(layout).pending} ORDER BY call_id LIMIT $1`;

/** Those of some calls that are pending. Parameter: call ids. */
export const stillPendingSql = (layout: Layout): string =>
  `SELECT call_id FROM ${names(layout).pending} WHERE call_id = ANY($1)`;

export const countPendingSql = (layout: Layout): string => `SELECT count(*) AS pending FROM ${names(layout).pending}`;
