/** The search index of a Postgres warehouse, and searching by it. */
import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import { CallsyncError, terminal, transient } from '../../errors.ts';
import { inTransaction, runQuery } from '../../postgres/database.ts';
import { isLocked } from '../../postgres/errors.ts';
import { withSessionLock } from '../../postgres/session-lock.ts';
import {
  type FoundCalls,
  readAlternatives,
  readSearchText,
  type SearchIndexStatus,
  type SearchRequest,
  type SearchResult,
  type TranscriptSearch,
} from '../search.ts';
import { catchUp, type SearchOptions } from './search-catch-up.ts';
import {
  countPendingSql,
  countSearchSql,
  createGinSql,
  createSearchSql,
  dropGinSql,
  dropSearchSql,
  listPendingSql,
  lockCallsSql,
  nextCallsSql,
  notePendingSql,
  searchStateSql,
  stillPendingSql,
} from './search-ddl.ts';
import { findCalls, joinResults } from './search-find.ts';

export interface TranscriptSearchOptions extends SearchOptions {
  /** Whose connections searches index with: they give a server up that does not answer, before loads wait for long. */
  readonly indexing: pg.Pool;
}

/** What searching needs of the database, opened by the warehouse. */
export const createTranscriptSearch = (options: TranscriptSearchOptions): TranscriptSearch => ({
  create: ({ onProgress, onWait } = {}) =>
    withSessionLock(
      options,
      `callsync.search-index.${options.layout.schema}`,
      () => createIndex(options, onProgress),
      onWait,
    ),
  drop: () => whenUnlocked(options, runAll(dropSearchSql(options.layout))),
  status: () => asReader(options, readStatus(options)),
  find: (request) => asReader(options, find(options, request)),
});

const callsPerPage = 500;
const lockTimeout = '500ms';
const lockDeadlineMs = 60_000;
const lockPauseMs = 500;
/** How long a search waits for calls that somebody else indexes or changes, and how long it may index itself. */
const waitMs = 1_000;
const waitPauseMs = 50;
const workMs = 10_000;
/** Most pending calls that one search indexes. */
const mostPending = 10_000;

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

const readStatus = async (options: SearchOptions): Promise<SearchIndexStatus> => {
  const state = await readState(options);
  if (!state.present) return { state: 'absent', calls: null, pending: null, bytes: null };
  const { pool, purpose, layout } = options;
  const [row] = await runQuery<{ calls: number }>(pool, purpose, countSearchSql(layout));
  const pending = state.current ? await countPending(pool, options) : null;
  return { state: isReady(state) ? 'ready' : 'building', calls: row?.calls ?? 0, pending, bytes: state.bytes };
};

const countPending = async (db: pg.Pool | pg.PoolClient, { purpose, layout }: SearchOptions): Promise<number> => {
  const [row] = await runQuery<{ pending: number }>(db, purpose, countPendingSql(layout));
  return row?.pending ?? 0;
};

const createIndex = async (options: SearchOptions, onProgress: (indexedCalls: number) => void = () => undefined) => {
  const { pool, purpose, layout } = options;
  const state = await readState(options);
  if (isReady(state)) return;
  // Rows of another definition, or that no trigger kept for a while, cannot be trusted.
  const distrusted = state.present && !(state.current && state.kept);
  if (distrusted) await whenUnlocked(options, runAll(dropSearchSql(layout)));
  else if (state.valid === false) await runQuery(pool, purpose, dropGinSql(layout));
  await whenUnlocked(options, runAll(createSearchSql(layout, await ensureUnaccent(options))));
  await fill(options, onProgress);
  await runQuery(pool, purpose, createGinSql(layout));
  await runQuery(pool, purpose, `ANALYZE "${layout.schema}"."transcript_search"`);
  // Every call has been noted there and taken off again: searches count what is pending, and would pass dead rows.
  await runQuery(pool, purpose, `VACUUM "${layout.schema}"."transcript_search_pending"`);
};

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

const runAll =
  (statements: readonly string[]) =>
  async (client: pg.PoolClient, { layout }: SearchOptions): Promise<void> => {
    await client.query('SELECT pg_advisory_xact_lock(hashtext($1))', [`callsync.warehouse.${layout.schema}`]);
    for (const sql of statements) await client.query(sql);
  };

/** In one transaction, tried again while others hold what it needs: loads must not queue behind. */
const whenUnlocked = async (
  options: SearchOptions,
  work: (client: pg.PoolClient, options: SearchOptions) => Promise<void>,
): Promise<void> => {
  const { pool, purpose } = options;
  for (const deadline = Date.now() + lockDeadlineMs; ; await delay(lockPauseMs)) {
    try {
      return await inTransaction(pool, purpose, async (client) => {
        await client.query(`SET LOCAL lock_timeout = '${lockTimeout}'`);
        await work(client, options);
      });
    } catch (cause) {
      if (!isLocked(cause)) throw cause;
      if (Date.now() >= deadline) {
        throw transient('DATABASE_LOCKED', `Somebody's open transaction holds up the search index of the ${purpose}.`, {
          hint: 'End that transaction (see pg_stat_activity) and run the command again.',
          cause,
        });
      }
    }
  }
};

