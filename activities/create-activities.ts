/** The activities of a worker, made from its dependencies. Each may run twice, late or concurrently. */
import { Context } from '@temporalio/activity';
import type { Range } from '../schemas/orchestration.ts';
import { transient } from '../src/errors.ts';
import { loadFolded } from '../src/pipeline/load/ingest.ts';
import { loadPendingBatch } from '../src/pipeline/load/load-pending.ts';
import { type KeptHouse, runMaintenance } from '../src/pipeline/load/maintenance.ts';
import { mergeBatch } from '../src/pipeline/load/merge-inbox.ts';
import { callsToLoad } from '../src/pipeline/load/pace-loads.ts';
import { type PlannedSync, planSync, type SyncDeps, watermarkName } from '../src/pipeline/read/plan-sync.ts';
import {
  type RangePartProgress,
  type ReadRangePartInput,
  type ReadRangePartResult,
  readRangePart,
} from '../src/pipeline/read/read-range-part.ts';
import { rereadCalls } from '../src/pipeline/read/reread-calls.ts';
import { axisOf, isCuttable } from '../src/source/list/list-query.ts';
import { countPending } from '../src/store/loads/loads.ts';
import { isConfiguredSomewhere } from '../src/store/loads/warehouses.ts';
import { advanceWatermark } from '../src/store/windows/windows.ts';
import { type CompletenessDeps, createReconcileActivities } from './create-reconcile-activities.ts';
import { guarded } from './failure.ts';

export interface ActivityDeps extends SyncDeps, CompletenessDeps {
  readonly retentionDays: number;
}

/** Deliveries of one transaction; a wake-up drains as many batches as there are. */
const mergeLimit = 200;

export interface CountedRange {
  readonly expected: number | null;
  readonly windowLength: number;
  readonly indivisible?: boolean;
}

/** Tells Temporal that the work goes on for as long as it does. */
const beating = async <T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> => {
  const context = Context.current();
  const beat = setInterval(() => context.heartbeat(), 5_000);
  try {
    return await work(context.cancellationSignal);
  } finally {
    clearInterval(beat);
  }
};

export const createReadActivities = (deps: ActivityDeps) => ({
  /** Reads a part of the axis; heartbeats what is left, and a retry resumes there. */
  readRangePart: guarded(deps, 'readRangePart', async (input: ReadRangePartInput): Promise<ReadRangePartResult> => {
    const context = Context.current();
    const resume = context.info.heartbeatDetails as RangePartProgress | undefined;
    let last: RangePartProgress | undefined = resume;
    const beat = setInterval(() => context.heartbeat(last), 5_000);
    try {
      return await readRangePart(deps, input, {
        signal: context.cancellationSignal,
        ...(resume === undefined ? {} : { resume }),
        onProgress: (progress) => {
          last = progress;
          context.heartbeat(progress);
        },
      });
    } finally {
      clearInterval(beat);
    }
  }),

  /**
   * Calls that the service counts in a range (null where it has no total), and the window length that fits them, in
   * microseconds. One request. `indivisible`: every window is read by reading the whole list, so that readers of parts
   * of the range would each read all of it.
   */
  countRange: guarded(deps, 'countRange', async (input: { axis: string; range: Range }): Promise<CountedRange> => {
    const { initial, min, max, targetCalls } = deps.windows;
    const { list } = deps.source;
    const total = await list.readTotal({ window: { axis: input.axis, ...input.range } });
    const length = input.range.to - input.range.from;
    if (!isCuttable(axisOf(list.list, input.axis)))
      return { expected: total ?? null, windowLength: length, indivisible: true };
    if (total === undefined || total === 0) return { expected: total ?? null, windowLength: initial };
    const even = (length * targetCalls) / total;
    return { expected: total, windowLength: Math.round(Math.min(max, Math.max(min, even))) };
  }),

  planSync: guarded(deps, 'planSync', (): Promise<PlannedSync> => beating((signal) => planSync(deps, signal))),

  finishSync: guarded(deps, 'finishSync', async (): Promise<{ watermark: number | null }> => {
    const watermark = await advanceWatermark(deps.store, { name: watermarkName, axis: deps.sync.axis });
    return { watermark: watermark ?? null };
  }),

  rereadCalls: guarded(deps, 'rereadCalls', () => beating((signal) => rereadCalls(deps, signal))),

  ...createReconcileActivities(deps),
});

export const createLoadActivities = (deps: ActivityDeps) => ({
  /** Drains the inbox batch by batch until it is empty or half a minute has passed; loads immediate warehouses. */
  mergeInbox: guarded(deps, 'mergeInbox', async (): Promise<{ deliveries: number; repeats: number; more: boolean }> => {
    const context = Context.current();
    const until = performance.now() + 30_000;
    let deliveries = 0;
    let repeats = 0;
    let loading: Promise<unknown> = Promise.resolve();
    for (;;) {
      context.heartbeat();
      const merged = await mergeBatch(deps, mergeLimit);
      await loading;
      if (merged === undefined) break;
      deliveries += merged.deliveries;
      repeats += merged.outcomes.repeat ?? 0;
      loading = loadFolded(deps, merged.folded);
      loading.catch(() => undefined);
      if (performance.now() > until) {
        await loading;
        return { deliveries, repeats, more: true };
      }
    }
    return { deliveries, repeats, more: false };
  }),

  /** Commits what is pending in one warehouse, up to half a minute's worth. */
  loadPending: guarded(
    deps,
    'loadPending',
    async (input: {
      warehouse: string;
      origin: string;
      graceSeconds?: number;
    }): Promise<{ sent: number; changed: number; more: boolean }> => {
      const target = deps.targets.find((candidate) => candidate.warehouse.name === input.warehouse);
      if (target === undefined) {
        if (!(await isConfiguredSomewhere(deps.store, input.warehouse))) return { sent: 0, changed: 0, more: false };
        throw transient('WAREHOUSE_ELSEWHERE', `This worker does not know the warehouse ${input.warehouse}.`, {
          hint: 'Restart it with the present configuration; until then another worker takes the load.',
        });
      }
      const context = Context.current();
      const limit = await callsToLoad({
        warehouse: target.warehouse,
        origin: input.origin,
        waiting: () => countPending(deps.store, target.warehouse.name),
      });
      if (limit === undefined) return { sent: 0, changed: 0, more: false };
      const beat = setInterval(() => context.heartbeat(), 5_000);
      const until = performance.now() + 30_000;
      let sent = 0;
      let changed = 0;
      try {
        for (;;) {
          const loaded = await loadPendingBatch(deps, target, {
            origin: input.origin,
            ...(input.graceSeconds === undefined ? {} : { graceSeconds: input.graceSeconds }),
          });
          if (loaded === undefined) return { sent, changed, more: false };
          sent += loaded.sent;
          changed += loaded.changed;
          if (sent >= limit) return { sent, changed, more: false };
          if (performance.now() > until) return { sent, changed, more: true };
        }
      } finally {
        clearInterval(beat);
      }
    },
  ),

  /** Warehouses with pending calls or deliveries, by name. */
  listPending: guarded(deps, 'listPending', async (): Promise<Record<string, number>> => {
    const counts: Record<string, number> = {};
    for (const { warehouse } of deps.targets) counts[warehouse.name] = await countPending(deps.store, warehouse.name);
    return counts;
  }),

  runMaintenance: guarded(deps, 'runMaintenance', (): Promise<KeptHouse> => beating(() => runMaintenance(deps))),
});

export type ReadActivities = ReturnType<typeof createReadActivities>;
export type LoadActivities = ReturnType<typeof createLoadActivities>;
