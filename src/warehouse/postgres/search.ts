/** The search index of a Postgres warehouse, and searching by it. */
import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import { CallsyncError, terminal, transient } from '../../errors.ts';
import { inTransaction, runQuery } from '../../postgres/database.ts';
import {
  readAlternatives,
  readSearchText,
  type SearchIndexStatus,
  type SearchRequest,
  type SearchResult,
  type TranscriptSearch,
} from '../search.ts';
import type { Layout } from './layout.ts';
import {
  countSearchSql,
  createGinSql,
  createSearchSql,
  dropGinSql,
  dropSearchSql,
  fillSql,
  lockCallsSql,
  nextCallsSql,
  searchStateSql,
} from './search-ddl.ts';
import { findCalls, joinResults } from './search-find.ts';

export interface SearchOptions {
  readonly pool: pg.Pool;
  readonly purpose: string;
  readonly layout: Layout;
}

/** What searching needs of the database, opened by the warehouse. */
export const createTranscriptSearch = (options: SearchOptions): TranscriptSearch => ({
  create: (onProgress) => createIndex(options, onProgress),
  drop: () => changeDefinition(options, dropSearchSql(options.layout)),
  status: () => readStatus(options),
  find: (request) => find(options, request),
});

const callsPerStep = 500;
const lockTimeout = '500ms';
const lockDeadlineMs = 60_000;
const lockPauseMs = 500;

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
  if (!state.present) return { state: 'absent', calls: null, bytes: null };
  const [row] = await runQuery<{ calls: number }>(options.pool, options.purpose, countSearchSql(options.layout));
  return { state: isReady(state) ? 'ready' : 'building', calls: row?.calls ?? 0, bytes: state.bytes };
};

const createIndex = async (options: SearchOptions, onProgress: (indexedCalls: number) => void = () => undefined) => {
  const { pool, purpose, layout } = options;
  const state = await readState(options);
  if (isReady(state)) return;
  // Rows of another definition, or that no trigger kept for a while, cannot be trusted.
  const distrusted = state.present && !(state.current && state.kept);
  if (distrusted) await changeDefinition(options, dropSearchSql(layout));
  else if (state.valid === false) await runQuery(pool, purpose, dropGinSql(layout));
  await changeDefinition(options, createSearchSql(layout, await ensureUnaccent(options)));
  await fill(options, onProgress);
  await runQuery(pool, purpose, createGinSql(layout));
  await runQuery(pool, purpose, `ANALYZE "${layout.schema}"."transcript_search"`);
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

/** All statements in one transaction, tried again while open transactions hold utterances: loads must not queue behind. */
const changeDefinition = async ({ pool, purpose, layout }: SearchOptions, statements: readonly string[]) => {
  for (const deadline = Date.now() + lockDeadlineMs; ; await delay(lockPauseMs)) {
    try {
      return await inTransaction(pool, purpose, async (client) => {
        await client.query(`SET LOCAL lock_timeout = '${lockTimeout}'`);
        await client.query('SELECT pg_advisory_xact_lock(hashtext($1))', [`callsync.warehouse.${layout.schema}`]);
        for (const sql of statements) await client.query(sql);
      });
    } catch (cause) {
      if (!(cause instanceof CallsyncError) || (cause.cause as { code?: unknown } | undefined)?.code !== '55P03')
        throw cause;
      if (Date.now() < deadline) continue;
      throw transient('DATABASE_LOCKED', `Somebody's open transaction holds up the search index of the ${purpose}.`, {
        hint: 'End that transaction (see pg_stat_activity) and run the command again.',
        cause,
      });
    }
  }
};

const fill = async ({ pool, purpose, layout }: SearchOptions, onProgress: (indexedCalls: number) => void) => {
  let indexed = 0;
  for (let after = ''; ; ) {
    const next = await runQuery<{ call_id: string }>(pool, purpose, nextCallsSql(layout), [after, callsPerStep]);
    const last = next.at(-1);
    if (last === undefined) return;
    after = last.call_id;
    await inTransaction(pool, purpose, async (client) => {
      const { rows } = await client.query<{ call_id: string }>(lockCallsSql(layout), [next.map((row) => row.call_id)]);
      await client.query(fillSql(layout), [rows.map((row) => row.call_id)]);
    });
    indexed += next.length;
    onProgress(indexed);
  }
};

const find = async (options: SearchOptions, request: SearchRequest): Promise<SearchResult> => {
  const texts = readAlternatives(request.text).map(readSearchText);
  const { pool, purpose, layout } = options;
  if (!isReady(await readState(options))) {
    throw terminal('SEARCH_INDEX_MISSING', `The ${purpose} has no complete search index.`, {
      hint: 'Run callsync warehouse search-index create with the same --config; it also finishes one that was interrupted.',
    });
  }
  return await inTransaction(pool, purpose, async (client) => {
    await client.query('SET TRANSACTION READ ONLY');
    const results: SearchResult[] = [];
    for (const text of texts) {
      // Older calls than those that are found already would not be shown.
      const { calls, more } = joinResults(results, request.limit);
      const oldest = more ? (calls.at(-1)?.callTimestamp ?? undefined) : undefined;
      const from = oldest === undefined ? request.from : Math.max(oldest, request.from ?? oldest);
      results.push(await findCalls(client, layout, { ...request, from }, text));
    }
    return joinResults(results, request.limit);
  });
};