/** Notes what has no rows as pending, and indexes it. */
const fill = async (options: SearchOptions, onProgress: (indexedCalls: number) => void) => {
  const { pool, purpose, layout } = options;
  let indexed = 0;
  for (let after = ''; ; ) {
    const next = await runQuery<{ call_id: string }>(pool, purpose, nextCallsSql(layout), [after, callsPerPage]);
    const last = next.at(-1);
    if (last === undefined) return;
    await whenUnlocked(options, async (client) => {
      const { rows } = await client.query<{ call_id: string }>(lockCallsSql(layout), [next.map((row) => row.call_id)]);
      await client.query(notePendingSql(layout), [rows.map((row) => row.call_id)]);
    });
    await catchUp(options, { after }).catch(unlessLocked);
    after = last.call_id;
    indexed += next.length;
    onProgress(indexed);
  }
};

/** What somebody held stays pending. */
const unlessLocked = (cause: unknown): void => {
  if (!isLocked(cause)) throw cause;
};

/**
 * Indexes the calls that are pending now, and waits for those that others have; what is loaded meanwhile is not waited for. Who may not
 * write searches what is indexed; so does everybody when indexing fails: the result tells what is pending.
 */
const catchUpBriefly = async (options: SearchOptions, indexing: pg.Pool): Promise<void> => {
  const { pool, purpose, layout } = options;
  const stop = AbortSignal.timeout(workMs);
  const read = async (sql: string, parameter: unknown): Promise<readonly string[]> =>
    (await runQuery<{ call_id: string }>(pool, purpose, sql, [parameter])).map((row) => row.call_id);
  let ids = await read(listPendingSql(layout), mostPending);
  for (let waited = 0; ids.length > 0 && waited < waitMs && !stop.aborted; waited += waitPauseMs) {
    if (waited > 0) await delay(waitPauseMs);
    let failed: readonly string[] = [];
    try {
      ({ failed } = await catchUp({ ...options, pool: indexing }, { ids, stop }));
    } catch (cause) {
      if (!(cause instanceof CallsyncError)) throw cause;
      if (!isLocked(cause)) return;
    }
    const hopeless = new Set(failed);
    ids = (await read(stillPendingSql(layout), ids)).filter((id) => !hopeless.has(id));
  }
};

const find = async (
  { indexing, ...options }: TranscriptSearchOptions,
  request: SearchRequest,
): Promise<SearchResult> => {
  const texts = readAlternatives(request.text).map(readSearchText);
  const { pool, purpose, layout } = options;
  if (!isReady(await readState(options))) {
    throw terminal('SEARCH_INDEX_MISSING', `The ${purpose} has no complete search index.`, {
      hint: 'Run callsync warehouse search-index create with the same --config; it also finishes one that was interrupted.',
    });
  }
  await catchUpBriefly(options, indexing);
  return await inTransaction(pool, purpose, async (client) => {
    // All that is read is of one moment: a call that a load changes meanwhile is found as it was, and is not pending.
    await client.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY');
    const pending = await countPending(client, options);
    const results: FoundCalls[] = [];
    for (const text of texts) {
      // Older calls than those that are found already would not be shown.
      const { calls, more } = joinResults(results, request.limit);
      const oldest = more ? (calls.at(-1)?.callTimestamp ?? undefined) : undefined;
      const from = oldest === undefined ? request.from : Math.max(oldest, request.from ?? oldest);
      const found = await findCalls(client, layout, { ...request, from }, text);
      if (found !== undefined) results.push(found);
    }
    if (results.length === 0) {
      throw terminal('USAGE_SEARCH', 'The search has stop words alone: they are in nearly every call.', {
        hint: 'Put them into a phrase, such as "votre contrat", where they count, or add a word that is rarer.',
      });
    }
    return { ...joinResults(results, request.limit), pending };
  });
};

/** Who searches needs other rights than who loads. */
const asReader = async <T>({ purpose, layout }: SearchOptions, reading: Promise<T>): Promise<T> => {
  try {
    return await reading;
  } catch (cause) {
    if (!(cause instanceof CallsyncError) || cause.code !== 'DATABASE_PERMISSION') throw cause;
    throw terminal('DATABASE_PERMISSION', `The user of the ${purpose} may not read all that a search needs.`, {
      hint: `Give it the rights of analysts, which callsync grants prints: USAGE on schema ${layout.schema}, SELECT on all its tables, EXECUTE on all its functions.`,
      cause: cause.cause,
    });
  }
};
