/**
 * The search index of a Postgres warehouse: a side table with a row per call and side. Triggers on utterances replace the rows of
 * the calls that change, in the same transaction, without their documents; those are made after it, so that no load waits for them.
 *
 * A row without document is at once the note that it waits and the lock between loads and the filling: whatever changes a
 * call deletes its rows and writes new ones. The filling takes rows that nobody has, in one statement. If a load comes for
 * one of them, it waits for that statement and then deletes the row, with its document.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import { CallsyncError, terminal } from '../../lib/errors.ts';
import { runQuery } from '../../postgres/database.ts';
import { type SearchIndexStatus, separatedSql } from '../search.ts';
import type { Statement } from '../warehouse.ts';
import { type Layout, qualified, quote } from './layout.ts';
import { changeSchema } from './migrate.ts';

export interface SearchOptions {
  readonly pool: pg.Pool;
  readonly purpose: string;
  readonly layout: Layout;
}

/** Raised when what is stored changes its meaning; an index of another number is made again. */
const definition = 'Search index of callsync, definition 8.';

/** Text search configurations that PostgreSQL ships, by language code; any other language is not stemmed. */
const shipped: Readonly<Record<string, string>> = {
  en: 'english',
  da: 'danish',
  de: 'german',
  es: 'spanish',
  fi: 'finnish',
  fr: 'french',
  hu: 'hungarian',
  it: 'italian',
  nl: 'dutch',
  no: 'norwegian',
  nb: 'norwegian',
  nn: 'norwegian',
  pt: 'portuguese',
  ro: 'romanian',
  ru: 'russian',
  sv: 'swedish',
  tr: 'turkish',
};
const unstemmed = 'simple';
const languages = [unstemmed, ...new Set(Object.values(shipped))];
const languageArray = `'{${languages.join(',')}}'::text[]`;

/** The name of a language in the index, such as `french`, for a column with a language code. */
const languageSql = (column: string): string =>
  `CASE lower(left(${column}, 2)) ${Object.entries(shipped)
    .map(([code, name]) => `WHEN '${code}' THEN '${name}'`)
    .join(' ')} ELSE '${unstemmed}' END`;

/**
 * A word of no language before every utterance of a document: its positions tell where each utterance begins, no phrase
 * passes it, and as each language has its own, one query asks for the words of every language. `language` is SQL.
 */
export const boundary = (language: string): string =>
  `('908172635453' || 10 + array_position(${languageArray}, ${language}))`;

/** Loads insert and delete. Who changes utterances by hand otherwise makes the index anew. */
const triggers = { insert: 'NEW', delete: 'OLD' } as const;

const names = (layout: Layout) => ({
  table: qualified(layout, 'transcript_search'),
  calls: qualified(layout, 'calls'),
  utterances: qualified(layout, 'utterances'),
  fold: qualified(layout, 'transcript_fold'),
  document: qualified(layout, 'transcript_document'),
  refresh: qualified(layout, 'transcript_search_refresh'),
  fill: qualified(layout, 'transcript_search_fill'),
  /** Stems, without stop words; and with them. */
  counted: `${quote(layout.schema)}.transcript_words_`,
  every: `${quote(layout.schema)}.transcript_every_`,
});

/**
 * Two configurations a language, which differ in stop words. Some languages have words of Latin letters in another stemmer
 * (Russian): each stemmer gets a twin without stop words.
 */
