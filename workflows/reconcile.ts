import { continueAsNew, setHandler, sleep, workflowInfo } from '@temporalio/workflow';
import { addTotals, emptyReconcileTotals } from '../schemas/orchestration.ts';
import { readActivities } from './activity-proxies.ts';
import {
  type ReconcileInput,
  type ReconcileProgress,
  reconcileId,
  reconcileProgressQuery,
  type TaskQueues,
} from './messages.ts';
import { startUnlessRunning } from './reread-calls.ts';

/** Compares windows in the API, the ledger and every warehouse, heals differences, and records a verdict of each. */
export const reconcile = async (input: ReconcileInput): Promise<ReconcileProgress> => {
  const { planReconcile, reconcileWindows } = readActivities(input.queues);
  let { done, totals } = input.resumed ?? { done: 0, totals: emptyReconcileTotals };
  let windows = done;
  const progress = (): ReconcileProgress => ({ done, windows, totals });
  setHandler(reconcileProgressQuery, progress);

  const plan = input.resumed?.plan ?? (await planReconcile(input.request));
  let left = plan.windows;
  windows += left.length;
  while (left.length > 0) {
    const result = await reconcileWindows({ ...plan, windows: left });
    totals = addTotals(totals, result.totals);
    done += result.done;
    left = left.slice(result.done);
    if (left.length > 0 && workflowInfo().continueAsNewSuggested)
      await continueAsNew<typeof reconcile>({ ...input, resumed: { plan: { ...plan, windows: left }, done, totals } });
  }
  // The sweep begins no other meanwhile.
  if (input.request.withdrawn && totals.failed + totals.unreachable > 0) await sleep('5m');
  return progress();
};

/** Compares the days whose proof was withdrawn, unless that is under way. */
export const startProvingAgain = (queues: TaskQueues): Promise<void> =>
  startUnlessRunning(reconcile, reconcileId(queues.workflows, 'withdrawn'), { queues, request: { withdrawn: true } });
