/** Activities of re-reading and reconciling; they run where the service is read. */
import { Context } from '@temporalio/activity';
import type { ReconcilePlan, ReconcileRequest, ReconcileTotals, RereadTotals } from '../schemas/orchestration.ts';
import {
  type PlannedRereads,
  planRereads,
  type RereadDeps,
  type RereadProgress,
  rereadWindows,
} from '../src/pipeline/read/reread-windows.ts';
import {
  planReconcile,
  type ReconcileDeps,
  type ReconcileSettings,
  reconcileWindows,
} from '../src/pipeline/reconcile/plan-reconcile.ts';
import { guarded } from './failure.ts';

export interface CompletenessDeps extends RereadDeps, ReconcileDeps {
  readonly reconcile: ReconcileSettings;
}

/** A run of windows ends after this much, so that history shows progress and a deploy does not wait for it. */
const maxSeconds = 600;
const beatMs = 5_000;

/** Keeps the last progress beating while one window takes long. */
const beating = async <P, O>(
  work: (resume: P | undefined, onProgress: (progress: P) => void, signal: AbortSignal) => Promise<O>,
): Promise<O> => {
  const context = Context.current();
  let last = context.info.heartbeatDetails as P | undefined;
  const beat = setInterval(() => context.heartbeat(last), beatMs);
  try {
    return await work(
      last,
      (progress) => {
        last = progress;
        context.heartbeat(progress);
      },
      context.cancellationSignal,
    );
  } finally {
    clearInterval(beat);
  }
};

export const createReconcileActivities = (deps: CompletenessDeps) => ({
  /** Which windows to re-read now, from stored state. */
  planRereads: guarded(deps, 'planRereads', (): Promise<PlannedRereads> => planRereads(deps)),

  /** Re-reads them lightly; heartbeats its place, and a retry resumes there. */
  rereadWindows: guarded(
    deps,
    'rereadWindows',
    (plan: PlannedRereads): Promise<RereadTotals> =>
      beating<RereadProgress, RereadTotals>((resume, onProgress, signal) =>
        rereadWindows(deps, plan, { signal, onProgress, ...(resume === undefined ? {} : { resume }) }),
      ),
  ),

  /** Windows that have no good verdict yet, or those of a range. */
  planReconcile: guarded(
    deps,
    'planReconcile',
    (request: ReconcileRequest): Promise<ReconcilePlan> => planReconcile(deps, deps.reconcile, request),
  ),

  /** Reconciles windows for at most ten minutes; `done` says how many. Heartbeats, and a retry resumes. */
  reconcileWindows: guarded(
    deps,
    'reconcileWindows',
    (plan: ReconcilePlan): Promise<{ done: number; totals: ReconcileTotals }> =>
      beating<{ done: number; totals: ReconcileTotals }, { done: number; totals: ReconcileTotals }>(
        (resume, onProgress, signal) =>
          reconcileWindows(deps, plan, { signal, onProgress, maxSeconds, ...(resume === undefined ? {} : { resume }) }),
      ),
  ),
});

export type ReconcileActivities = ReturnType<typeof createReconcileActivities>;