const languagesSql = (layout: Layout): string => {
  const { counted, every } = names(layout);
  const schema = quote(layout.schema);
  return `DO $callsync$
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
};

/**
 * Words that count have weight A, stop words D. Each is there as it is said and without accents, at one position: stemmers
 * need the accents (annulée, annuler). A word whose form without accents is a stop word (dû) has no such form. Where a text
 * has both weights for a lexeme at a position, reading the vector keeps the higher one.
 * A tsvector holds one megabyte of words: of a longer text, half is read, or half of that.
 */
const documentSql = (
  layout: Layout,
): string => `CREATE FUNCTION ${names(layout).document}(language text, content text) RETURNS tsvector
LANGUAGE plpgsql STABLE AS $$
DECLARE
  counted regconfig := '${names(layout).counted}' || language;
  said text := ${separatedSql('content')};
  plain text := ${names(layout).fold}(said);
  words tsvector;
  spoken tsvector;
BEGIN
  words := to_tsvector(counted, said);
  spoken := to_tsvector(('${names(layout).every}' || language)::regconfig, said);
  RETURN concat_ws(' ', setweight(words, 'A'), spoken, ${names(layout).fold}(ts_delete(spoken, tsvector_to_array(words))::text),
                   CASE WHEN plain <> said THEN setweight(to_tsvector(counted, plain), 'A') END)::tsvector;
EXCEPTION WHEN program_limit_exceeded THEN
  RETURN ${names(layout).document}(language, left(content, length(content) / 2));
END
$$`;

/** Rows without documents. `ids` is an array of call ids. */
const addRowsSql = (layout: Layout, ids: string): string => {
  const { table, calls, utterances } = names(layout);
  return `INSERT INTO ${table} (call_id, side, call_timestamp, language)
    SELECT c.call_id, u.side, c.call_timestamp, ${languageSql('c.lang')}
      FROM (SELECT DISTINCT call_id, coalesce(side, '') AS side FROM ${utterances} WHERE call_id = ANY(${ids}) AND content <> '') u
      JOIN ${calls} c ON c.call_id = u.call_id`;
};

/** One function for both triggers. A load has its calls locked; who changes utterances by hand waits for it here. */
const refreshSql = (layout: Layout): string => {
  const { refresh, table, calls } = names(layout);
  return `CREATE FUNCTION ${refresh}() RETURNS trigger
LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE ids text[] := ARRAY(SELECT DISTINCT call_id FROM changed);
BEGIN
  IF ids = '{}' THEN RETURN NULL; END IF;
  PERFORM FROM ${calls} WHERE call_id = ANY(ids) ORDER BY call_id COLLATE "C" FOR NO KEY UPDATE;
  DELETE FROM ${table} WHERE call_id = ANY(ids);
  ${addRowsSql(layout, 'ids')};
  RETURN NULL;
END
$$`;
};

const triggerSql = (layout: Layout, event: keyof typeof triggers): string =>
  `CREATE TRIGGER transcript_search_${event} AFTER ${event.toUpperCase()} ON ${names(layout).utterances}
REFERENCING ${triggers[event]} TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ${names(layout).refresh}()`;

/**
 * Makes documents of waiting rows from an id on, passing over those that somebody has locked; returns the last id, and null
 * when none was left. Plans of a table that was just filled would read all of it.
 */
const fillFunctionSql = (layout: Layout): string => {
  const { fill, table, utterances, document } = names(layout);
  return `CREATE FUNCTION ${fill}(after text, most int) RETURNS text
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
};

/**
 * What creates the table and its triggers, in one transaction. Creating a trigger waits for the loads that have written
 * utterances, and every later one runs it: what has no rows then is committed, and can be seen by `addMissingSql`.
 * @param unaccentSchema schema of the extension unaccent
 */
const createSearchSql = (layout: Layout, unaccentSchema: string): readonly string[] => {
  const { table, fold } = names(layout);
  const unaccent = quote(unaccentSchema);
  return [
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
    `CREATE FUNCTION ${fold}(word text) RETURNS text LANGUAGE sql STABLE AS $$SELECT ${unaccent}.unaccent('${unaccent}.unaccent'::regdictionary, word)$$`,
    languagesSql(layout),
    documentSql(layout),
    refreshSql(layout),
    fillFunctionSql(layout),
    ...(Object.keys(triggers) as (keyof typeof triggers)[]).map((event) => triggerSql(layout, event)),
  ];
};

