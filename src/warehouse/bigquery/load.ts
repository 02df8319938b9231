/** One commit: a load job brings everything into a staging table, a script job applies it to all tables. */
import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { setImmediate } from 'node:timers/promises';
import { createGzip } from 'node:zlib';
import type { ColumnType, Row, Table, WordArrays } from '../../../schemas/tables.ts';
import { terminal, transient } from '../../lib/errors.ts';
import { canonicalDecimal, contentHash } from '../content-hash.ts';
import type { CallLoad, FlatRows, LoadBatch, LoadResult } from '../warehouse.ts';
import type { Connection } from './client.ts';
import type { BigqueryWarehouseConfig } from './config.ts';
import { type Layout, stagedTables, stagingFields } from './ddl.ts';
import { faultOf, judge } from './errors.ts';
import { writeLoadScript } from './load-script.ts';
import { encryptionOf, tableResource } from './migrate.ts';
import { datesOf, isMoved, mostDates } from './partitions.ts';
import { type Jobs, jobTimeoutMs, type Queries, queryConfiguration } from './queries.ts';
import type { Quota } from './quota.ts';
import { failTo, type RetryRules, retry, unless } from './retry.ts';

interface LoadDeps extends Connection {
  readonly name: string;
  readonly jobs: Jobs;
  readonly queries: Queries;
  readonly staging: ReturnType<typeof createStaging>;
  readonly quota: Quota;
  readonly compress: boolean;
  /** Whether an earlier ledger than that of the epoch has written here. */
  readonly hasUnknownPartitions: (epoch: number) => Promise<boolean>;
}

/** Longest wait for the quota inside a load; beyond it the error says when to come back. */
const maxQuotaWaitMs = 15_000;
const maxRestages = 5;

/** See `Warehouse.load`. Rejects with CallsyncError BIGQUERY_…; TOO_LARGE if a job may not touch so many days. */
export const loadBatch = async (deps: LoadDeps, batch: LoadBatch, signal?: AbortSignal): Promise<LoadResult> => {
  const entries = [...batch.calls, ...batch.tombstones];
  const sent = entries.length;
  if (new Set(entries.map(({ callId }) => callId)).size < sent)
    throw new Error(`load ${batch.loadId} names a call twice`);
  const logRows = Object.values(batch.logs).reduce((sum, rows) => sum + rows.length, 0);
  if (sent + logRows === 0) return { changed: 0, unchanged: 0 };
  // Callers divide a load that is refused for its size.
  if (new Set(entries.flatMap(datesOf)).size > mostDates)
    throw terminal('BIGQUERY_TOO_LARGE', `The calls of load ${batch.loadId} are on more than ${mostDates} days.`);
  const unknownPartitions = await deps.hasUnknownPartitions(batch.epoch);
  const { changed, committedAt } = await commit(deps, { batch, unknownPartitions }, signal);
  if (batch.tombstones.length > 0) await deps.staging.dropLeftovers();
  return { changed, unchanged: sent - changed, committedAt };
};

/** Names of one commit's jobs and staging tables; they take letters, digits and `_`. Never the same twice. */
const createNames = (deps: LoadDeps, { loadId }: LoadBatch) => {
  const id = `${loadId.replace(/[^A-Za-z0-9_]/g, '_')}_${randomBytes(4).toString('hex')}`;
  const count = { jobs: 0, tables: 0 };
  return {
    count,
    nextJob: () => `callsync_${deps.config.dataset}_${id}_${++count.jobs}`,
    nextTable: () => `${stagingPrefix(deps.config)}${id}_${++count.tables}`,
  };
};
type Names = ReturnType<typeof createNames>;

/**
 * The answer of the script of a commit.
 * `committedAt` = microseconds.
 */
const commit = async (deps: LoadDeps, task: Task, signal?: AbortSignal) => {
  await awaitQuota(deps, signal);
  const { batch } = task;
  const encoded = await encodeBatch(batch, deps.config, deps.compress);
  const names = createNames(deps, batch);
  try {
    for (let round = 0; round < maxRestages; round += 1) {
      const table = await stage(deps, names, encoded, signal);
      const committed = await apply(deps, names, { ...task, table, ...encoded }, signal);
      if (committed === undefined) continue;
      await deps.staging.drop(table);
      return committed;
    }
  } finally {
    // One load job for each staging table.
    const hasChanges = batch.calls.some(({ partitions }) => partitions.length > 0);
    await deps.quota.spend(Math.max(1, names.count.tables), hasChanges);
  }
  throw transient('BIGQUERY_STAGING_LOST', `The staging table of ${batch.loadId} was lost ${maxRestages} times.`);
};

