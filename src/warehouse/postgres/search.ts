/** The search index of a Postgres warehouse, and searching by it. */
import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import { CallsyncError, terminal, transient } from '../../errors.ts';
import { inTransaction, runQuery } from '../../postgres/database.ts';
import {
  type FoundCall,
  hitsPerCall,
  readMarks,
  readSearchText,
  type SearchHit,
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
import {
  byIndex,
  byTime,
  findParameters,
  findSql,
  hitsSql,
  type LanguageQuery,
  languageQueriesSql,
  prepareToFind,
  sampledRows,
  sampleSql,
  toLanguageQuery,
} from './search-query.ts';

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

interface FoundRow {
  readonly call_id: string;
  readonly side: string;
  readonly micros: number | null;
  readonly language: string;
  /** Positions ran out. */
  readonly clipped: boolean;
}

const find = async (options: SearchOptions, request: SearchRequest): Promise<SearchResult> => {
  const text = readSearchText(request.text);
  const { pool, purpose, layout } = options;
  if (!isReady(await readState(options))) {
    throw terminal('SEARCH_INDEX_MISSING', `The ${purpose} has no complete search index.`, {
      hint: 'Run callsync warehouse search-index create, which also finishes one that was interrupted.',
    });
  }
  return await inTransaction(pool, purpose, async (client) => {
    await client.query('SET TRANSACTION READ ONLY');
    return await findIn(client, layout, request, text);
  });
};

/** Reading a row that the index names, in the order of the index, takes as long as walking past so many in order of time. */
const rowsPerCandidate = 2;

/**
 * What is frequent is found among the newest rows. Else they tell, as a sample, how many rows the index would name, and how
 * many a walk through time would pass until it has found enough.
 */
const findRows = async (
  client: pg.PoolClient,
  layout: Layout,
  query: LanguageQuery,
  input: { readonly parameters: readonly unknown[]; readonly limit: number },
): Promise<readonly FoundRow[]> => {
  const parameters = [...input.parameters];
  const newest = await client.query<FoundRow>(findSql(layout, 'newest'), parameters);
  const found = newest.rows.length;
  if (found >= input.limit) return newest.rows;
  // Words alone are all that the index is asked for.
  let withWords = found;
  if (query.full !== query.words) {
    const { rows } = await client.query<{ with_words: number }>(sampleSql(layout), parameters);
    withWords = rows[0]?.with_words ?? 0;
  }
  const named = (query.total * withWords) / sampledRows;
  const passed = found === 0 ? query.total : Math.min(query.total, (input.limit * sampledRows) / found);
  if (named * rowsPerCandidate <= passed) await client.query(byIndex);
  const all = await client.query<FoundRow>(findSql(layout, 'all'), parameters);
  await client.query(byTime);
  return all.rows;
};

const findIn = async (
  client: pg.PoolClient,
  layout: Layout,
  request: SearchRequest,
  text: ReturnType<typeof readSearchText>,
): Promise<SearchResult> => {
  const { rows: languages } = await client.query(languageQueriesSql(layout), [text.full, text.positive]);
  const queries = languages.flatMap((row) => toLanguageQuery(row) ?? []);
  const range = {
    from: request.from ?? null,
    to: request.to ?? null,
    side: request.side ?? null,
    // A call may be found by each of its sides, and one more call tells whether there are more.
    limit: 2 * (request.limit + 1),
  };
  await client.query(prepareToFind);
  const found: { readonly row: FoundRow; readonly query: LanguageQuery }[] = [];
  for (const query of queries) {
    const parameters = findParameters(query, text, range);
    const rows = await findRows(client, layout, query, { parameters, limit: range.limit });
    found.push(...rows.map((row) => ({ row, query })));
  }
  found.sort((a, b) => (b.row.micros ?? 0) - (a.row.micros ?? 0) || (a.row.call_id < b.row.call_id ? -1 : 1));
  const ids = [...new Set(found.map(({ row }) => row.call_id))];
  const shown = new Set(ids.slice(0, request.limit));
  const calls = new Map<string, FoundCall & { hits: SearchHit[] }>();
  for (const { row } of found.filter(({ row }) => shown.has(row.call_id))) {
    calls.set(row.call_id, { callId: row.call_id, callTimestamp: row.micros, language: row.language, hits: [] });
  }
  for (const query of queries) {
    const mine = found.filter((one) => one.query === query && shown.has(one.row.call_id)).map(({ row }) => row);
    if (mine.length === 0) continue;
    const { rows } = await client.query(hitsSql(layout), [
      mine.map((row) => row.call_id),
      mine.map((row) => row.side),
      mine.map((row) => row.clipped),
      query.language,
      query.anyWords,
      query.any,
      query.lexemes,
      text.phrases.length === 0,
    ]);
    for (const row of rows) {
      const hit = { utteranceIndex: row.utterance_index, side: row.side, ...readMarks(row.marked) };
      calls.get(row.call_id)?.hits.push(hit);
    }
  }
  const sorted = [...calls.values()].map((call) => ({
    ...call,
    hits: call.hits.sort((a, b) => a.utteranceIndex - b.utteranceIndex).slice(0, hitsPerCall),
  }));
  return { calls: sorted, more: ids.length > request.limit };
};