const dropSearchSql = (layout: Layout): readonly string[] => {
  const { table, fold, document, refresh, fill, utterances, counted, every } = names(layout);
  return [
    ...['insert', 'update', 'delete', 'truncate'].map(
      (event) => `DROP TRIGGER IF EXISTS transcript_search_${event} ON ${utterances}`,
    ),
    `DROP FUNCTION IF EXISTS ${fill}(text, int), ${refresh}(), ${document}(text, text), ${fold}(text)`,
    // The second table is one of definitions up to 6, and two triggers of those up to 7.
    `DROP TABLE IF EXISTS ${table}, ${qualified(layout, 'transcript_search_pending')}`,
    ...languages.flatMap((language) => [
      `DROP TEXT SEARCH CONFIGURATION IF EXISTS ${counted}${language}`,
      `DROP TEXT SEARCH CONFIGURATION IF EXISTS ${every}${language}`,
    ]),
    ...languages.map(
      (language) => `DROP TEXT SEARCH DICTIONARY IF EXISTS ${quote(layout.schema)}.transcript_${language}_stem`,
    ),
  ];
};

/** One step of what is there already. Parameters: the last id of the step before, and how many calls. */
const nextCallsSql = (layout: Layout): string =>
  `SELECT call_id FROM ${names(layout).calls} WHERE call_id > $1 ORDER BY call_id LIMIT $2`;

/**
 * Rows of calls that have none. Holds up loads and erasures of these calls, so that none is erased between being read and being
 * written; in key order, as loads lock. Parameter: call ids.
 */
const addMissingSql = (layout: Layout): string => {
  const { calls, table } = names(layout);
  return `WITH held AS MATERIALIZED (
  SELECT call_id FROM ${calls} c WHERE call_id = ANY($1) AND NOT EXISTS (SELECT FROM ${table} s WHERE s.call_id = c.call_id)
   ORDER BY call_id COLLATE "C" FOR NO KEY UPDATE
) ${addRowsSql(layout, 'ARRAY(SELECT call_id FROM held)')}`;
};

/** Parameters: the last id of the step before, and at most how many rows. */
const fillSql = (layout: Layout): string => `SELECT ${names(layout).fill}($1, $2) AS last`;

/** Built beside running loads. Every search reads what was not sorted in yet: that is kept small. */
const createGinSql = (layout: Layout): string =>
  `CREATE INDEX CONCURRENTLY transcript_search_document ON ${names(layout).table} USING gin (document) WITH (gin_pending_list_limit = 512)`;

const dropGinSql = (layout: Layout): string =>
  `DROP INDEX CONCURRENTLY IF EXISTS ${qualified(layout, 'transcript_search_document')}`;

/** Whether table, triggers and index are there, and of this definition. */
const searchStateSql = (layout: Layout): string => {
  const { table, utterances } = names(layout);
  return `SELECT to_regclass('${table}') IS NOT NULL AS present,
       coalesce(obj_description(to_regclass('${table}'), 'pg_class') = '${definition}', false) AS current,
       (SELECT count(*) = ${Object.keys(triggers).length} FROM pg_trigger
         WHERE tgrelid = to_regclass('${utterances}') AND tgname LIKE 'transcript\\_search\\_%' AND tgenabled IN ('O', 'A')) AS kept,
       (SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass('${qualified(layout, 'transcript_search_document')}')) AS valid,
       pg_total_relation_size(to_regclass('${table}')) AS bytes`;
};

const countSearchSql = (layout: Layout): string =>
  `SELECT count(DISTINCT call_id) FILTER (WHERE document IS NOT NULL) AS calls FROM ${names(layout).table}`;

/** Calls that wait for a document. */
export const countWaitingSql = (layout: Layout): string =>
  `SELECT count(DISTINCT call_id) AS pending FROM ${names(layout).table} WHERE document IS NULL`;

interface State {
  readonly present: boolean;
  readonly current: boolean;
  readonly kept: boolean;
  readonly valid: boolean | null;
  readonly bytes: number | null;
}

const readState = async ({ pool, purpose, layout }: SearchOptions): Promise<State> => {
  const [state] = await runQuery<State>(pool, purpose, searchStateSql(layout));
  return state ?? { present: false, current: false, kept: false, valid: null, bytes: null };
};

const isReady = ({ present, current, kept, valid }: State): boolean => present && current && kept && valid === true;