const awaitQuota = async (deps: LoadDeps, signal?: AbortSignal): Promise<void> => {
  const wait = await deps.quota.waitMs('any');
  if (wait > maxQuotaWaitMs)
    throw transient('BIGQUERY_QUOTA_RESERVED', `Warehouse "${deps.name}" has used its share of the quota.`, {
      retryAfterMs: wait,
    });
  if (wait > 0) await deps.pause(wait, signal);
};

/** The id of a failed job cannot be used again, so each attempt has another one. */
const rulesOf = (signal?: AbortSignal): RetryRules => ({ attempts: 60, meanings: ['again'], signal });

/** Returns the name of a staging table that holds the whole batch. */
const stage = (deps: LoadDeps, names: Names, encoded: EncodedBatch, signal?: AbortSignal): Promise<string> => {
  const loadOnce = async (): Promise<string> => {
    const table = names.nextTable();
    await deps.staging.create(table);
    const configuration = deps.staging.loadConfiguration(table);
    await deps.jobs.run({ jobId: names.nextJob(), configuration, media: encoded.media }, signal);
    return table;
  };
  return retry(deps.pause, loadOnce, rulesOf(signal)).catch(failTo(`stage a load of warehouse "${deps.name}"`));
};

type Task = { readonly batch: LoadBatch; readonly unknownPartitions: boolean };
type Application = Task & EncodedBatch & { readonly table: string };

/** Undefined when the staging table was lost before the script could read it. */
const apply = async (deps: LoadDeps, names: Names, task: Application, signal?: AbortSignal) => {
  const sql = writeLoadScript({
    ...task,
    dataset: `${deps.config.project}.${deps.config.dataset}`,
    staging: deps.staging.fullName(task.table),
    layout: deps.config,
  });
  const configuration = queryConfiguration(deps.config, { sql });
  const applyOnce = async (): Promise<string> => {
    const jobId = names.nextJob();
    await deps.jobs.run({ jobId, configuration }, signal);
    return jobId;
  };
  try {
    const jobId = await retry(deps.pause, applyOnce, rulesOf(signal));
    const [row] = await deps.queries.resultOf(jobId);
    return { changed: Number(row?.changed ?? 0), committedAt: Number(row?.committed_at ?? Date.now() * 1000) };
  } catch (cause) {
    if (!(cause instanceof Error)) {
      const fault = faultOf(cause);
      const { meaning, code } = judge(fault);
      if (code === 'BIGQUERY_STAGING_LOST') return undefined;
      if (meaning === 'missing' && fault.message.includes(task.table)) return undefined;
    }
    return failTo(`apply a load to warehouse "${deps.name}"`)(cause);
  }
};

// A batch as newline-delimited JSON for the staging table: one line per call, tombstone and log row.

type EncodedBatch = Awaited<ReturnType<typeof encodeBatch>>;

/** With `compress`, gzip at its fastest level, to save upload time. */
export const encodeBatch = async (batch: LoadBatch, layout: Layout, compress: boolean) => {
  const lines: Buffer[] = [];
  const filled = new Set<string>();
  const tables = stagedTables(layout);
  const addLine = (
    head: Readonly<Record<string, unknown>>,
    rowsOf: Readonly<Record<string, readonly Row[] | undefined>> = {},
  ): void => {
    const line: Record<string, unknown> = { n: lines.length, ...head };
    for (const table of tables) {
      const rows = rowsOf[table.name] ?? [];
      if (rows.length === 0) continue;
      filled.add(table.name);
      line[table.name] = rows.map((row) => stagedRow(table, row));
    }
    lines.push(Buffer.from(`${JSON.stringify(line)}\n`));
  };
  for (const call of batch.calls) {
    // A commit takes seconds, and all of this would keep others waiting for one.
    await setImmediate();
    const flat = call.flatten();
    addLine(headOf(call, flat, batch.keyOf(call.callId)), { ...flat, changes: call.changes });
  }
  for (const { callId: call_id, callKey: call_key, revision } of batch.tombstones)
    addLine({ kind: 'tombstone', call_id, call_key, revision, sent_before: false });
  for (const [table, rows] of Object.entries(batch.logs))
    for (const row of rows) addLine({ kind: 'log' }, { [table]: [row] });
  const media = compress ? [await buffer(Readable.from(lines).pipe(createGzip({ level: 1 })))] : lines;
  return { media, stagedRows: lines.length, filled };
};

