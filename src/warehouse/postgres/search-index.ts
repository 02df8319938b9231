/**
 * The search index of a PostgreSQL warehouse: a side table with a row per call and side. Triggers on utterances replace
 * the rows of changed calls in the same transaction, without their documents. Documents follow later, so that no load
 * waits for them.
 * A row without a document is both a note and a lock between loads and the filling. Each change of a call deletes its
 * rows and writes new ones. The filling takes free rows in one statement. A load of such a row waits for that
 * statement and then deletes the row.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { CallsyncError, terminal } from '../../lib/errors.ts';
import { type Queryable, runAll } from '../../postgres/database.ts';
import { type SearchIndexStatus, separatedSql } from '../search.ts';
import { type Layout, qualified, quote } from './layout.ts';
import { changeSchema, type Schema } from './migrate.ts';

/** Raise it if stored data changes its meaning; an index of another version is built again. */
const definition = 'Search index of callsync, definition 9.';

/** Languages for which PostgreSQL ships a text search configuration with their English name; any other is not stemmed. */
const stemmed = 'en da de es fi fr hu it nl no nb nn pt ro ru sv tr'.split(' ');
const englishNames = new Intl.DisplayNames('en', { type: 'language' });
/** `french` for `fr`; Norwegian has one configuration for its two written forms. */
const configurationOf = (code: string): string => englishNames.of(code)?.split(' ')[0]?.toLowerCase() ?? code;
const unstemmed = 'simple';
const languages = [unstemmed, ...new Set(stemmed.map(configurationOf))];
const languageArray = `'{${languages.join(',')}}'::text[]`;

/** The name of a language in the index, such as `french`, for a column with a language code. */
const languageSql = (column: string): string =>
  `CASE lower(left(${column}, 2)) ${stemmed
    .map((code) => `WHEN '${code}' THEN '${configurationOf(code)}'`)
    .join(' ')} ELSE '${unstemmed}' END`;

/**
 * A word of no language before every utterance of a document. The positions of this word mark the utterances, and no
 * phrase crosses it. Each language has its own word, so one query covers all languages. `language` is SQL.
 */
export const boundary = (language: string) => `('908172635453' || 10 + array_position(${languageArray}, ${language}))`;

/** Loads insert and delete. After updates by hand, create the index again. */
const triggers = { insert: 'NEW', delete: 'OLD' } as const;

const names = (layout: Layout) => ({
  schema: quote(layout.schema),
  table: qualified(layout, 'transcript_search'),
  calls: qualified(layout, 'calls'),
  utterances: qualified(layout, 'utterances'),
  document: qualified(layout, 'transcript_document'),
  write: qualified(layout, 'transcript_search_write'),
  refresh: qualified(layout, 'transcript_search_refresh'),
  fill: qualified(layout, 'transcript_search_fill'),
  /** Stems, without stop words; and with them. */
  counted: `${quote(layout.schema)}.transcript_words_`,
  every: `${quote(layout.schema)}.transcript_every_`,
  gin: qualified(layout, 'transcript_search_document'),
});
type Names = ReturnType<typeof names>;

/**
 * Two configurations a language, which differ in stop words. Some languages have words of Latin letters in another stemmer
 * (Russian): each stemmer gets a twin without stop words.
 */
const languagesSql = ({ schema, counted, every }: Names): string => `DO $callsync$
DECLARE language text;
BEGIN
  FOREACH language IN ARRAY ${languageArray} LOOP
    EXECUTE format('CREATE TEXT SEARCH CONFIGURATION ${counted}%1$s (COPY = pg_catalog.%1$s)', language);
    EXECUTE format('CREATE TEXT SEARCH CONFIGURATION ${every}%1$s (COPY = pg_catalog.%1$s)', language);
    CONTINUE WHEN language = '${unstemmed}';
    EXECUTE format('CREATE TEXT SEARCH DICTIONARY ${schema}.transcript_%1$s_stem (TEMPLATE = pg_catalog.snowball, Language = %1$s)', language);
    EXECUTE format('ALTER TEXT SEARCH CONFIGURATION ${every}%1$s ALTER MAPPING REPLACE pg_catalog.%1$s_stem WITH ${schema}.transcript_%1$s_stem', language);
  END LOOP;
  ALTER TEXT SEARCH CONFIGURATION ${every}russian ALTER MAPPING REPLACE pg_catalog.english_stem WITH ${schema}.transcript_english_stem;
END
$callsync$`;

