/** The PostgreSQL warehouse: the analysts' schema, which may be on the server of the store. */
import { childTables, type Row } from '../../../schemas/tables.ts';
import { type ConnectionUrl, type Database, openDatabase, type Queryable, runAll } from '../../postgres/database.ts';
import { createLogExpiry } from '../expire-logs.ts';
import { restrictedName } from '../grants.ts';
import { createReading } from '../reading.ts';
import { createRestoreChecks } from '../restore.ts';
import type { CallGuard, Capabilities, Proof, ReaderRights, Warehouse } from '../warehouse.ts';
import type { PostgresWarehouseConfig } from './config.ts';
import { dialectOf } from './dialect.ts';
import { createGrants } from './grants.ts';
import { type Layout, qualified } from './layout.ts';
import { createLoads, recordState } from './load.ts';
import { loadSql } from './load-sql.ts';
import { migrate } from './migrate.ts';
import { openReader, queryRows, streamRows } from './reader.ts';
import { createTranscriptSearch } from './search-find.ts';
import { createSearchFiller } from './search-index.ts';
import { ensureViews } from './views.ts';

const slowMs = 3_600_000;
/** One step of a search index takes a fraction of a second; closing waits for it. */
const fillMs = 10_000;

export interface PostgresWarehouseOptions {
  readonly name: string;
  readonly url: ConnectionUrl;
  readonly config: Pick<PostgresWarehouseConfig, 'schema' | 'documents'>;
  /** URL of a read-only role for queries of users; without it the owner creates one. */
  readonly readerUrl?: ConnectionUrl | undefined;
  readonly maxConnections?: number;
  /** Gets failures of background work. */
  readonly warn?: ((error: unknown) => void) | undefined;
}

const openFor = (
  { name, url, config, maxConnections = 4 }: PostgresWarehouseOptions,
  limits: Pick<Parameters<typeof openDatabase>[0], 'statementMs' | 'max'> = {},
): Database => {
  const { schema } = config;
  const purpose = `warehouse ${name}`;
  return openDatabase({ url, schema, application: 'callsync warehouse', purpose, max: maxConnections, ...limits });
};

/** Nothing connects before the first call. @throws CallsyncError DATABASE_… from every method. */
export const createPostgresWarehouse = (options: PostgresWarehouseOptions) => {
  const layout: Layout = options.config;
  const db = openFor(options);
  // For queries that may take long on a large warehouse; a load notices a dead connection sooner.
  const slow = openFor(options, { statementMs: slowMs });
  const filling = openFor(options, { statementMs: fillMs, max: 2 });
  const schema = { db: slow, layout };
  const filler = createSearchFiller({ db: filling, layout }, options.warn);
  const grants = createGrants(slow, layout);
  const reading = createReading({
    dialect: dialectOf(layout),
    ask: (sql, ids) => streamRows(slow, sql, ids === undefined ? [] : [ids]),
    documents: layout.documents,
    moreTables: async () => ((await slow.value(removalSql(layout).hasSearch)) ? ['transcript_search'] : []),
  });
  const proof: Proof = {
    ...reading,
    removeCalls: (guards, options) => db.transaction((tx) => removeCalls(tx, layout, guards, options?.keepsChanges)),
    removeOrphans: (callIds) =>
      db.transaction(async (tx) => {
        for (const sql of removalSql(layout).orphans) await tx.query(sql, [callIds]);
      }),
  };
  return {
    name: options.name,
    traits: {
      kind: 'postgres',
      keepsDeleted: { days: null, why: 'as the store' },
      immediate: true,
      maxCallsPerLoad: 250,
      heartbeatMs: 15_000,
      partitionOf: () => undefined,
      faults: { tableMissing: ['DATABASE_INCOMPLETE'], rowsRefused: ['DATABASE_REFUSED'] },
    },
    migrate: async () => {
      await migrate(schema);
      // Rows that an ended process left.
      filler.wake();
    },
    load: createLoads(db, layout, filler.wake),
    recordState: (row: Row) => recordState(db, layout, row),
    query: (sql: string, signal?: AbortSignal) => queryRows(db, sql, { signal }),
    proof,
    search: createTranscriptSearch(schema, filling),
    grants,
    marts: { ensure: (name, views) => ensureViews(slow, name, views) },
    openReader: (rights: ReaderRights) =>
      openReader({ ...options, purpose: db.purpose, ...readerOf(layout, grants, rights) }),
    expireLogs: createLogExpiry(
      (name) => qualified(layout, name),
      (statements) => slow.transaction(runAll(statements)),
    ),
    restore: createRestoreChecks(db.query),
    close: async () => {
      await filler.stop();
      await Promise.all([db, slow, filling].map((one) => one.close()));
    },
  } satisfies Warehouse;
};

/** How a reader with these rights reads: whole tables, or as the restricted group. */
const readerOf = (
  { schema }: Layout,
  grants: Capabilities['grants'],
  { marts, restricted, queryMs }: ReaderRights,
) => ({
  queryMs,
  schemas: [restricted === undefined ? schema : restrictedName(schema), marts],
  group: restricted && { name: restricted.restricted, grant: () => grants.apply(restricted), closed: schema },
});

// Removing calls that the ledger does not know.

export const removalSql = (layout: Layout) => {
  const calls = qualified(layout, 'calls');
  const children = childTables(layout.documents).map(({ name }) => qualified(layout, name));
  return {
    /** Parameters: call ids, epochs and revisions, as arrays of the same length. Locks in key order, as loads do. */
    claim: `SELECT c.call_id FROM ${calls} c
  JOIN unnest($1::text[], $2::int[], $3::int[]) AS g(call_id, ledger_epoch, revision)
 USING (call_id, ledger_epoch, revision) ORDER BY c.call_id COLLATE "C" FOR UPDATE OF c`,
    /** Child rows whose call has no row of the same time. Parameter: call ids. */
    orphans: children.map(
      (name) => `DELETE FROM ${name} t WHERE call_id = ANY($1)
   AND NOT EXISTS (SELECT FROM ${calls} c WHERE c.call_id = t.call_id AND c.call_timestamp IS NOT DISTINCT FROM t.call_timestamp)`,
    ),
    /** Whether there is a search index, which has rows of calls too. */
    hasSearch: `SELECT to_regclass('${qualified(layout, 'transcript_search')}') IS NOT NULL AS found`,
  };
};

/** Removes the rows of calls whose guard is still the given one. Runs inside a transaction. */
const removeCalls = async (tx: Queryable, layout: Layout, guards: readonly CallGuard[], keepsChanges = false) => {
  const { deleteCalls, deleteChildren, deleteChanges } = loadSql(layout);
  const keys = (['callId', 'epoch', 'revision'] as const).map((key) => guards.map((guard) => guard[key]));
  const ids = await tx.column<string>(removalSql(layout).claim, keys);
  for (const sql of [deleteCalls, deleteChildren, ...(keepsChanges ? [] : [deleteChanges])]) await tx.query(sql, [ids]);
};