/** Values that a staging row has otherwise than a row from flatten. */
const stagedValues: Readonly<Partial<Record<ColumnType, (value: never) => unknown>>> = {
  words: ({ value, start, length, score }: WordArrays) =>
    value.map((word, at) => ({ value: word, start: start[at], length: length[at], score: score[at] })),
  // An emulator stores decimals as text: equal numbers get one text.
  decimal: canonicalDecimal,
};

/** A row of a table as fields of a staging row; those without a value are left out. */
const stagedRow = ({ columns }: Table, row: Row): Readonly<Record<string, unknown>> => {
  const fields: Record<string, unknown> = {};
  for (const { name, type } of columns) {
    const value = row[name];
    if (value !== null && value !== undefined) fields[name] = stagedValues[type]?.(value as never) ?? value;
  }
  return fields;
};

const headOf = (call: CallLoad, flat: FlatRows, call_key: string) => {
  const { callId: call_id, callTimestamp, revision, partitions } = call;
  const head = { kind: 'call', content_hash: contentHash(flat), call_id, call_key, revision };
  return {
    ...head,
    call_timestamp: callTimestamp ?? undefined,
    sent_before: partitions.length > 0,
    moved: isMoved(call),
  };
};

// The staging table of one load job: created with an expiry before anything is loaded into it.

interface TableList {
  readonly tables?: readonly { readonly tableReference: { readonly tableId: string } }[];
  readonly nextPageToken?: string;
}

/** Beginning of the staging tables of one warehouse: several may share a staging dataset. */
const stagingPrefix = ({ dataset }: Pick<BigqueryWarehouseConfig, 'dataset'>) => `callsync_staging_${dataset}__`;

/** Works in `staging_dataset`, or in the dataset of the warehouse where none is configured. */
export const createStaging = ({ config, rest, clock, pause }: Connection) => {
  const dataset = config.staging_dataset ?? config.dataset;
  const reference = (table: string) => ({ projectId: config.project, datasetId: dataset, tableId: table });
  const drop = async (table: string): Promise<void> => {
    await rest({ method: 'DELETE', path: `/datasets/${dataset}/tables/${table}` }).catch(() => undefined);
  };
  return {
    /** `project.dataset.table`. */
    fullName: (table: string) => `${config.project}.${dataset}.${table}`,
    /** `table` is a name that was never used: an existing table comes from a request whose answer was lost. */
    async create(table: string) {
      const expirationTime = String(Math.round(clock() + config.staging_expiration_hours * 3_600_000));
      const description = 'Rows of one load, until they are in their tables.';
      const relation = { name: table, description, fields: stagingFields(config) };
      const json = { ...tableResource({ ...config, dataset }, relation), expirationTime };
      const ask = () => rest({ method: 'POST', path: `/datasets/${dataset}/tables`, json });
      await retry(pause, ask).catch(unless('duplicate', 'create a staging table'));
    },
    /** Never fails: a table that stays behind expires. */
    drop,
    /**
     * Drops tables that loads left behind, under the warehouse's lease: they hold rows of calls that have been erased
     * since. Never fails.
     */
    async dropLeftovers() {
      for (let pageToken: string | undefined, more = true; more; more = pageToken !== undefined) {
        const page: TableList = await rest<TableList>({
          path: `/datasets/${dataset}/tables`,
          query: { maxResults: 1_000, pageToken },
        }).catch(() => ({}));
        const names = (page.tables ?? []).map(({ tableReference: { tableId } }) => tableId);
        for (const name of names) if (name.startsWith(stagingPrefix(config))) await drop(name);
        pageToken = page.nextPageToken;
      }
    },
    /** Configuration of the load job; the table must exist and be empty. */
    loadConfiguration: (table: string) => ({
      jobTimeoutMs: String(jobTimeoutMs),
      labels: config.labels,
      load: {
        destinationTable: reference(table),
        schema: { fields: stagingFields(config) },
        sourceFormat: 'NEWLINE_DELIMITED_JSON',
        createDisposition: 'CREATE_NEVER',
        writeDisposition: 'WRITE_EMPTY',
        maxBadRecords: 0,
        destinationEncryptionConfiguration: encryptionOf(config),
      },
    }),
  };
};