/**
 * Words that count have weight A, stop words D. Each is there as it is said and without accents, at one position: stemmers
 * need the accents (annulée, annuler). A word whose form without accents is a stop word (dû) has no such form. Where a text
 * has both weights for a lexeme at a position, reading the vector keeps the higher one.
 * A tsvector holds one megabyte of words: of a longer text, half is read, or half of that.
 */
const documentSql = ({ document, counted, every }: Names, unaccentSchema: string): string => {
  const unaccent = `${quote(unaccentSchema)}.unaccent`;
  const fold = (text: string): string => `${unaccent}('${unaccent}'::regdictionary, ${text})`;
  return `CREATE FUNCTION ${document}(language text, content text) RETURNS tsvector
LANGUAGE plpgsql STABLE AS $$
DECLARE
  counted regconfig := '${counted}' || language;
  said text := ${separatedSql('content')};
  plain text := ${fold('said')};
  words tsvector;
  spoken tsvector;
BEGIN
  words := to_tsvector(counted, said);
  spoken := to_tsvector(('${every}' || language)::regconfig, said);
  RETURN concat_ws(' ', setweight(words, 'A'), spoken, ${fold('ts_delete(spoken, tsvector_to_array(words))::text')},
                   CASE WHEN plain <> said THEN setweight(to_tsvector(counted, plain), 'A') END)::tsvector;
EXCEPTION WHEN program_limit_exceeded THEN
  RETURN ${document}(language, left(content, length(content) / 2));
END
$$`;
};

/**
 * Writes the rows of some calls again, without documents. Waits in key order for loads and erasures of these calls,
 * as loads do.
 */
const writeSql = ({ write, table, calls, utterances }: Names): string =>
  `CREATE FUNCTION ${write}(ids text[]) RETURNS void
LANGUAGE plpgsql STRICT SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
  PERFORM FROM ${calls} WHERE call_id = ANY(ids) ORDER BY call_id COLLATE "C" FOR NO KEY UPDATE;
  DELETE FROM ${table} WHERE call_id = ANY(ids);
  INSERT INTO ${table} (call_id, side, call_timestamp, language)
    SELECT c.call_id, u.side, c.call_timestamp, ${languageSql('c.lang')}
      FROM (SELECT DISTINCT call_id, coalesce(side, '') AS side FROM ${utterances} WHERE call_id = ANY(ids) AND content <> '') u
      JOIN ${calls} c ON c.call_id = u.call_id;
END
$$`;

/** One function for both triggers. */
const refreshSql = ({ refresh, write }: Names): string =>
  `CREATE FUNCTION ${refresh}() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
  PERFORM ${write}((SELECT array_agg(DISTINCT call_id) FROM changed));
  RETURN NULL;
END
$$`;

/**
 * Makes documents of waiting rows from an id on, and skips locked ones. Returns the last id, or null after the last
 * one. A fresh table has bad plans, so these plans are forced.
 */
const fillFunctionSql = ({ fill, table, utterances, document }: Names): string =>
  `CREATE FUNCTION ${fill}(after text, most int) RETURNS text
LANGUAGE sql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off AS $$
  WITH taken AS MATERIALIZED (
    SELECT call_id, side FROM ${table} WHERE document IS NULL AND call_id >= after ORDER BY call_id, side LIMIT most FOR UPDATE SKIP LOCKED
  ), filled AS (
    UPDATE ${table} s
       SET document = ${document}(s.language, (SELECT string_agg(${boundary('s.language')} || ' ' || u.content, ' ' ORDER BY u.utterance_index)
                                                 FROM ${utterances} u
                                                WHERE u.call_id = s.call_id AND coalesce(u.side, '') = s.side AND u.content <> ''))
      FROM taken WHERE s.call_id = taken.call_id AND s.side = taken.side
    RETURNING s.call_id
  )
  SELECT max(call_id) FROM filled
$$`;

