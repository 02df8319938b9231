/** The Postgres warehouse: the analysts' schema, which may be on the server of the operational store. */
import type pg from 'pg';
import type { PostgresWarehouseConfig } from '../../../schemas/config/warehouses.ts';
import { type ConnectionUrl, inTransaction, openPool, runQuery } from '../../postgres/database.ts';
import { postgresError } from '../../postgres/errors.ts';
import { digestTables } from '../digest.ts';
import type { Warehouse } from '../warehouse.ts';
import { countSql } from './counts.ts';
import { digestCalls } from './digest-calls.ts';
import { createGrants } from './grants.ts';
import { listCallIds, listGuards, listOrphans } from './guards.ts';
import type { Layout } from './layout.ts';
import { createLoader } from './load.ts';
import { createMigration } from './migrate.ts';
import { readRows } from './read.ts';
import { removeCalls, removeOrphans } from './remove.ts';
import { createTranscriptSearch } from './search.ts';
import { stateSql } from './state.ts';
import { listStatements } from './statements.ts';
import { ensureViews } from './views.ts';

export interface PostgresWarehouseOptions {
  readonly name: string;
  readonly url: ConnectionUrl;
  readonly config: Pick<PostgresWarehouseConfig, 'schema' | 'documents'>;
  readonly maxConnections?: number;
  /** Pause between attempts at a change that an open transaction holds up. */
  readonly migrationRetryMs?: number;
}

const slowMs = 3_600_000;

/** Nothing connects before the first call. @throws CallsyncError DATABASE_… from every method. */
export const createPostgresWarehouse = (options: PostgresWarehouseOptions): Warehouse => {
  const layout: Layout = options.config;
  const applyLoad = createLoader(layout);
  const purpose = `warehouse ${options.name}`;
  const open = (statementMs?: number): pg.Pool =>
    openPool({
      url: options.url,
      schema: layout.schema,
      application: 'callsync warehouse',
      purpose,
      max: options.maxConnections ?? 4,
      statementMs,
    });
  const pool = open();
  // For what may take long on a large warehouse: a load notices a dead connection sooner.
  const slow = open(slowMs);
  const migration = createMigration(slow, purpose, layout, options.migrationRetryMs);
  const rowsOf: Warehouse['rowsOf'] = (name) => readRows(slow, layout, name);
  return {
    name: options.name,
    kind: 'postgres',
    immediate: true,
    maxCallsPerLoad: 500,
    partitionOf: () => undefined,
    migrate: () => migration.run(),
    ensureViews: (schema, views) => ensureViews(slow, purpose, schema, views),
    load: (batch) => inTransaction(pool, purpose, (client) => applyLoad(client, batch)),
    heartbeatMs: 15_000,
    recordState: async (row) => void (await runQuery(pool, purpose, stateSql(layout), [...row])),
    countRows: async () => (await runQuery<Record<string, number>>(slow, purpose, countSql(layout)))[0] ?? {},
    digestTables: () => digestTables(layout.documents, rowsOf),
    rowsOf,
    query: (sql) =>
      inTransaction(pool, purpose, async (client) => {
        await client.query('SET TRANSACTION READ ONLY');
        // The extended protocol takes one statement: a second one could end the transaction that only reads.
        const query: pg.QueryConfig & { readonly queryMode: 'extended' } = { text: sql, queryMode: 'extended' };
        return (await client.query<Record<string, unknown>>(query)).rows;
      }),
    listGuards: (range) => listGuards(slow, layout, range),
    removeCalls: (guards) => inTransaction(pool, purpose, (client) => removeCalls(client, layout, guards)),
    removeOrphans: (callIds) => inTransaction(pool, purpose, (client) => removeOrphans(client, layout, callIds)),
    digestCalls: (callIds) => digestCalls(pool, layout, callIds),
    listCallIds: (range) => listCallIds(slow, layout, range),
    listOrphans: () => listOrphans(slow, layout),
    grants: createGrants(slow, purpose, layout),
    search: createTranscriptSearch({ pool: slow, purpose, layout }),
    statements: () => listStatements(layout),
    close: async () => {
      await migration.stop();
      await Promise.all([pool.end(), slow.end()]).catch((error: unknown) => {
        throw postgresError(purpose, error);
      });
    },
  };
};
