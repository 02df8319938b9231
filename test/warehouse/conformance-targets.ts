/** The warehouses that the conformance suite runs over, each on real parts. */
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { createRest } from '../../src/warehouse/bigquery/client.ts';
import { type BigqueryWarehouseConfig, bigqueryWarehouseSchema } from '../../src/warehouse/bigquery/config.ts';
import { relationsOf } from '../../src/warehouse/bigquery/ddl.ts';
import { tableResource } from '../../src/warehouse/bigquery/migrate.ts';
import { createJobs, createQueries } from '../../src/warehouse/bigquery/queries.ts';
import { postgresWarehouseSchema } from '../../src/warehouse/postgres/config.ts';
import { createPostgresWarehouse } from '../../src/warehouse/postgres/warehouse.ts';
import type { Warehouse } from '../../src/warehouse/warehouse.ts';
import { useBigQuery } from '../support/bigquery.ts';
import { openBigquery } from '../support/open-bigquery.ts';
import { createDatabase, runOnServer } from '../support/postgres.ts';
import { startStrictBigquery } from '../support/strict-bigquery.ts';

export interface Target {
  /** Another client of the same tables, which shares nothing with the first but them. */
  open(): Warehouse;
  /** One statement by hand, past callsync, that open clients see at once; tables are named without schema or dataset. */
  execute(sql: string): Promise<void>;
  dropColumn(table: string, column: string): Promise<void>;
  /** A stand-in: slower, and it runs what it should only try. */
  readonly isEmulated?: true;
  dispose(): Promise<void>;
}

export const targets: readonly (readonly [string, () => Promise<Target>])[] = [
  ['postgres', usePostgresTarget],
  ['bigquery', useBigqueryTarget],
];

async function usePostgresTarget(): Promise<Target> {
  const database = await createDatabase();
  const config = postgresWarehouseSchema.parse({ type: 'postgres', documents: true });
  const opened: Warehouse[] = [];
  const execute = async (sql: string): Promise<void> =>
    void (await runOnServer(database.url, `SET search_path TO ${config.schema}; ${sql}`));
  return {
    open() {
      const warehouse = createPostgresWarehouse({ name: 'pg', url: database.url, config });
      opened.push(warehouse);
      return warehouse;
    },
    execute,
    dropColumn: (table, column) => execute(`ALTER TABLE ${table} DROP COLUMN ${column}`),
    async dispose() {
      for (const warehouse of opened) await warehouse.close();
      await database.drop();
    },
  };
}

async function useBigqueryTarget(): Promise<Target> {
  const emulator = await useBigQuery();
  const strict = await startStrictBigquery({ upstream: emulator.restUrl });
  const settings = { type: 'bigquery', project: emulator.project, dataset: emulator.dataset, documents: true };
  const config = bigqueryWarehouseSchema.parse({ ...settings, api_endpoint: strict.url });
  // Waits of seconds become waits of milliseconds; gzip as it would be over a network.
  const open = () => openBigquery({ name: 'bq', config, compress: true, pause: (ms) => sleep(ms / 50) });
  return { ...handOf({ ...config, api_endpoint: emulator.restUrl }), isEmulated: true, open, dispose: strict.close };
}

const handOf = (config: BigqueryWarehouseConfig): Pick<Target, 'execute' | 'dropColumn'> => ({
  execute: async (sql) => void (await executeIn(config, sql)),
  dropColumn: (table, column) => remakeWithout(config, table, column),
});

/** The real service; its clients share no lease, so it is the service that keeps them apart. */
export const useLiveBigqueryTarget = async (place: { project: string; location: string }): Promise<Target> => {
  const dataset = `callsync_live_${randomBytes(6).toString('hex')}`;
  const config = bigqueryWarehouseSchema.parse({ type: 'bigquery', ...place, dataset, documents: true });
  return {
    ...handOf(config),
    open: () => openBigquery({ name: 'live', config }),
    async dispose() {
      const rest = createRest(config, 60_000);
      await rest({ method: 'DELETE', path: `/datasets/${dataset}`, query: { deleteContents: true } });
    },
  };
};

/** One statement by hand; tables are named without dataset. */
export const executeIn = async (config: BigqueryWarehouseConfig, sql: string): Promise<Record<string, unknown>[]> => {
  const connection = { config, rest: createRest(config, 60_000), pause: (ms: number) => sleep(ms) };
  return await createQueries(connection, createJobs(connection)).run({ sql });
};

/** The table again, empty and without that column. */
const remakeWithout = async (config: BigqueryWarehouseConfig, table: string, column: string): Promise<void> => {
  const rest = createRest(config, 60_000);
  const relation = relationsOf(config).find(({ name }) => name === table);
  if (relation === undefined) throw new Error(`no table ${table}`);
  const fields = relation.fields.filter(({ name }) => name !== column);
  await rest({ method: 'DELETE', path: `/datasets/${config.dataset}/tables/${table}` });
  const json = tableResource(config, { ...relation, fields });
  await rest({ method: 'POST', path: `/datasets/${config.dataset}/tables`, json });
};
