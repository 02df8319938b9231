/** The Postgres warehouse: the analysts' schema, which may live in the operational store's server. */
import type { PostgresWarehouseConfig } from '../../../schemas/config/warehouses.ts';
import { inTransaction, openPool, postgresError, runQuery } from '../../postgres/connection.ts';
import { digestedColumns, digestRows } from '../digest.ts';
import type { Warehouse } from '../warehouse.ts';
import { addColumns, createStatements, describeStatements, viewStatements } from './ddl.ts';
import { type Layout, qualified, quote, tablesOf } from './layout.ts';
import { applyLoad, loadSql } from './load.ts';
import { digestedNames, guardsSql, idsCondition, rangeCondition, readGuards, readRows, rowsSql } from './read.ts';

export interface PostgresWarehouseOptions {
  readonly name: string;
  readonly url: string;
  readonly config: Pick<PostgresWarehouseConfig, 'schema' | 'words' | 'documents'>;
  readonly maxConnections?: number;
}

/** Nothing connects before the first call. @throws CallsyncError DATABASE_… from every method. */
export const createPostgresWarehouse = (options: PostgresWarehouseOptions): Warehouse => {
  const layout: Layout = options.config;
  const purpose = `warehouse ${options.name}`;
  const pool = openPool({
    url: options.url,
    schema: layout.schema,
    application: 'callsync warehouse',
    purpose,
    max: options.maxConnections ?? 4,
  });

  const migrate = (): Promise<void> =>
    inTransaction(pool, purpose, async (client) => {
      await client.query('SELECT pg_advisory_xact_lock(hashtext($1))', [`callsync.warehouse.${layout.schema}`]);
      for (const statement of createStatements(layout)) await client.query(statement);
      const { rows } = await client.query<{ table_name: string; column_name: string }>(
        'SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = $1',
        [layout.schema],
      );
      for (const table of tablesOf(layout)) {
        const present = new Set(rows.filter((row) => row.table_name === table.name).map((row) => row.column_name));
        for (const statement of addColumns(layout, table, present)) await client.query(statement);
      }
      for (const statement of [...describeStatements(layout), ...viewStatements(layout)]) await client.query(statement);
    });

  const countRows = async (): Promise<Record<string, number>> => {
    const names = [
      ...tablesOf(layout).map((table) => table.name as string),
      ...(layout.words === 'off' ? [] : ['words']),
    ];
    const [row] = await runQuery<Record<string, number>>(
      pool,
      purpose,
      `SELECT ${names.map((name) => `(SELECT ${name === 'words' && layout.words === 'arrays' ? countWords(layout) : `count(*) FROM ${qualified(layout, name)}`}) AS ${quote(name)}`).join(', ')}`,
    );
    return row ?? {};
  };

  const digestTables = async (): Promise<Record<string, string>> => {
    const digests: Record<string, string> = {};
    for (const name of digestedNames(layout)) {
      digests[name] = await digestRows(digestedColumns(name), readRows(pool, layout, name));
    }
    return digests;
  };

  return {
    name: options.name,
    kind: 'postgres',
    immediate: true,
    maxCallsPerLoad: 500,
    partitionOf: () => undefined,
    migrate,
    load: (batch) => inTransaction(pool, purpose, (client) => applyLoad(client, layout, batch)),
    countRows,
    digestTables,
    rowsOf: (name) => readRows(pool, layout, name),
    query: (sql) =>
      inTransaction(pool, purpose, async (client) => {
        await client.query('SET TRANSACTION READ ONLY');
        return (await client.query(sql)).rows;
      }),
    listGuards: (range) => readGuards(pool, layout, range),
    statements: () => statementsOf(layout),
    close: async () => {
      await pool.end().catch((error: unknown) => {
        throw postgresError(purpose, error);
      });
    },
  };
};

const countWords = (layout: Layout): string =>
  `coalesce(sum(word_count), 0)::bigint FROM ${qualified(layout, 'utterances')}`;

const statementsOf = (layout: Layout): { name: string; sql: string }[] => {
  const load = loadSql(layout);
  return [
    ...createStatements(layout).map((sql, index) => ({ name: `create ${index + 1}`, sql })),
    ...describeStatements(layout).map((sql, index) => ({ name: `describe ${index + 1}`, sql })),
    ...viewStatements(layout).map((sql, index) => ({ name: `view ${index + 1}`, sql })),
    { name: 'load: stage', sql: load.stage },
    { name: 'load: claim', sql: load.claim(false) },
    { name: 'load: claim, forced', sql: load.claim(true) },
    { name: 'load: blocked', sql: load.blocked },
    ...load.deleteChildren.map((sql) => ({ name: 'load: delete children', sql })),
    { name: 'erase: take key', sql: load.takeKeys },
    { name: 'erase: tombstone', sql: load.tombstone },
    { name: 'load, erase: delete calls', sql: load.deleteCalls },
    ...Object.entries(load.upsertLogs).map(([name, { upsert }]) => ({ name: `load: upsert ${name}`, sql: upsert })),
    ...digestedNames(layout).map((name) => ({ name: `read ${name}`, sql: rowsSql(layout, name) })),
    { name: 'guards by time', sql: guardsSql(layout, rangeCondition) },
    { name: 'guards by id', sql: guardsSql(layout, idsCondition) },
  ];
};
