/** The BigQuery warehouse: two jobs a commit for any number of tables, and none when idle. */
import { hash, randomUUID } from 'node:crypto';
import { type Row, tableOf } from '../../../schemas/tables.ts';
import { transient } from '../../lib/errors.ts';
import { partsOf } from '../../lib/pages.ts';
import { wait } from '../../lib/timing.ts';
import { createLogExpiry } from '../expire-logs.ts';
import { type Ask, createReading } from '../reading.ts';
import { createRestoreChecks } from '../restore.ts';
import type { Lease, LoadBatch, Proof, ReaderRights, Warehouse } from '../warehouse.ts';
import { type Connection, createRest } from './client.ts';
import type { BigqueryWarehouseConfig } from './config.ts';
import { quote } from './ddl.ts';
import { dialectOf } from './dialect.ts';
import { createGrants } from './grants.ts';
import { createStaging, loadBatch } from './load.ts';
import { mergeRows } from './load-script.ts';
import { ensureViews, migrate } from './migrate.ts';
import { partitionOf, removeOrphansScript, removeScript } from './partitions.ts';
import { createJobs, createQueries, type Queries, type WireRow } from './queries.ts';
import { createQuota, limitsOf, type Quota } from './quota.ts';
import { notSelect, openReader, refuseScript } from './reader.ts';
import { failTo, type Pause, retry } from './retry.ts';
import { createTranscriptSearch } from './search.ts';

const requestTimeoutMs = 60_000;
const keptDeleted =
  'BigQuery keeps deleted rows for its time travel (7 days at most) and 7 days of fail-safe after it, counted from the load that deletes them; staging tables of a load that failed for a day; its history of jobs keeps statements for 180 days, and with them the ids of calls that a load or a removal named, but no content';
/** Keeps a script far below the 1 MB that a query may have. */
const itemsPerRemoval = 1_000;
/**
 * A dataset of BigQuery as a warehouse; nothing is asked before the first call of a method. Errors are CallsyncErrors with a
 * code `BIGQUERY_…`.
 */
export const createBigqueryWarehouse = (options: {
  readonly name: string;
  readonly config: BigqueryWarehouseConfig;
  /** Shared by all processes that load this warehouse. */
  readonly lease: Lease;
  /** Milliseconds since the epoch. */
  readonly clock?: () => number;
  /** By default the limits of the config. */
  readonly quota?: Quota;
  /** Shared by all processes that load this warehouse, and kept over restarts. */
  readonly quotaMemory: Parameters<typeof createQuota>[2];
  readonly pause?: Pause;
  readonly requestTimeoutMs?: number;
  /** Gzip of uploads; by default where there is a network between. */
  readonly compress?: boolean;
}) => {
  const { name, config, clock = Date.now, pause = wait, lease } = options;
  const emulated = config.api_endpoint !== undefined;
  const quota = options.quota ?? createQuota(limitsOf(config), clock, options.quotaMemory);
  const rest = createRest(config, options.requestTimeoutMs ?? requestTimeoutMs);
  const connection = { config, rest, pause, clock };
  const jobs = createJobs(connection);
  const queries = createQueries(connection, jobs);
  const dataset = `${config.project}.${config.dataset}`;

  const loadDeps = {
    ...connection,
    ...{ name, jobs, queries, quota },
    staging: createStaging(connection),
    ...createFence(connection, queries),
    compress: options.compress ?? !emulated,
  };

  const runRemoval = <T>(items: readonly T[], scriptOf: (some: readonly T[]) => string): Promise<void> =>
    lease.run(`bigquery ${name}`, async () => {
      for (const some of partsOf(items, itemsPerRemoval)) await queries.run({ sql: scriptOf(some) });
    });

  const query: Warehouse['query'] = async (sql, signal) => {
    refuseScript(sql);
    if ((await queries.plan(sql)).type !== 'SELECT') throw notSelect();
    return await queries.run({ sql, signal }, 'plain');
  };
  const proof: Proof = {
    ...createReading({ dialect: dialectOf(dataset), ask: askOf(queries), documents: config.documents }),
    removeOrphans: (callIds) => runRemoval(callIds, (some) => removeOrphansScript(dataset, config, some)),
    removeCalls: (guards, options) =>
      runRemoval(guards, (some) => removeScript(dataset, config, some, options?.keepsChanges)),
  };
  return {
    name,
    traits: {
      kind: 'bigquery',
      keepsDeleted: { days: 14, why: keptDeleted },
      immediate: false,
      maxCallsPerLoad: config.max_calls_per_load,
      heartbeatMs: emulated ? 15_000 : 300_000,
      partitionOf,
      faults: { tableMissing: ['BIGQUERY_NOT_FOUND'], rowsRefused: ['BIGQUERY_REFUSED', 'BIGQUERY_TOO_LARGE'] },
    },
    migrate: () => migrate(connection, queries),
    load: (batch: LoadBatch) =>
      lease.run(`bigquery ${name}`, async (signal) => {
        try {
          return await loadBatch(loadDeps, batch, signal);
        } catch (cause) {
          if (!signal.aborted) throw cause;
          throw transient('BIGQUERY_LEASE_LOST', `Another process may be loading warehouse "${name}" now.`, { cause });
        }
      }),
    recordState: async (row: Row) => void (await queries.run({ sql: stateQuery(dataset, row) })),
    query,
    proof,
    search: createTranscriptSearch(queries, config),
    grants: createGrants(queries, rest, config),
    marts: { ensure: (name, views) => ensureViews(connection, queries, name, views) },
    openReader: (rights: ReaderRights) => openReader({ queries, config, rights, query }),
    expireLogs: createLogExpiry(
      (table) => `\`${dataset}.${table}\``,
      (statements) =>
        lease.run(`bigquery ${name}`, async () => {
          for (const sql of statements) await queries.run({ sql });
        }),
    ),
    restore: createRestoreChecks(query),
    pace: {
      nextCommitInMs: quota.waitMs,
      readUsage: async () => ({
        jobs: await quota.jobs(),
        billedBytes: jobs.billedBytes(),
        nextCommitInMs: await quota.waitMs('interval'),
      }),
    },
    /** Jobs submitted since the start. */
    jobsSubmitted: jobs.submitted,
    close: async () => undefined,
  } satisfies Warehouse & { jobsSubmitted(): number };
};

