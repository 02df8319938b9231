/** One load: stage everything with one load job, apply everything with one script job, each under an id of its own. */
import type { BigqueryWarehouseConfig } from '../../../schemas/config/warehouses.ts';
import { tableOf } from '../../../schemas/tables.ts';
import { backoffMs } from '../../backoff.ts';
import { transient } from '../../errors.ts';
import type { LoadBatch, LoadResult } from '../warehouse.ts';
import type { Budget, Pace } from './budget.ts';
import { changedOfLoad } from './counts.ts';
import { type EncodedBatch, encodeBatch } from './encode.ts';
import { errorOf, type Fault, judge } from './errors.ts';
import { datesOf, foldBatch, splitByPartitions } from './fold-batch.ts';
import { type JobOutcome, type Jobs, type Pause, retryPace } from './jobs.ts';
import { writeLoadScript } from './load-script.ts';
import { partitionOf } from './partitions.ts';
import { type Queries, queryConfiguration } from './queries.ts';
import type { Staging } from './staging.ts';

export interface LoadDeps {
  readonly name: string;
  readonly config: BigqueryWarehouseConfig;
  readonly jobs: Jobs;
  readonly queries: Queries;
  readonly staging: Staging;
  readonly budget: Budget;
  readonly pause: Pause;
  readonly compress: boolean;
  /** Whether an earlier ledger than that of the epoch has written here. */
  readonly hasUnknownPartitions: (epoch: number) => Promise<boolean>;
}

/** Longest wait for the budget inside a load; past it the caller hears when to come back. */
const maxBudgetWaitMs = 15_000;
/** Attempts of one step before the caller is told to come back later. */
const maxAttempts = 60;
const maxRestages = 5;
const bulkOrigins = new Set(['backfill', 'rebuild', 'fill']);

export const loadBatch = async (deps: LoadDeps, batch: LoadBatch, signal?: AbortSignal): Promise<LoadResult> => {
  const folded = foldBatch(batch);
  const sent = folded.calls.length + folded.tombstones.length;
  const logRows = Object.values(folded.logs).reduce((sum, rows) => sum + rows.length, 0);
  if (sent + logRows === 0) return { changed: 0, unchanged: 0 };
  const unknownPartitions = await deps.hasUnknownPartitions(batch.epoch);
  const parts = splitByPartitions(folded);
  let changed = 0;
  for (const [index, part] of parts.entries()) {
    const last = index === parts.length - 1;
    const id = parts.length === 1 ? batch.loadId : `${batch.loadId}_${index + 1}`;
    changed += await commitPart(
      deps,
      { part, id: safeId(id), last, sent, unknownPartitions, changedBefore: changed },
      signal,
    );
  }
  return { changed, unchanged: sent - changed };
};

interface Part {
  readonly part: LoadBatch;
  readonly id: string;
  readonly last: boolean;
  readonly sent: number;
  readonly unknownPartitions: boolean;
  readonly changedBefore: number;
}

const commitPart = async (deps: LoadDeps, task: Part, signal?: AbortSignal): Promise<number> => {
  const partitions = new Set([...task.part.calls, ...task.part.tombstones].flatMap(datesOf));
  await awaitBudget(deps, partitions.size, bulkOrigins.has(task.part.origin) ? 'bulk' : 'quota', signal);
  const encoded = await encodeBatch(task.part, deps.config, deps.compress);
  let attempts = 0;
  try {
    for (let round = 0; round < maxRestages; round += 1) {
      const staged = await stage(deps, task, { encoded, after: attempts }, signal);
      attempts = staged.attempt;
      const changed = await apply(deps, { ...task, partitions, rows: encoded.rows, ...staged }, signal);
      if (changed === undefined) continue;
      await deps.staging.drop(staged.table);
      return changed;
    }
  } finally {
    await deps.budget.spend({ jobs: Math.max(1, attempts), partitions: partitions.size });
  }
  throw transient('BIGQUERY_STAGING_LOST', `The staging table of load ${task.id} was lost ${maxRestages} times.`);
};

const awaitBudget = async (deps: LoadDeps, partitions: number, pace: Pace, signal?: AbortSignal): Promise<void> => {
  const wait = await deps.budget.waitMs({ partitions, pace });
  if (wait > maxBudgetWaitMs) {
    throw transient('BIGQUERY_BUDGET', `Warehouse "${deps.name}" has used its budget for now.`, {
      hint: 'Wait, or raise `budget` of this warehouse where the quotas of the project allow it.',
      retryAfterMs: wait,
    });
  }
  if (wait > 0) await deps.pause(wait, signal);
};

interface Staged {
  readonly table: string;
  readonly attempt: number;
}

