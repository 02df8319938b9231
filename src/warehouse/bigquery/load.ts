/** One commit: a load job brings everything into a staging table, a script job applies it to all tables. */
import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { createGzip } from 'node:zlib';
import { type Column, keptTables, type Row, type Table, tableOf, type WordArrays } from '../../../schemas/tables.ts';
import { transient } from '../../lib/errors.ts';
import { canonicalDecimal, contentHash } from '../digest.ts';
import type { CallLoad, FlatRows, LoadBatch, LoadResult, TombstoneLoad } from '../warehouse.ts';
import type { Connection } from './client.ts';
import { type Layout, logTables } from './ddl.ts';
import { faultOf, judge } from './errors.ts';
import type { Jobs } from './jobs.ts';
import { type Part, writeLoadScript } from './load-script.ts';
import { isMoved, splitByPartitions } from './partitions.ts';
import { type Queries, queryConfiguration } from './queries.ts';
import type { Quota } from './quota.ts';
import { failTo, type RetryRules, retry } from './retry.ts';
import { type Staging, stagingPrefix } from './staging.ts';

interface LoadDeps extends Connection {
  readonly name: string;
  readonly jobs: Jobs;
  readonly queries: Queries;
  readonly staging: Staging;
  readonly quota: Quota;
  readonly compress: boolean;
  /** Whether an earlier ledger than that of the epoch has written here. */
  readonly hasUnknownPartitions: (epoch: number) => Promise<boolean>;
}

/** Longest wait for the quota inside a load; beyond it the error says when to come back. */
const maxQuotaWaitMs = 15_000;
const maxRestages = 5;

/** See `Warehouse.load`. Rejects with CallsyncError BIGQUERY_…; earlier commits stay. */
export const loadBatch = async (deps: LoadDeps, batch: LoadBatch, signal?: AbortSignal): Promise<LoadResult> => {
  const ids = [...batch.calls, ...batch.tombstones].map(({ callId }) => callId);
  if (new Set(ids).size < ids.length) throw new Error(`load ${batch.loadId} names a call twice`);
  const sent = ids.length;
  const logRows = Object.values(batch.logs).reduce((sum, rows) => sum + rows.length, 0);
  if (sent + logRows === 0) return { changed: 0, unchanged: 0 };
  const unknownPartitions = await deps.hasUnknownPartitions(batch.epoch);
  const parts = splitByPartitions(batch);
  let changed = 0;
  let committedAt = 0;
  for (const [index, part] of parts.entries()) {
    const last = index === parts.length - 1;
    const done = await commitPart(deps, { part, last, sent, unknownPartitions, changedBefore: changed }, signal);
    changed += done.changed;
    committedAt = done.committedAt;
  }
  if (batch.tombstones.length > 0) await deps.staging.dropLeftovers();
  return { changed, unchanged: sent - changed, committedAt };
};

/** Names of one commit's jobs and staging tables; they take letters, digits and `_`. Never the same twice. */
const createNames = (deps: LoadDeps, { loadId }: LoadBatch) => {
  const id = `${loadId.replace(/[^A-Za-z0-9_]/g, '_')}_${randomBytes(4).toString('hex')}`;
  const count = { jobs: 0, tables: 0 };
  return {
    count,
    nextJob() {
      count.jobs += 1;
      return `callsync_${deps.config.dataset}_${id}_${count.jobs}`;
    },
    nextTable() {
      count.tables += 1;
      return `${stagingPrefix(deps.config)}${id}_${count.tables}`;
    },
  };
};
type Names = ReturnType<typeof createNames>;

/**
 * The answer of the script of a commit.
 * `committedAt` = microseconds.
 */
const commitPart = async (deps: LoadDeps, task: Part, signal?: AbortSignal) => {
  await awaitQuota(deps, signal);
  const encoded = await encodeBatch(task.part, deps.config, deps.compress);
  const names = createNames(deps, task.part);
  try {
    for (let round = 0; round < maxRestages; round += 1) {
      const table = await stage(deps, names, encoded, signal);
      const commit = await apply(deps, names, { ...task, table, stagedRows: encoded.rows }, signal);
      if (commit === undefined) continue;
      await deps.staging.drop(table);
      return commit;
    }
  } finally {
    // One load job for each staging table.
    const hasChanges = task.part.calls.some(({ partitions }) => partitions.length > 0);
    await deps.quota.spend(Math.max(1, names.count.tables), hasChanges);
  }
  throw transient('BIGQUERY_STAGING_LOST', `The staging table of ${task.part.loadId} was lost ${maxRestages} times.`);
};

