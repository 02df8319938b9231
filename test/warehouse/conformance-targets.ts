/** The warehouses that the conformance suite runs over, each on real parts. */
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { createRest } from '../../src/warehouse/bigquery/client.ts';
import { type BigqueryWarehouseConfig, bigqueryWarehouseSchema } from '../../src/warehouse/bigquery/config.ts';
import { relationsOf } from '../../src/warehouse/bigquery/ddl.ts';
import { tableResource } from '../../src/warehouse/bigquery/migrate.ts';
import { createJobs, createQueries } from '../../src/warehouse/bigquery/queries.ts';
import { postgresWarehouseSchema } from '../../src/warehouse/postgres/config.ts';
import type { Warehouse } from '../../src/warehouse/warehouse.ts';
import { openBigquery } from '../support/open-bigquery.ts';
import { openPostgres } from '../support/open-postgres.ts';
import { setUpStrict } from './bigquery/strict-warehouse.ts';

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
  const config = postgresWarehouseSchema.parse({ type: 'postgres', documents: true });
  const { admin, open, close } = await openPostgres(config);
  await admin.query(`SET search_path TO ${config.schema}`);
  const execute = async (sql: string): Promise<void> => void (await admin.query(sql));
  const dropColumn: Target['dropColumn'] = (table, column) => execute(`ALTER TABLE ${table} DROP COLUMN ${column}`);
  return { open, execute, dropColumn, dispose: close };
}

async function useBigqueryTarget(): Promise<Target> {
  const { emulator, config, open, dispose } = await setUpStrict({ documents: true });
  const byHand = handOf({ ...config, api_endpoint: emulator.restUrl });
  // Gzip as it would be over a network.
  return { ...byHand, isEmulated: true, open: () => open({ compress: true }), dispose };
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
  await rest({ method: 'DELETE', path: `/datasets/${config.dataset}/tables/${table}` });
  const json = tableResource(config, { ...relation, fields: relation.fields.filter(({ name }) => name !== column) });
  await rest({ method: 'POST', path: `/datasets/${config.dataset}/tables`, json });
};
