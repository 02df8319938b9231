import { ActivityFailure } from '@temporalio/workflow';
import { briefLoadActivities } from './activity-proxies.ts';
import type { TaskQueues } from './messages.ts';

/**
 * Loads what a reader that died had folded but not loaded, and what waits in warehouses that commit at their own pace.
 * A warehouse that is away keeps its calls pending for the sweep, and does not hold back the caller.
 */
export const loadWhatIsLeft = async (queues: TaskQueues, origin: string): Promise<void> => {
  const load = briefLoadActivities(queues);
  for (const [warehouse, pending] of Object.entries(await load.listPending())) {
    if (pending === 0) continue;
    try {
      while ((await load.loadPending({ warehouse, origin, graceSeconds: 0 })).more);
    } catch (error) {
      if (!(error instanceof ActivityFailure)) throw error;
    }
  }
};