const awaitQuota = async (deps: LoadDeps, signal?: AbortSignal): Promise<void> => {
  const wait = await deps.quota.waitMs('any');
  if (wait > maxQuotaWaitMs)
    throw transient('BIGQUERY_QUOTA_RESERVED', `Warehouse "${deps.name}" has used its share of the quota.`, {
      hint: 'Wait, or raise `quota` of this warehouse if the quotas of the project allow it.',
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

interface Application extends Part {
  readonly table: string;
  readonly stagedRows: number;
}

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
  const chunks: Buffer[] = [];
  let pending = '';
  let rows = 0;
  let bytes = 0;
  const add = (line: string): void => {
    rows += 1;
    bytes += line.length;
    pending += `${line}\n`;
    if (pending.length > 1 << 20) {
      chunks.push(Buffer.from(pending));
      pending = '';
    }
  };
  const tables = keptTables(layout.documents).map((table) => encoderOf(table, ['call_id', 'call_timestamp']));
  const changes = encoderOf(tableOf('changes'), ['call_id', 'call_timestamp']);
  for (const call of batch.calls) add(callLine(rows, call, batch.keyOf(call.callId), { tables, changes }));
  for (const tombstone of batch.tombstones) add(tombstoneLine(rows, tombstone));
  for (const table of logTables) {
    const encode = encoderOf(table, []);
    for (const row of batch.logs[table.name as keyof LoadBatch['logs']] ?? [])
      add(`{"n":${rows},"kind":"log","${table.name}":[${encode.row(row)}]}`);
  }
  chunks.push(Buffer.from(pending));
  return { media: compress ? await compressChunks(chunks) : chunks, rows, bytes };
};

const compressChunks = async (chunks: readonly Buffer[]): Promise<Buffer[]> => {
  const compressed: Buffer[] = [];
  for await (const chunk of Readable.from(chunks).pipe(createGzip({ level: 1 }))) compressed.push(chunk as Buffer);
  return compressed;
};

interface TableEncoder {
  readonly name: string;
  row(row: Row): string;
}

const encoderOf = (table: Table, skip: readonly string[]): TableEncoder => {
  const columns = table.columns
    .filter(({ name }) => !skip.includes(name))
    .map((column) => ({ column, head: `"${column.name}":` }));
  return {
    name: table.name,
    row(row) {
      let line = '';
      for (const { column, head } of columns) {
        const value = row[column.name];
        if (value === null || value === undefined) continue;
        line += `${line === '' ? '' : ','}${head}${encodeValue(column, value)}`;
      }
      return `{${line}}`;
    },
  };
};

const encodeValue = (column: Column, value: unknown): string => {
  if (column.type === 'words') return encodeWords(value as WordArrays);
  // An emulator stores decimals as text: equal numbers get one text.
  if (column.type === 'decimal') return JSON.stringify(canonicalDecimal(String(value)));
  if (typeof value === 'string') return JSON.stringify(value);
  return typeof value === 'number' && !Number.isFinite(value) ? 'null' : String(value);
};

const encodeWords = (words: WordArrays): string => {
  let list = '';
  for (let index = 0; index < words.value.length; index += 1) {
    const value = words.value[index];
    list += `${index === 0 ? '' : ','}{"value":${typeof value === 'string' ? JSON.stringify(value) : 'null'}`;
    list += `,"start":${words.start[index] ?? null},"length":${words.length[index] ?? null}`;
    list += `,"score":${words.score[index] ?? null}}`;
  }
  return `[${list}]`;
};

type CallEncoders = { readonly tables: readonly TableEncoder[]; readonly changes: TableEncoder };

const callLine = (n: number, call: CallLoad, key: string, { tables, changes }: CallEncoders): string => {
  const flat = call.flatten();
  let line = `{"n":${n},"kind":"call","content_hash":"${contentHash(flat)}","call_id":${JSON.stringify(call.callId)},"call_key":${JSON.stringify(key)}`;
  line += `,"call_timestamp":${call.callTimestamp},"revision":${call.revision},"sent_before":${call.partitions.length > 0}`;
  line += `,"moved":${isMoved(call)}`;
  for (const table of tables) {
    const rows = flat[table.name as keyof FlatRows] ?? [];
    if (rows.length > 0) line += `,"${table.name}":[${rows.map((row) => table.row(row)).join(',')}]`;
  }
  if (call.changes.length > 0) line += `,"changes":[${call.changes.map((row) => changes.row(row)).join(',')}]`;
  return `${line}}`;
};

const tombstoneLine = (n: number, { callId, callKey, revision }: TombstoneLoad): string =>
  `{"n":${n},"kind":"tombstone","call_id":${JSON.stringify(callId)},"call_key":${JSON.stringify(callKey)}` +
  `,"revision":${revision},"sent_before":false}`;
