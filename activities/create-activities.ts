/** The activities of a worker, made from its dependencies: each is one use case. Each may run twice, late or concurrently. */
import type { Range, ReconcilePlan, ReconcileRequest } from '../schemas/orchestration.ts';
import { listPending, loadPending } from '../src/pipeline/load/load-pending.ts';
import { runMaintenance } from '../src/pipeline/load/maintenance.ts';
import { mergeInbox } from '../src/pipeline/load/merge-inbox.ts';
import { finishOldErasures, resumeErasure } from '../src/pipeline/persons/erase.ts';
import { asSync, countRange, finishSync, planSync, resolveRange } from '../src/pipeline/read/plan-sync.ts';
import { type RangePartProgress, readRangePart } from '../src/pipeline/read/read-range-part.ts';
import { planRereads, type RereadProgress, rereadCalls, rereadWindows } from '../src/pipeline/read/reread-windows.ts';
import { countWithdrawn, planReconcile, reconcileWindows } from '../src/pipeline/reconcile/plan-reconcile.ts';
import type { ReconcileDeps } from '../src/pipeline/reconcile/reconcile-window.ts';
import { type ActivityRun, createActivities } from './activity.ts';

type RereadDeps = Parameters<typeof planRereads>[0];
type ReadRangePartInput = Parameters<typeof readRangePart>[1];
type SyncDeps = Parameters<typeof planSync>[0];
type MaintenanceDeps = Parameters<typeof runMaintenance>[0];

export interface ActivityDeps extends SyncDeps, RereadDeps, ReconcileDeps, MaintenanceDeps {
  readonly reconcile: Parameters<typeof planReconcile>[1];
}

/** Longest run of windows: `callsync reconcile` shows the progress of finished runs, and a deploy does not wait for them. */
const reconcileSeconds = 15;

/** Sync, inbox merge and re-reads of single calls have their own slots and their own share of the request limit. */
export const createLiveActivities = (deps: ActivityDeps) =>
  createActivities(deps, {
    planSync: ({ signal }) => asSync(deps, () => planSync(deps, signal), signal),
    readRangePart: (run: ActivityRun<RangePartProgress>, input: ReadRangePartInput) =>
      asSync(deps, () => readRangePart(deps, input, run), run.signal),
    rereadWindows: (run: ActivityRun<RereadProgress>, plan: Parameters<typeof rereadWindows>[1]) =>
      asSync(deps, () => rereadWindows(deps, plan, run), run.signal),
    finishSync: (_, input: { seenTo: number }) => finishSync(deps, input),
    rereadCalls: ({ signal }) => rereadCalls(deps, signal),
    mergeInbox: () => mergeInbox(deps),
  });

/** Activities of backfills and reconcile, which ask the service. */
export const createReadActivities = (deps: ActivityDeps) =>
  createActivities(deps, {
    readRangePart: (run: ActivityRun<RangePartProgress>, input: ReadRangePartInput) => readRangePart(deps, input, run),
    countRange: ({ signal }, input: { axis: string; range: Range }) => countRange(deps, input, signal),
    resolveRange: ({ signal }, input: Parameters<typeof resolveRange>[1]) => resolveRange(deps, input, signal),
    planRereads: () => planRereads(deps),
    rereadWindows: (run: ActivityRun<RereadProgress>, plan: Parameters<typeof rereadWindows>[1]) =>
      rereadWindows(deps, plan, run),
    planReconcile: (_, request: ReconcileRequest) => planReconcile(deps, deps.reconcile, request),
    reconcileWindows: (run: ActivityRun<Awaited<ReturnType<typeof reconcileWindows>>>, plan: ReconcilePlan) =>
      reconcileWindows(deps, plan, { ...run, maxSeconds: reconcileSeconds }),
  });

/** Activities that need only the store and the warehouses. */
export const createLoadActivities = (deps: ActivityDeps) =>
  createActivities(deps, {
    loadPending: (_, input: Parameters<typeof loadPending>[1]) => loadPending(deps, input),
    listPending: () => listPending(deps),
    resumeErasure: (_, { requestId }: { requestId: string }) => resumeErasure(deps, requestId),
    runMaintenance: async () => {
      const result = await runMaintenance(deps);
      await finishOldErasures(deps);
      return { ...result, withdrawn: await countWithdrawn(deps, deps.reconcile) };
    },
  });

export type LiveActivities = ReturnType<typeof createLiveActivities>;