/** Every statement of the index. @param unaccentSchema schema of the extension unaccent */
export const indexSql = (layout: Layout, unaccentSchema = layout.schema) => {
  const own = names(layout);
  const { schema, table, calls, utterances, document, write, refresh, fill, counted, every, gin } = own;
  return {
    /**
     * The table and its triggers, in one transaction. Creating a trigger waits for running loads, and every later load fires it.
     * `writeMissing` therefore sees all utterances without rows.
     */
    create: [
      `CREATE TABLE ${table} (
  call_id text NOT NULL,
  side text NOT NULL,
  call_timestamp timestamptz,
  language text NOT NULL,
  document tsvector,
  PRIMARY KEY (call_id, side)
) WITH (toast_tuple_target = 8160)`,
      `COMMENT ON TABLE ${table} IS '${definition}'`,
      `CREATE INDEX transcript_search_time ON ${table} (call_timestamp DESC NULLS LAST, call_id)`,
      `CREATE INDEX transcript_search_language ON ${table} (language)`,
      `CREATE INDEX transcript_search_waiting ON ${table} (call_id, side) WHERE document IS NULL`,
      languagesSql(own),
      documentSql(own, unaccentSchema),
      writeSql(own),
      refreshSql(own),
      fillFunctionSql(own),
      ...Object.entries(triggers).map(
        ([event, rows]) => `CREATE TRIGGER transcript_search_${event} AFTER ${event.toUpperCase()} ON ${utterances}
REFERENCING ${rows} TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ${refresh}()`,
      ),
    ],
    /** One step over existing calls that have no rows. Parameters: the last id of the previous step, and the number of calls. */
    writeMissing: `SELECT max(call_id) AS last, count(*) AS calls, ${write}(array_agg(call_id))
  FROM (SELECT call_id FROM ${calls} c WHERE call_id > $1 AND NOT EXISTS (SELECT FROM ${table} s WHERE s.call_id = c.call_id)
         ORDER BY call_id LIMIT $2) missing`,
    /** Whether there is an index. */
    isFillable: `SELECT to_regprocedure('${fill}(text, int)') IS NOT NULL AS there`,
    /** Parameters: the last id of the step before, and at most how many rows. */
    fill: `SELECT ${fill}($1, $2) AS last`,
    /** Built while loads run. Every search reads the unsorted entries, so their number is kept small. */
    createGin: `CREATE INDEX CONCURRENTLY transcript_search_document ON ${table} USING gin (document) WITH (gin_pending_list_limit = 512)`,
    dropGin: `DROP INDEX CONCURRENTLY IF EXISTS ${gin}`,
    drop: [
      // With the triggers.
      `DROP FUNCTION IF EXISTS ${refresh}() CASCADE`,
      `DROP FUNCTION IF EXISTS ${fill}(text, int), ${write}(text[]), ${document}(text, text), ${schema}."transcript_fold"(text)`,
      `DROP TABLE IF EXISTS ${table}`,
      ...languages.flatMap((language) =>
        [counted, every].map((kind) => `DROP TEXT SEARCH CONFIGURATION IF EXISTS ${kind}${language}`),
      ),
      ...languages.map((language) => `DROP TEXT SEARCH DICTIONARY IF EXISTS ${schema}.transcript_${language}_stem`),
    ],
    /** `isKept`: it is of this definition, and the triggers have kept it from its first moment on. */
    state: `SELECT to_regclass('${table}') IS NOT NULL AS "isThere",
       coalesce(obj_description(to_regclass('${table}'), 'pg_class') = '${definition}', false)
         AND (SELECT count(*) = ${Object.keys(triggers).length} FROM pg_trigger
               WHERE tgrelid = to_regclass('${utterances}') AND tgname LIKE 'transcript\\_search\\_%' AND tgenabled IN ('O', 'A')) AS "isKept",
       (SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass('${gin}')) AS "isValid",
       pg_total_relation_size(to_regclass('${table}')) AS bytes`,
    calls: `SELECT count(DISTINCT call_id) FILTER (WHERE document IS NOT NULL) AS calls FROM ${table}`,
    /** Calls that wait for a document. */
    pending: `SELECT count(DISTINCT call_id) AS pending FROM ${table} WHERE document IS NULL`,
  };
};

/** Calls that wait for a document, as the caller sees them. */
export const countWaiting = (db: Queryable, layout: Layout): Promise<number> => db.value(indexSql(layout).pending);

type State = { readonly isThere: boolean; isKept: boolean; isValid: boolean | null; bytes: number | null };

const readState = ({ db, layout }: Schema) => db.row<State>(indexSql(layout).state);

const isReady = ({ isKept, isValid }: State): boolean => isKept && isValid === true;

/** @throws CallsyncError SEARCH_INDEX_MISSING */
export const requireIndex = async (schema: Schema): Promise<void> => {
  if (isReady(await readState(schema))) return;
  throw terminal('SEARCH_INDEX_MISSING', `The ${schema.db.purpose} has no complete search index.`);
};

export const readStatus = async (schema: Schema): Promise<SearchIndexStatus> => {
  const state = await readState(schema);
  if (!state.isThere) return { state: 'absent', calls: null, pending: null, bytes: null };
  const { db, layout } = schema;
  return {
    state: isReady(state) ? 'ready' : 'building',
    calls: await db.value<number>(indexSql(layout).calls),
    pending: state.isKept ? await countWaiting(db, layout) : null,
    bytes: state.bytes,
  };
};

const callsPerPage = 500;
/** A load that comes for one of them waits for all: about 0.2 s. */
const rowsPerStep = 100;

