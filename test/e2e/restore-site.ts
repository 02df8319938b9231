/** The installation that restores are tried on: two workers, a receiver with live webhooks, and warehouses that can be set back. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { syncConfigSchema } from '../../schemas/config/sync.ts';
import { bigqueryWarehouseSchema } from '../../schemas/config/warehouses.ts';
import { createWarehouse } from '../../src/cli/create-warehouse.ts';
import { findFreePort } from '../../src/local/local-process.ts';
import { createLease } from '../../src/store/loads/lease.ts';
import { ensureSchedules } from '../../src/temporal/schedules.ts';
import { relationsOf } from '../../src/warehouse/bigquery/ddl.ts';
import type { Warehouse } from '../../src/warehouse/warehouse.ts';
import { backUp } from '../support/backup.ts';
import { useBigQuery } from '../support/bigquery.ts';
import { deleteSchedules, endProcess, type Installation, install } from '../support/installation.ts';
import { executeIn } from '../warehouse/conformance-targets.ts';

const main = new URL('../../dist/src/cli/main.js', import.meta.url).pathname;

export interface Site {
  readonly installation: Installation;
  readonly warehouses: readonly Warehouse[];
  /** Sets all warehouses back to now, later. */
  backUpWarehouses(): Promise<() => Promise<void>>;
  dropWarehouses(): Promise<void>;
  close(): Promise<void>;
}

const sync = {
  interval: '2s',
  settle: '1s',
  overlap: '1m',
  inbox_sweep: '2s',
  start_from: '2h',
  reread: { horizon: '2h' },
};

export const openSite = async (): Promise<Site> => {
  const emulator = await useBigQuery();
  const bigquery = bigqueryWarehouseSchema.parse({
    type: 'bigquery',
    project: emulator.project,
    dataset: emulator.dataset,
    api_endpoint: emulator.restUrl,
    commit_interval_s: 2,
    quota: { jobs_per_day: 100_000 },
  });
  const installation = await install({
    simulator: {
      seed: 71,
      calls: {
        count: 150,
        utterances: 2,
        lateShare: 0,
        // All of them are there when it begins, and none appears while it is compared.
        processingSeconds: 1,
        from: new Date(Date.now() - 3_600_000).toISOString(),
      },
      live: { callsPerSecond: 2, processingSeconds: 1, editShare: 0.05 },
      // What only webhooks carry cannot be read again: the list carries everything.
      listOmits: [],
      edits: { requalifyShare: 0.5, webhookShare: 1 },
      rateLimit: { requests: 0 },
    },
    source: { limits: { requests: 400, per_s: 1 } },
    config: { sync, warehouses: { postgres: { type: 'postgres' }, bigquery } },
  });
  const { store, warehouse } = installation;
  const warehouses = [warehouse, createWarehouse('bigquery', bigquery, store)];
  // No commit is half in a backup.
  const alone = <T>(work: () => Promise<T>): Promise<T> => createLease(store).run('bigquery bigquery', work);
  const tables = relationsOf(bigquery).map(({ name }) => name);
  const run = async (sql: readonly string[]): Promise<void> => void (await executeIn(bigquery, `${sql.join(';\n')};`));
  const receiver = await startReceiver(installation);
  await installation.startWorker();
  await installation.startWorker();
  await ensureSchedules(installation.client, installation.prefix, syncConfigSchema.parse(sync));
  let copies = 0;
  return {
    installation,
    warehouses,
    backUpWarehouses: async () => {
      copies += 1;
      const copyOf = (table: string) => `\`${bigquery.dataset}.copy_${copies}_${table}\``;
      const restorePostgres = await backUp(store.pool, 'calls');
      await alone(() =>
        run(tables.map((table) => `CREATE TABLE ${copyOf(table)} AS SELECT * FROM \`${bigquery.dataset}.${table}\``)),
      );
      return async () => {
        await alone(async () => {
          await retryDeadlock(restorePostgres);
          await run(
            tables.flatMap((table) => [
              `DELETE FROM \`${bigquery.dataset}.${table}\` WHERE TRUE`,
              `INSERT INTO \`${bigquery.dataset}.${table}\` SELECT * FROM ${copyOf(table)}`,
            ]),
          );
        });
      };
    },
    dropWarehouses: () =>
      alone(async () => {
        await store.pool.query('DROP SCHEMA calls CASCADE');
        await run(tables.map((table) => `DROP TABLE \`${bigquery.dataset}.${table}\``));
      }),
    close: async () => {
      await deleteSchedules(installation);
      await endProcess(receiver, 'SIGKILL');
      for (const opened of warehouses.slice(1)) await opened.close();
      await installation.dispose();
    },
  };
};

const startReceiver = async (site: Installation): Promise<ChildProcess> => {
  const port = await findFreePort();
  const configPath = join(site.folder, 'receiver.yaml');
  const config = parse(await readFile(site.configPath, 'utf8'));
  config.webhook = {
    port,
    header_prefix: 'X-Service-',
    secrets: [{ name: 'current', secret: site.simulator.signingSecret }],
  };
  await writeFile(configPath, stringify(config), { mode: 0o600 });
  const receiver = spawn(process.execPath, [main, 'serve', '--config', configPath, '--json', '--log-level', 'error'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(receiver.stdout, 'data');
  await site.control.startWebhooks({ url: `http://127.0.0.1:${port}/webhook` });
  return receiver;
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
