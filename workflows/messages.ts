/** Names and shapes that workflows, workers and clients share. No workflow code, so that clients can import it. */
import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow';
import type * as work from '../schemas/orchestration.ts';

export type TaskQueues = ReturnType<typeof taskQueuesOf>;

/** Queues of one installation: workflows, live work, reading for backfills and reconcile, and loading scale apart. */
export const taskQueuesOf = (prefix: string) => ({
  workflows: prefix,
  /** Sync, inbox merge and rereads of single calls, which must not wait behind a backfill. */
  live: `${prefix}-live`,
  read: `${prefix}-read`,
  load: `${prefix}-load`,
});

export type SyncInput = { readonly queues: TaskQueues };

export interface BackfillInput extends SyncInput {
  /** Business name, unique among running backfills. */
  readonly name: string;
  readonly axis: string;
  /** Absent for a scheduled backfill until it is resolved. */
  readonly range?: work.Range;
  /** Length of a relative range in microseconds, before the time for which the run was scheduled. */
  readonly last?: number;
  readonly direction: work.Direction;
  readonly concurrency: number;
  /** Read known windows again. */
  readonly force: boolean;
  /** Filled in by continue-as-new. */
  readonly resumed?: Pick<BackfillProgress, 'range' | 'todo' | 'totals' | 'startedAt' | 'expected'> & {
    readonly paused: boolean;
    readonly windowLength?: number;
  };
}

export interface BackfillProgress {
  readonly state: 'running' | 'paused' | 'done';
  readonly axis: string;
  readonly range: work.Range;
  /** Share of the range that is read, 0 to 1. */
  readonly share: number;
  readonly totals: work.ReadTotals;
  /** Calls that the service counted in the range at the start; null where it has no total. */
  readonly expected: number | null;
  readonly concurrency: number;
  readonly startedAt: number;
  readonly todo: readonly work.Range[];
}

export interface ReconcileInput extends SyncInput {
  readonly request: work.ReconcileRequest;
  /** Filled in by continue-as-new. */
  readonly resumed?: {
    readonly plan: work.ReconcilePlan;
    readonly done: number;
    readonly totals: work.ReconcileTotals;
  };
}

export interface ReconcileProgress {
  /** Windows that have their verdicts. */
  readonly done: number;
  /** Windows in all. */
  readonly windows: number;
  readonly totals: work.ReconcileTotals;
}

/** `waiting` = warehouses that do not have every tombstone yet. */
export type ErasureProgress = { readonly waiting: readonly string[] };

/** The one merge of the inbox. */
export const mergeInboxId = (prefix: string): string => `${prefix}/merge-inbox`;
/** The one re-reading of single calls. */
export const rereadCallsId = (prefix: string): string => `${prefix}/reread-calls`;
/** The id of the one load of a warehouse's pending calls. */
export const loadWarehouseId = (prefix: string, warehouse: string): string => `${prefix}/load/${warehouse}`;
/** A backfill, by the name that its user gave it. */
export const backfillId = (prefix: string, name: string): string => `${prefix}/backfill/${name}`;
/** The schedule of a recurring backfill, by its name. */
export const backfillScheduleId = (prefix: string, name: string): string => `${prefix}/backfill-schedule/${name}`;
/** A reconciliation on request, beside the scheduled one. */
export const reconcileId = (prefix: string, name: string): string => `${prefix}/reconcile/${name}`;
/** An erasure, by the name that the store gave it. */
export const eraseId = (prefix: string, requestId: string): string => `${prefix}/erase/${requestId}`;

/** A delivery arrived in the inbox. No payload: the merge reads the inbox. */
export const wakeSignal = defineSignal('wake');
export const pauseUpdate = defineUpdate<BackfillProgress>('pause');
export const resumeUpdate = defineUpdate<BackfillProgress>('resume');
export const setConcurrencyUpdate = defineUpdate<BackfillProgress, [number]>('setConcurrency');
export const progressQuery = defineQuery<BackfillProgress>('progress');
export const erasureProgressQuery = defineQuery<ErasureProgress>('erasureProgress');
export const reconcileProgressQuery = defineQuery<ReconcileProgress>('reconcileProgress');
