/** The BigQuery warehouse: two jobs a commit, whatever the number of tables, and none when idle. */

import { transient } from '../../lib/errors.ts';
import { digestTables } from '../digest.ts';
import type { Lease, Warehouse } from '../warehouse.ts';
import { createClient, createRest } from './client.ts';
import type { BigqueryWarehouseConfig } from './config.ts';
import { countQuery } from './counts.ts';
import { digestCalls } from './digest-calls.ts';
import { ensureViews } from './ensure-views.ts';
import { createFence, fenceColumns } from './fence.ts';
import { createGrants } from './grants.ts';
import { chunkIds, listCallIds, listGuards, listOrphans } from './guards.ts';
import { createJobs } from './jobs.ts';
import { createLocalLease } from './lease.ts';
import { loadBatch } from './load.ts';
import { migrate } from './migrate.ts';
import { partitionOf } from './partitions.ts';
import { createQueries } from './queries.ts';
import { createQuota, describeQuota, limitsOf, type Quota, type QuotaMemory } from './quota.ts';
import { listTable, rowsOf } from './read.ts';
import { notSelect, openReader } from './reader.ts';
import { removeOrphansScript, removeScript, rowsLeftParameters, rowsLeftQuery } from './remove.ts';
import { type Pause, pause as realPause } from './retry.ts';
import { createTranscriptSearch } from './search.ts';
import { createStaging } from './staging.ts';
import { stateQuery } from './state.ts';
import { listStatements } from './statements.ts';

export interface BigqueryWarehouseOptions {
  readonly name: string;
  readonly config: BigqueryWarehouseConfig;
  /** Shared by all processes that load this warehouse; one within this process by default. */
  readonly lease?: Lease;
  /** Milliseconds since the epoch. */
  readonly clock?: () => number;
  /** By default the limits of the config. */
  readonly quota?: Quota;
  /** Shared by all processes that load this warehouse and kept over restarts; of this process by default. */
  readonly quotaMemory?: QuotaMemory;
  readonly pause?: Pause;
  readonly requestTimeoutMs?: number;
  /** Gzip of uploads; by default where there is a network between. */
  readonly compress?: boolean;
}

export interface BigqueryWarehouse extends Warehouse {
  readonly kind: 'bigquery';
  /** Jobs submitted since the start. */
  jobsSubmitted(): number;
}

const requestTimeoutMs = 60_000;
/** Keeps a script far below the 1 MB that a query may have. */
const itemsPerRemoval = 1_000;
/**
 * A dataset of BigQuery as a warehouse; nothing is asked before the first call of a method. Errors are CallsyncErrors with a
 * code `BIGQUERY_…`.
 */
export const createBigqueryWarehouse = (options: BigqueryWarehouseOptions): BigqueryWarehouse => {
  const { name, config, clock = Date.now, pause = realPause, lease = createLocalLease() } = options;
  const emulated = config.api_endpoint !== undefined;
  const quota = options.quota ?? createQuota(limitsOf(config), clock, options.quotaMemory);
  const rest = createRest(() => createClient(config), config.project, options.requestTimeoutMs ?? requestTimeoutMs);
  const jobs = createJobs({ rest, project: config.project, location: config.location, pause });
  const queries = createQueries({ config, rest, jobs, pause });
  const staging = createStaging({ config, rest, clock, pause });
  const reading = { config, rest, queries, pause };
  const dataset = `${config.project}.${config.dataset}`;

  const fence = createFence({ dataset, queries, clock, rows: () => listTable(reading, 'fence', fenceColumns) });
  const loadDeps = {
    name,
    config,
    jobs,
    queries,
    staging,
    quota,
    pause,
    hasUnknownPartitions: fence.hasUnknownPartitions,
    compress: options.compress ?? !emulated,
    isShared: options.lease === undefined,
  };

  const runRemoval = <T>(items: readonly T[], scriptOf: (some: readonly T[]) => string): Promise<void> =>
    lease.run(`bigquery ${name}`, async () => {
      for (let start = 0; start < items.length; start += itemsPerRemoval) {
        await queries.run({ sql: scriptOf(items.slice(start, start + itemsPerRemoval)) });
      }
    });

  const query: Warehouse['query'] = async (sql, signal) => {
    if ((await queries.plan(sql)).type !== 'SELECT') throw notSelect();
    return await queries.run({ sql, signal }, 'plain');
  };
  return {
    name,
    kind: 'bigquery',
    keepsDeleted: {
      days: 14,
      why: 'BigQuery keeps deleted rows for its time travel (7 days at most) and 7 days of fail-safe after it, counted from the load that deletes them; staging tables of a load that failed for a day; its history of jobs keeps statements for 180 days, and with them the ids of calls that a load or a removal named, but no content',
    },
    immediate: false,
    maxCallsPerLoad: config.max_calls_per_load,
    partitionOf,
    migrate: () => migrate({ config, rest, pause }),
    ensureViews: (name, views) => ensureViews({ config, rest, pause }, queries, name, views),
    load: (batch) =>
      lease.run(`bigquery ${name}`, async (signal) => {
        try {
          return await loadBatch(loadDeps, batch, signal);
        } catch (cause) {
          if (!signal.aborted) throw cause;
          throw transient('BIGQUERY_LEASE_LOST', `Another process may be loading warehouse "${name}" now.`, { cause });
        }
      }),
    heartbeatMs: emulated ? 15_000 : 300_000,
    recordState: async (row) => void (await queries.run({ sql: stateQuery(dataset, row) })),
    async countRows() {
      const rows = await queries.run({ sql: countQuery(config) });
      return Object.fromEntries(rows.map((row) => [row.relation as string, row.row_count as number]));
    },
    digestTables: () => digestTables(config.documents, (table) => rowsOf(reading, table)),
    rowsOf: (table) => rowsOf(reading, table),
    query,
    openReader: (rights) => openReader({ queries, config, rights, query }),
    listGuards: (range) => listGuards(queries, dataset, config, range),
    removeOrphans: (callIds) => runRemoval(callIds, (some) => removeOrphansScript(dataset, config, some)),
    removeCalls: (guards) => runRemoval(guards, (some) => removeScript(dataset, config, some)),
    digestCalls: (callIds, dates) => digestCalls(queries, dataset, config, callIds, dates),
    async rowsLeft(callIds, dates) {
      const sql = rowsLeftQuery(dataset, config, dates);
      let rows = 0;
      for (const ids of chunkIds(callIds)) {
        const [left] = await queries.run({ sql, ...rowsLeftParameters(ids) });
        rows += Number(left?.n ?? 0);
      }
      return rows;
    },
    listCallIds: (range) => listCallIds(queries, dataset, range),
    listOrphans: ({ part } = { part: 0, of: 1 }) => listOrphans(queries, dataset, config, part),
    grants: createGrants(queries, rest, config),
    search: createTranscriptSearch(queries, config),
    statements: () => listStatements(config),
    nextCommitInMs: quota.waitMs,
    describeQuota: async () => describeQuota(await quota.jobs(), await quota.waitMs('interval')),
    readUsage: async () => ({
      jobs: await quota.jobs(),
      billedBytes: jobs.billedBytes(),
      nextCommitInMs: await quota.waitMs('interval'),
    }),
    jobsSubmitted: () => jobs.submitted(),
    close: async () => undefined,
  };
};
