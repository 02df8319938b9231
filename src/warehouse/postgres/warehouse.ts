/** The Postgres warehouse: the analysts' schema, which may be on the server of the operational store. */
import type { PostgresWarehouseConfig } from '../../../schemas/config/warehouses.ts';
import { type ConnectionUrl, inTransaction, openPool, postgresError, runQuery } from '../../postgres/connection.ts';
import { digestTables } from '../digest.ts';
import type { Warehouse } from '../warehouse.ts';
import { countSql } from './counts.ts';
import { digestCalls } from './digest-calls.ts';
import { listCallIds, listGuards, listOrphans } from './guards.ts';
import type { Layout } from './layout.ts';
import { createLoader } from './load.ts';
import { createMigration } from './migrate.ts';
import { readRows } from './read.ts';
import { removeCalls, removeOrphans } from './remove.ts';
import { listStatements } from './statements.ts';

export interface PostgresWarehouseOptions {
  readonly name: string;
  readonly url: ConnectionUrl;
  readonly config: Pick<PostgresWarehouseConfig, 'schema' | 'documents'>;
  readonly maxConnections?: number;
  /** Pause between attempts at a change that an open transaction holds up. */
  readonly migrationRetryMs?: number;
}

/** Nothing connects before the first call. @throws CallsyncError DATABASE_… from every method. */
export const createPostgresWarehouse = (options: PostgresWarehouseOptions): Warehouse => {
  const layout: Layout = options.config;
  const applyLoad = createLoader(layout);
  const purpose = `warehouse ${options.name}`;
  const pool = openPool({
    url: options.url,
    schema: layout.schema,
    application: 'callsync warehouse',
    purpose,
    max: options.maxConnections ?? 4,
  });
  const migration = createMigration(pool, purpose, layout, options.migrationRetryMs);
  const rowsOf: Warehouse['rowsOf'] = (name) => readRows(pool, layout, name);
  return {
    name: options.name,
    kind: 'postgres',
    immediate: true,
    maxCallsPerLoad: 500,
    partitionOf: () => undefined,
    migrate: () => migration.run(),
    load: (batch) => inTransaction(pool, purpose, (client) => applyLoad(client, batch)),
    countRows: async () => (await runQuery<Record<string, number>>(pool, purpose, countSql(layout)))[0] ?? {},
    digestTables: () => digestTables(layout.documents, rowsOf),
    rowsOf,
    query: (sql) =>
      inTransaction(pool, purpose, async (client) => {
        await client.query('SET TRANSACTION READ ONLY');
        return (await client.query(sql)).rows;
      }),
    listGuards: (range) => listGuards(pool, layout, range),
    removeCalls: (guards) => inTransaction(pool, purpose, (client) => removeCalls(client, layout, guards)),
    removeOrphans: (callIds) => inTransaction(pool, purpose, (client) => removeOrphans(client, layout, callIds)),
    digestCalls: (callIds) => digestCalls(pool, layout, callIds),
    listCallIds: (range) => listCallIds(pool, layout, range),
    listOrphans: () => listOrphans(pool, layout),
    statements: () => listStatements(layout),
    close: async () => {
      await migration.stop();
      await pool.end().catch((error: unknown) => {
        throw postgresError(purpose, error);
      });
    },
  };
};
