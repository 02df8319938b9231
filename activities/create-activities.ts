/** The activities of a worker, made from its dependencies: each is one use case. Each may run twice, late or concurrently. */
import type {
  Range,
  ReconcilePlan,
  ReconcileRequest,
  ReconcileTotals,
  RereadTotals,
} from '../schemas/orchestration.ts';
import { type LoadPendingInput, listPending, loadPending } from '../src/pipeline/load/load-pending.ts';
import { type MaintenanceDeps, runMaintenance } from '../src/pipeline/load/maintenance.ts';
import { mergeInbox } from '../src/pipeline/load/merge-inbox.ts';
import { finishOldErasures, resumeErasure } from '../src/pipeline/persons/erase.ts';
import { countRange, type RelativeRange, resolveRange } from '../src/pipeline/read/count-range.ts';
import { asSync, finishSync, planSync, type SyncDeps } from '../src/pipeline/read/plan-sync.ts';
import {
  type RangePartProgress,
  type ReadRangePartInput,
  type ReadRangePartResult,
  readRangePart,
} from '../src/pipeline/read/read-range-part.ts';
import { rereadCalls } from '../src/pipeline/read/reread-calls.ts';
import {
  type PlannedRereads,
  planRereads,
  type RereadDeps,
  type RereadProgress,
  rereadWindows,
} from '../src/pipeline/read/reread-windows.ts';
import { planReconcile, type ReconcileSettings, reconcileWindows } from '../src/pipeline/reconcile/plan-reconcile.ts';
import type { ReconcileDeps } from '../src/pipeline/reconcile/reconcile-window.ts';
import { type ActivityRun, activity } from './activity.ts';

export interface ActivityDeps extends SyncDeps, RereadDeps, ReconcileDeps, MaintenanceDeps {
  readonly reconcile: ReconcileSettings;
}

/** A run of windows ends after this much, so that history shows progress and a deploy does not wait for it. */
const reconcileSeconds = 600;

interface ReconcileProgress {
  readonly done: number;
  readonly totals: ReconcileTotals;
}

/** Sync, inbox merge and re-reads of single calls: they have slots, and a share of the request limit, of their own. */
export const createLiveActivities = (deps: ActivityDeps) => ({
  planSync: activity(deps, 'planSync', ({ signal }) => asSync(deps, () => planSync(deps, signal))),
  readRangePart: activity(
    deps,
    'readRangePart',
    (run: ActivityRun<RangePartProgress>, input: ReadRangePartInput): Promise<ReadRangePartResult> =>
      asSync(deps, () => readRangePart(deps, input, run)),
  ),
  finishSync: activity(deps, 'finishSync', (_, input: { seenTo: number }) => finishSync(deps, input)),
  rereadCalls: activity(deps, 'rereadCalls', ({ signal }) => rereadCalls(deps, signal)),
  mergeInbox: activity(deps, 'mergeInbox', () => mergeInbox(deps)),
});

/** Those of backfills and reconcile that ask the service. */
export const createReadActivities = (deps: ActivityDeps) => ({
  readRangePart: activity(
    deps,
    'readRangePart',
    (run: ActivityRun<RangePartProgress>, input: ReadRangePartInput): Promise<ReadRangePartResult> =>
      readRangePart(deps, input, run),
  ),
  countRange: activity(deps, 'countRange', ({ signal }, input: { axis: string; range: Range }) =>
    countRange(deps, input, signal),
  ),
  resolveRange: activity(deps, 'resolveRange', ({ signal }, input: RelativeRange) => resolveRange(deps, input, signal)),
  planRereads: activity(deps, 'planRereads', () => planRereads(deps)),
  rereadWindows: activity(
    deps,
    'rereadWindows',
    (run: ActivityRun<RereadProgress>, plan: PlannedRereads): Promise<RereadTotals> => rereadWindows(deps, plan, run),
  ),
  planReconcile: activity(
    deps,
    'planReconcile',
    (_, request: ReconcileRequest): Promise<ReconcilePlan> => planReconcile(deps, deps.reconcile, request),
  ),
  reconcileWindows: activity(
    deps,
    'reconcileWindows',
    (run: ActivityRun<ReconcileProgress>, plan: ReconcilePlan): Promise<ReconcileProgress> =>
      reconcileWindows(deps, plan, { ...run, maxSeconds: reconcileSeconds }),
  ),
});

/** Those that need the store and the warehouses alone. */
export const createLoadActivities = (deps: ActivityDeps) => ({
  loadPending: activity(deps, 'loadPending', (_, input: LoadPendingInput) => loadPending(deps, input)),
  listPending: activity(deps, 'listPending', () => listPending(deps)),
  resumeErasure: activity(deps, 'resumeErasure', (_, { requestId }: { requestId: string }) =>
    resumeErasure(deps, requestId),
  ),
  runMaintenance: activity(deps, 'runMaintenance', async () => {
    const result = await runMaintenance(deps);
    await finishOldErasures(deps);
    return result;
  }),
});

export type LiveActivities = ReturnType<typeof createLiveActivities>;
export type ReadActivities = ReturnType<typeof createReadActivities>;
export type LoadActivities = ReturnType<typeof createLoadActivities>;