/** @throws CallsyncError SEARCH_INDEX_MISSING */
export const requireIndex = async (options: SearchOptions): Promise<void> => {
  if (isReady(await readState(options))) return;
  throw terminal('SEARCH_INDEX_MISSING', `The ${options.purpose} has no complete search index.`, {
    hint: 'Run callsync warehouse search-index create with the same --config; it also finishes one that was interrupted.',
  });
};

export const readStatus = async (options: SearchOptions): Promise<SearchIndexStatus> => {
  const state = await readState(options);
  if (!state.present) return { state: 'absent', calls: null, pending: null, bytes: null };
  const { pool, purpose, layout } = options;
  const [row] = await runQuery<{ calls: number }>(pool, purpose, countSearchSql(layout));
  const [waiting] = await runQuery<{ pending: number }>(pool, purpose, countWaitingSql(layout));
  return {
    state: isReady(state) ? 'ready' : 'building',
    calls: row?.calls ?? 0,
    pending: state.current ? (waiting?.pending ?? 0) : null,
    bytes: state.bytes,
  };
};

const callsPerPage = 500;
/** A load that comes for one of them waits for all: about 0.2 s. */
const rowsPerStep = 100;
const lockDeadlineMs = 60_000;

export const createIndex = async (
  options: SearchOptions,
  onProgress: (indexedCalls: number) => void = () => undefined,
): Promise<void> => {
  const { pool, purpose, layout } = options;
  const state = await readState(options);
  if (isReady(state)) return;
  // Rows of another definition, or that no trigger kept for a while, cannot be trusted.
  const isTrusted = state.present && state.current && state.kept;
  if (!isTrusted) {
    const unaccentSchema = await ensureUnaccent(options);
    await runWhenUnlocked(options, [...dropSearchSql(layout), ...createSearchSql(layout, unaccentSchema)]);
  } else if (state.valid === false) await runQuery(pool, purpose, dropGinSql(layout));
  let indexed = 0;
  for (let after = ''; ; ) {
    const next = await runQuery<{ call_id: string }>(pool, purpose, nextCallsSql(layout), [after, callsPerPage]);
    const last = next.at(-1);
    if (last === undefined) break;
    await runWhenUnlocked(options, [addMissingSql(layout)], [next.map((row) => row.call_id)]);
    await fillRows(options, { after });
    after = last.call_id;
    indexed += next.length;
    onProgress(indexed);
  }
  await runQuery(pool, purpose, createGinSql(layout));
  // Every row has been written twice; searches count those that wait.
  await runQuery(pool, purpose, `VACUUM (ANALYZE) ${names(layout).table}`);
};

export const dropIndex = (options: SearchOptions): Promise<void> =>
  runWhenUnlocked(options, dropSearchSql(options.layout));

/** The schema of the extension, which is created where it is missing. */
const ensureUnaccent = async ({ pool, purpose, layout }: SearchOptions): Promise<string> => {
  const sql = `SELECT n.nspname AS schema FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'unaccent'`;
  const [found] = await runQuery<{ schema: string }>(pool, purpose, sql);
  if (found !== undefined) return found.schema;
  try {
    await runQuery(pool, purpose, `CREATE EXTENSION unaccent SCHEMA "${layout.schema}"`);
    return layout.schema;
  } catch (cause) {
    if (cause instanceof CallsyncError && cause.kind === 'transient') throw cause;
    throw terminal('SEARCH_UNACCENT', `The extension unaccent cannot be created in the database of the ${purpose}.`, {
      hint: 'Install the contrib modules of PostgreSQL, and let an administrator run CREATE EXTENSION unaccent there.',
      cause,
    });
  }
};

/** In one transaction, tried again while others hold what it needs: loads must not queue behind. */
const runWhenUnlocked = (
  options: SearchOptions,
  statements: readonly string[],
  parameters: readonly unknown[] = [],
): Promise<void> =>
  changeSchema(
    options,
    { what: 'the search index', forMs: lockDeadlineMs, hint: ' and run the command again.' },
    async (client) => {
      for (const sql of statements) await client.query(sql, [...parameters]);
    },
  );

