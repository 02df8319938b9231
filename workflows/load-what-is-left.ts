import { ActivityFailure, workflowInfo } from '@temporalio/workflow';
import { briefLoadActivities } from './activity-proxies.ts';
import type { TaskQueues } from './messages.ts';

/**
 * Loads what a reader that died had folded but not loaded, and what waits in warehouses that commit at their own pace.
 * A warehouse that is away keeps its calls pending for the sweep, and does not hold back the caller. False when history
 * has grown enough to continue as new before all is loaded.
 */
export const loadWhatIsLeft = async (queues: TaskQueues, origin: string): Promise<boolean> => {
  const load = briefLoadActivities(queues);
  for (const [warehouse, pending] of Object.entries(await load.listPending())) {
    if (pending === 0) continue;
    try {
      while ((await load.loadPending({ warehouse, origin, graceSeconds: 0 })).more) {
        if (workflowInfo().continueAsNewSuggested) return false;
      }
    } catch (error) {
      if (!(error instanceof ActivityFailure)) throw error;
    }
  }
  return true;
};