/** Repeated while others hold its locks, so that loads do not queue behind it. */
const whenUnlocked = { what: 'the search index', forMs: 60_000, hint: ' and run the command again.' };

export const createIndex = async (schema: Schema, onProgress: (indexedCalls: number) => void = () => undefined) => {
  const { db, layout } = schema;
  const sql = indexSql(layout);
  const state = await readState(schema);
  if (isReady(state)) return;
  // Rows are outdated if they have another definition, or if a trigger was disabled for a while.
  if (!state.isKept) {
    const unaccentSchema = await ensureUnaccent(schema);
    await changeSchema(schema, whenUnlocked, runAll([...sql.drop, ...indexSql(layout, unaccentSchema).create]));
  } else if (state.isValid === false) await db.query(sql.dropGin);
  let indexed = 0;
  for (let after: string | null = ''; after !== null; ) {
    const last: string = after;
    const [page] = await changeSchema(schema, whenUnlocked, (tx) =>
      tx.query<{ last: string | null; calls: number }>(sql.writeMissing, [last, callsPerPage]),
    );
    await fillRows(schema, last);
    after = page?.last ?? null;
    indexed += page?.calls ?? 0;
    onProgress(indexed);
  }
  await db.query(sql.createGin);
  // Every row has been written twice; searches count those that wait.
  await db.query(`VACUUM (ANALYZE) ${names(layout).table}`);
};

export const dropIndex = (schema: Schema) => changeSchema(schema, whenUnlocked, runAll(indexSql(schema.layout).drop));

/** The schema of the extension, which is created where it is missing. */
const ensureUnaccent = async ({ db, layout }: Schema): Promise<string> => {
  const found = await db.value<string | undefined>`
      SELECT nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = extnamespace WHERE extname = 'unaccent'`;
  if (found !== undefined) return found;
  try {
    await db.query(`CREATE EXTENSION unaccent SCHEMA ${quote(layout.schema)}`);
    return layout.schema;
  } catch (cause) {
    if (cause instanceof CallsyncError && cause.kind === 'transient') throw cause;
    throw terminal(
      'SEARCH_UNACCENT',
      `The extension unaccent cannot be created in the database of the ${db.purpose}.`,
      { cause },
    );
  }
};

/** Makes the documents of waiting rows from an id on, step by step, except rows that another session has locked. */
const fillRows = async ({ db, layout }: Schema, after = '', stop?: AbortSignal): Promise<void> => {
  const { fill } = indexSql(layout);
  for (let last: string | null | undefined = after; last != null && stop?.aborted !== true; )
    last = await db.value<string | null>(fill, [last, rowsPerStep]);
};

/** How long a search waits for rows that others have, and how long it may fill rows itself. */
const waitMs = 1_000;
const workMs = 10_000;

/**
 * Fills waiting rows before a search. Without the right to write, or after a failure, the search uses the existing
 * documents; the result has the number of pending calls.
 */
export const fillBriefly = async (schema: Schema): Promise<void> => {
  const stop = AbortSignal.timeout(workMs);
  try {
    for (const end = Date.now() + waitMs; (await countWaiting(schema.db, schema.layout)) > 0; await delay(50)) {
      await fillRows(schema, '', stop);
      if (Date.now() > end) return;
    }
  } catch (cause) {
    if (!(cause instanceof CallsyncError)) throw cause;
  }
};

/**
 * Makes documents in the background after loads, without delaying or failing them. `wake` indexes waiting rows, if
 * there is an index. The filler reports a failure once, and the next load or search tries again. `stop` waits for the
 * running step.
 */
export const createSearchFiller = (schema: Schema, warn?: (error: unknown) => void) => {
  const stopping = new AbortController();
  const { isFillable } = indexSql(schema.layout);
  let isWaiting = false;
  let hasFailed = false;
  let running = Promise.resolve();
  const fill = async (): Promise<void> => {
    isWaiting = false;
    try {
      if (stopping.signal.aborted) return;
      if (await schema.db.value<boolean>(isFillable)) await fillRows(schema, '', stopping.signal);
      hasFailed = false;
    } catch (error) {
      // If the index was dropped meanwhile, nothing waits.
      if (error instanceof CallsyncError && error.code === 'DATABASE_INCOMPLETE') return;
      if (!hasFailed && !stopping.signal.aborted) warn?.(error);
      hasFailed = true;
    }
  };
  return {
    wake(): void {
      if (isWaiting) return;
      isWaiting = true;
      running = running.then(fill);
    },
    stop(): Promise<void> {
      stopping.abort();
      return running;
    },
  };
};