/** Makes the documents of rows that wait, one step after the other, but for what somebody has. */
const fillRows = async (
  { pool, purpose, layout }: SearchOptions,
  { after = '', stop }: { readonly after?: string; readonly stop?: AbortSignal } = {},
): Promise<void> => {
  for (let last: string | null = after; last !== null && stop?.aborted !== true; ) {
    const rows: readonly { last: string | null }[] = await runQuery(pool, purpose, fillSql(layout), [
      last,
      rowsPerStep,
    ]);
    last = rows[0]?.last ?? null;
  }
};

/** How long a search waits for rows that others have, and how long it may fill rows itself. */
const waitMs = 1_000;
const waitPauseMs = 50;
const workMs = 10_000;

/**
 * Fills what waits before a search. Who may not write searches what is filled; so does everybody when filling fails: the result
 * tells what is pending.
 */
export const fillBriefly = async (options: SearchOptions): Promise<void> => {
  const { pool, purpose, layout } = options;
  const stop = AbortSignal.timeout(workMs);
  for (let waited = 0; waited < waitMs && !stop.aborted; waited += waitPauseMs) {
    const [row] = await runQuery<{ pending: number }>(pool, purpose, countWaitingSql(layout));
    if (row?.pending === 0) return;
    if (waited > 0) await delay(waitPauseMs);
    try {
      await fillRows(options, { stop });
    } catch (cause) {
      if (cause instanceof CallsyncError) return;
      throw cause;
    }
  }
};

interface SearchFiller {
  /** Fills what waits, if there is an index. A failure is told once; the next load or search tries again. */
  wake(): void;
  /** Waits for the step that is under way. */
  stop(): Promise<void>;
}

/** Whether there is an index, as loads ask after each commit. */
const isFillableSql = (layout: Layout): string =>
  `SELECT to_regprocedure('${names(layout).fill}(text, int)') IS NOT NULL AS there`;

/** Makes documents in the background, after loads: they do not wait for it, and do not fail with it. */
export const createSearchFiller = (options: SearchOptions, warn?: (error: unknown) => void): SearchFiller => {
  const { pool, purpose, layout } = options;
  const stopping = new AbortController();
  let wanted = false;
  let running: Promise<void> | undefined;
  let hasFailed = false;

  const isThere = async (): Promise<boolean> =>
    (await runQuery<{ there: boolean }>(pool, purpose, isFillableSql(layout)))[0]?.there === true;
  const fill = async (): Promise<void> => {
    try {
      if (await isThere()) await fillRows(options, { stop: stopping.signal });
      hasFailed = false;
    } catch (error) {
      // Nothing waits where the index was dropped meanwhile.
      const isGone = await isThere().then(
        (there) => !there,
        () => false,
      );
      if (!isGone && !hasFailed && !stopping.signal.aborted) warn?.(error);
      hasFailed = !isGone;
    }
  };
  const run = async (): Promise<void> => {
    while (wanted && !stopping.signal.aborted) {
      wanted = false;
      await fill();
    }
    running = undefined;
  };

  return {
    wake() {
      wanted = true;
      if (!stopping.signal.aborted) running ??= run();
    },
    async stop() {
      stopping.abort();
      await running;
    },
  };
};

export const indexStatements = (layout: Layout): readonly Statement[] => [
  ...createSearchSql(layout, layout.schema).map((sql) => ({ name: 'search index: create', sql })),
  { name: 'search index: next calls', sql: nextCallsSql(layout) },
  { name: 'search index: rows of calls that have none', sql: addMissingSql(layout) },
  { name: 'search index: whether there is one', sql: isFillableSql(layout) },
  { name: 'search index: make documents', sql: fillSql(layout) },
  { name: 'search index: create, last', sql: createGinSql(layout) },
  { name: 'search index: drop what was not finished', sql: dropGinSql(layout) },
  ...dropSearchSql(layout).map((sql) => ({ name: 'search index: drop', sql })),
  { name: 'search index: state', sql: searchStateSql(layout) },
  { name: 'search index: calls', sql: countSearchSql(layout) },
  { name: 'search index: pending calls', sql: countWaitingSql(layout) },
];
