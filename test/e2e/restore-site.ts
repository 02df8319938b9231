/** The installation that restores are tried on: two workers, a receiver with live webhooks, and warehouses that can be set back. */
import { syncConfigSchema } from '../../schemas/config/sync.ts';
import { createWarehouse } from '../../src/cli/parts/activity-deps.ts';
import { findFreePort } from '../../src/local/local-process.ts';
import { createLease } from '../../src/store/loads/compared.ts';
import { ensureSchedules } from '../../src/temporal/schedules.ts';
import { bigqueryWarehouseSchema } from '../../src/warehouse/bigquery/config.ts';
import { relationsOf } from '../../src/warehouse/bigquery/ddl.ts';
import { backUp } from '../support/backup.ts';
import { useBigQuery } from '../support/bigquery.ts';
import { deleteSchedules, endProcess, install } from '../support/installation.ts';
import { startInstalledPostgres } from '../support/installed-postgres.ts';
import { startReceiver } from '../support/receiver-process.ts';
import { executeIn } from '../warehouse/conformance-targets.ts';

export type Site = Awaited<ReturnType<typeof openSite>>;

const sync = {
  interval: '2s',
  settle: '1s',
  lookback: '1m',
  inbox_sweep: '2s',
  start_from: '2h',
  reread: { horizon: '2h' },
};

const minutesAgo = (minutes: number): string => new Date(Date.now() - minutes * 60_000).toISOString();

export interface SiteOptions {
  /** Programs of a PostgreSQL server of its own; undefined = the shared one. */
  readonly programs?: string | undefined;
  /** One worker, and no BigQuery. */
  readonly isSmall?: boolean | undefined;
  /** Of an empty database on the shared server. */
  readonly databaseUrl?: string;
}

export const openSite = async ({ programs, isSmall = false, databaseUrl }: SiteOptions) => {
  const server = programs === undefined ? undefined : await startInstalledPostgres(programs);
  const bigquery = isSmall ? undefined : await openBigquery();
  const installation = await install({
    databaseUrl: server?.url ?? databaseUrl,
    simulator: {
      seed: 71,
      calls: {
        count: 150,
        utterances: 2,
        lateShare: 0,
        // All of them have ended and are processed when it begins: none appears while warehouses are compared.
        processingSeconds: 1,
        from: minutesAgo(110),
        to: minutesAgo(40),
      },
      live: { callsPerSecond: 2, processingSeconds: 1, editShare: 0.05 },
      // Fields that only webhooks carry cannot be read again, so the list carries everything.
      listOmits: [],
      edits: { requalifyShare: 0.5, webhookShare: 1 },
      rateLimit: { requests: 0 },
    },
    source: { limits: { requests: 400, per_s: 1 } },
    config: { sync, warehouses: { postgres: { type: 'postgres' }, ...(bigquery && { bigquery: bigquery.config }) } },
  });
  const { store, warehouse } = installation;
  const warehouses = [warehouse, ...(bigquery ? [createWarehouse('bigquery', bigquery.config, store)] : [])];
  // No commit is half in a backup.
  const alone = <T>(work: () => Promise<T>): Promise<T> => createLease(store).run('bigquery bigquery', work);
  const port = await findFreePort();
  let receiver = await startReceiver(installation, port);
  await installation.control.startWebhooks({ url: `http://127.0.0.1:${port}/webhook` });
  if (!isSmall) await installation.startWorker();
  let worker = await installation.startWorker();
  await ensureSchedules(installation.client, installation.prefix, syncConfigSchema.parse(sync));
  return {
    installation,
    warehouses,
    /** Of its own, with programs that dump and restore; undefined on the shared server. */
    server,
    /** Sets all warehouses back to now, later. */
    backUpWarehouses: async () => {
      const restorePostgres = await backUp(store.pool, 'calls');
      const restoreBigquery = await alone(async () => await bigquery?.copy());
      return () =>
        alone(async () => {
          await retryDeadlock(restorePostgres);
          await restoreBigquery?.();
        });
    },
    dropWarehouses: () =>
      alone(async () => {
        await store.pool.query('DROP SCHEMA calls CASCADE');
        await bigquery?.drop();
      }),
    /** Kills it (SIGKILL) and starts another in its place. */
    replaceWorker: async () => {
      await endProcess(worker, 'SIGKILL');
      worker = await installation.startWorker();
    },
    replaceReceiver: async () => {
      await endProcess(receiver, 'SIGKILL');
      receiver = await startReceiver(installation, port);
    },
    close: async () => {
      await deleteSchedules(installation);
      await endProcess(receiver, 'SIGKILL');
      for (const opened of warehouses.slice(1)) await opened.close();
      await installation.dispose();
      await server?.dispose();
    },
  };
};

/** The tables of a dataset of its own, which can be copied, set back and dropped. */
const openBigquery = async () => {
  const emulator = await useBigQuery();
  const config = bigqueryWarehouseSchema.parse({
    type: 'bigquery',
    project: emulator.project,
    dataset: emulator.dataset,
    api_endpoint: emulator.restUrl,
    commit_interval_s: 2,
    quota: { jobs_per_day: 100_000 },
  });
  const { dataset } = config;
  const tables = relationsOf(config).map(({ name }) => name);
  const run = async (sql: readonly string[]): Promise<void> => void (await executeIn(config, `${sql.join(';\n')};`));
  let copies = 0;
  return {
    config,
    copy: async (): Promise<() => Promise<void>> => {
      copies += 1;
      const copyOf = (table: string) => `\`${dataset}.copy_${copies}_${table}\``;
      const names = tables.map((table) => ({ of: `\`${dataset}.${table}\``, copy: copyOf(table) }));
      await run(names.map(({ of, copy }) => `CREATE TABLE ${copy} AS SELECT * FROM ${of}`));
      return () =>
        run(
          names.flatMap(({ of, copy }) => [`DELETE FROM ${of} WHERE TRUE`, `INSERT INTO ${of} SELECT * FROM ${copy}`]),
        );
    },
    drop: () => run(tables.map((table) => `DROP TABLE \`${dataset}.${table}\``)),
  };
};

/** Workers hold locks in an order of their own. */
export const retryDeadlock = async (work: () => Promise<void>): Promise<void> => {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if ((error as { code?: unknown }).code !== '40P01') throw error;
    }
  }
};