const idsPerQuery = 5_000;

/** As many ids as one query takes, in the order in which BigQuery returns them. */
const askOf = (queries: Queries): Ask =>
  async function* (sql, ids, how) {
    const sorted = ids && [...ids].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
    for (const some of sorted === undefined ? [undefined] : partsOf(sorted, idsPerQuery)) {
      const salt = randomUUID();
      const sent = how === 'unlogged' ? some?.map((id) => hash('sha256', `${salt}${id}`, 'hex')) : some;
      const parameters = sent && { salt, ids: sent };
      for await (const row of queries.stream({ sql, parameters, types: { ids: 'ARRAY<STRING>' } }))
        yield withWordArrays(row);
    }
  };

const withWordArrays = (row: Record<string, unknown>): Record<string, unknown> => {
  if (!Array.isArray(row.words)) return row;
  const words = row.words as readonly Record<string, unknown>[];
  const arrays = ['value', 'start', 'length', 'score'].map((name) => [name, words.map((word) => word[name])]);
  return { ...row, words: Object.fromEntries(arrays) };
};

// The row of `fence`: whether rows of an earlier ledger, under dates that this one never sent, may still be there.

const askAgainMs = 3_600_000;

/** Parameter @epoch. Loads of earlier epochs claim nothing any more, so no such row can appear afterwards. */
export const clearFenceQuery = (dataset: string): string =>
  `UPDATE \`${dataset}.fence\` AS f SET earlier_epochs = FALSE
WHERE f.ledger_epoch = @epoch AND f.earlier_epochs
  AND NOT EXISTS (SELECT 1 FROM \`${dataset}.calls\` AS c WHERE c.ledger_epoch < @epoch)`;

const createFence = ({ config, rest, pause, clock }: Connection, queries: Queries) => {
  let last: { readonly epoch: number; readonly unknown: boolean; readonly askedAt: number } | undefined;

  const read = async (epoch: number): Promise<boolean> => {
    // Neither a job nor a charge. Columns come in the order of the schema.
    const path = `/datasets/${config.dataset}/tables/fence/data`;
    const { rows = [] } = await retry(pause, () => rest<{ rows?: readonly WireRow[] }>({ path })).catch(
      failTo('read the fence'),
    );
    return rows.some(
      ({ f: [ledgerEpoch, earlierEpochs] }) => Number(ledgerEpoch?.v) !== epoch || String(earlierEpochs?.v) === 'true',
    );
  };
  return {
    /** Cached; while the answer is yes, the warehouse is asked again every hour, because loads replace those rows. */
    async hasUnknownPartitions(epoch: number) {
      if (last?.epoch === epoch && (!last.unknown || clock() < last.askedAt + askAgainMs)) return last.unknown;
      let unknown = await read(epoch);
      if (unknown) {
        await queries.run({
          sql: clearFenceQuery(`${config.project}.${config.dataset}`),
          parameters: { epoch },
          types: { epoch: 'INT64' },
        });
        unknown = await read(epoch);
      }
      last = { epoch, unknown, askedAt: clock() };
      return unknown;
    },
  };
};

// The one row of `sync_state`: one MERGE on a table of one row, no load job, nothing staged.

const { columns, key } = tableOf('sync_state');

export const stateQuery = (dataset: string, row: Row): string => {
  const values = columns.map(({ name, type }) => `${literal(type, row[name] ?? null)} AS ${name}`);
  const names = columns.map(({ name }) => name);
  const isNewer = ' AND t.heartbeat_at <= x.heartbeat_at';
  return mergeRows(`${dataset}.sync_state`, key, names, `  SELECT ${values.join(', ')}`, { isNewer });
};

const literal = (type: string, value: unknown): string => {
  if (type === 'timestamp') return value === null ? 'CAST(NULL AS TIMESTAMP)' : `TIMESTAMP_MICROS(${Number(value)})`;
  if (type === 'int') return String(Number(value));
  return value === null ? 'CAST(NULL AS STRING)' : quote(String(value));
};
