/** The BigQuery warehouse: two jobs a commit, whatever the number of tables, and none when idle. */
import type { BigqueryWarehouseConfig } from '../../../schemas/config/warehouses.ts';
import { terminal, transient } from '../../errors.ts';
import { digestTables } from '../digest.ts';
import type { Lease, Warehouse } from '../warehouse.ts';
import { createLocalDaySizes, type DaySizes } from './billing.ts';
import { createClient, createRest } from './client.ts';
import { countQuery } from './counts.ts';
import { digestCalls } from './digest-calls.ts';
import { ensureViews } from './ensure-views.ts';
import { createFence, fenceColumns } from './fence.ts';
import { createGrants } from './grants.ts';
import { listCallIds, listGuards, listOrphans } from './guards.ts';
import { createJobs } from './jobs.ts';
import { createLocalLease } from './lease.ts';
import { loadBatch } from './load.ts';
import { migrate } from './migrate.ts';
import { partitionOf } from './partitions.ts';
import { createQueries } from './queries.ts';
import { createQuota, describeQuota, limitsOf, type Quota, type QuotaMemory } from './quota.ts';
import { listTable, rowsOf } from './read.ts';
import { removeOrphansScript, removeScript } from './remove.ts';
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
  /** What days hold, for the estimate of what commits bill; of this process by default. */
  readonly daySizes?: DaySizes;
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
    daySizes: options.daySizes ?? createLocalDaySizes(),
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

  return {
    name,
    kind: 'bigquery',
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
    async query(sql, signal) {
      const type = await queries.statementTypeOf(sql);
      if (type !== 'SELECT') {
        throw terminal('QUERY_REFUSED', 'Only a single SELECT can be run here.', { hint: 'Send one query.' });
      }
      return await queries.run({ sql, signal }, 'plain');
    },
    listGuards: (range) => listGuards(queries, dataset, config, range),
    removeOrphans: (callIds) => runRemoval(callIds, (some) => removeOrphansScript(dataset, config, some)),
    removeCalls: (guards) => runRemoval(guards, (some) => removeScript(dataset, config, some)),
    digestCalls: (callIds, dates) => digestCalls(queries, dataset, config, callIds, dates),
    listCallIds: (range) => listCallIds(queries, dataset, range),
    listOrphans: () => listOrphans(queries, dataset, config),
    grants: createGrants(queries, rest, config),
    search: createTranscriptSearch(queries, config),
    statements: () => listStatements(config),
    nextCommitInMs: (of = undefined) => quota.waitMs(of ?? 'interval'),
    describeQuota: async () => describeQuota(await quota.status()),
    readUsage: async () => {
      const { jobs: spent, nextCommitInMs } = await quota.status();
      const limit = spent.limit === Number.MAX_SAFE_INTEGER ? Number.POSITIVE_INFINITY : spent.limit;
      return { jobs: { used: spent.used, limit }, billedBytes: jobs.billedBytes(), nextCommitInMs };
    },
    jobsSubmitted: () => jobs.submitted(),
    close: async () => undefined,
  };
};