/** One load job into a table that expires by itself. Each attempt has a job id and a table of its own. */
const stage = async (
  deps: LoadDeps,
  task: Part,
  { encoded, after }: { readonly encoded: EncodedBatch; readonly after: number },
  signal?: AbortSignal,
): Promise<Staged> => {
  let fault: Fault = { message: 'no attempt' };
  for (let attempt = after + 1; attempt <= after + maxAttempts; attempt += 1) {
    const table = deps.staging.nameOf(task.id, attempt);
    const created = await deps.staging.create(table);
    const outcome = await deps.jobs.run(
      {
        jobId: jobIdOf(deps, task.id, `stage_${attempt}`),
        configuration: deps.staging.loadConfiguration(table),
        media: encoded.media,
      },
      signal,
    );
    if (outcome.job !== undefined) {
      // Loaded earlier into a table of this name that is gone: of use only if it was also applied.
      if (!(created && outcome.found) || (await isApplied(deps, task.id, attempt))) return { table, attempt };
      continue;
    }
    fault = outcome.fault;
    const { meaning } = judge(fault);
    // What an earlier run left behind is no reason to wait or to give up: since then somebody may have mended it.
    if (meaning === 'duplicate' || outcome.found) continue;
    if (meaning !== 'again') break;
    await deps.pause(backoffMs(attempt - after, retryPace), signal);
  }
  throw errorOf(fault, `stage load ${task.id} of warehouse "${deps.name}"`);
};

const isApplied = async (deps: LoadDeps, id: string, attempt: number): Promise<boolean> => {
  for (let script = 1; ; script += 1) {
    const job = await deps.jobs.find(jobIdOf(deps, id, `apply_${attempt}_${script}`));
    if (job === undefined) return false;
    if (job.status.state !== 'DONE' || job.status.errorResult === undefined) return true;
  }
};

interface Application extends Part, Staged {
  readonly partitions: ReadonlySet<string | null>;
  readonly rows: number;
}

/** The script job. Undefined: its staging table is lost, stage again. */
const apply = async (deps: LoadDeps, task: Application, signal?: AbortSignal): Promise<number | undefined> => {
  const configuration = scriptConfiguration(deps, task);
  let fault: Fault = { message: 'no attempt' };
  for (let script = 1; script <= maxAttempts; script += 1) {
    const jobId = jobIdOf(deps, task.id, `apply_${task.attempt}_${script}`);
    const outcome: JobOutcome = await deps.jobs.run({ jobId, configuration }, signal);
    if (outcome.job !== undefined) {
      return await readChanged(deps, jobId, task.part.loadId);
    }
    fault = outcome.fault;
    const { meaning, code } = judge(fault);
    if (code === 'BIGQUERY_STAGING_LOST') return undefined;
    if (meaning === 'missing' && fault.message.includes(task.table)) return undefined;
    if (outcome.found) continue;
    if (meaning !== 'again') break;
    await deps.pause(backoffMs(script, retryPace), signal);
  }
  throw errorOf(fault, `apply load ${task.id} to warehouse "${deps.name}"`);
};

const scriptConfiguration = (deps: LoadDeps, task: Application): Record<string, unknown> => {
  const { part } = task;
  const sql = writeLoadScript({
    load: {
      id: part.loadId,
      origin: part.origin,
      epoch: part.epoch,
      flattenVersion: part.flattenVersion,
      sent: task.sent,
      changedBefore: task.changedBefore,
      stagedRows: task.rows,
    },
    dataset: `${deps.config.project}.${deps.config.dataset}`,
    staging: deps.staging.fullName(task.table),
    layout: deps.config,
    calls: part.calls.length > 0,
    tombstones: part.tombstones.length > 0,
    unknownPartitions: task.unknownPartitions,
    force: part.force === true,
    moved: part.calls.some((call) => new Set(datesOf(call)).size > 1),
    partitions: task.partitions,
    last: task.last,
    logs: logDates(part),
  });
  return queryConfiguration(deps.config, { sql });
};

/** The log tables of the batch; the dates of the one that is partitioned. */
const logDates = (part: LoadBatch): Map<string, (string | null)[]> => {
  const receivedAt = tableOf('deliveries').columns.findIndex((column) => column.name === 'received_at');
  const logs = new Map<string, (string | null)[]>();
  for (const [name, rows] of Object.entries(part.logs)) {
    if (rows.length === 0) continue;
    logs.set(name, name === 'deliveries' ? rows.map((row) => partitionOf(row[receivedAt] as number | null)) : []);
  }
  return logs;
};

/** The script's result, kept by BigQuery for a day; otherwise the row of `loads` says the same. */
const readChanged = async (deps: LoadDeps, jobId: string, loadId: string): Promise<number> => {
  const result = (await deps.queries.resultOf(jobId))?.[0]?.changed;
  if (typeof result === 'number') return result;
  const [row] = await deps.queries.run(changedOfLoad(deps.config, loadId));
  return Number(row?.changed ?? 0);
};

const jobIdOf = ({ config }: LoadDeps, id: string, step: string): string => `callsync_${config.dataset}_${id}_${step}`;
/** Job ids and table names take letters, digits, `_` (and job ids `-`). */
const safeId = (loadId: string): string => loadId.replace(/[^A-Za-z0-9_]/g, '_');
