import { ActivityFailure, continueAsNew, sleep, workflowInfo } from '@temporalio/workflow';
import { loadActivities } from './activity-proxies.ts';
import type { TaskQueues } from './messages.ts';

/**
 * Interval of the checks on calls that another process holds. After one, that process has loaded them or is alive.
 */
const looks = 3;
/** Together a little longer than the time after which the load of a killed process is taken over. */
const lookEvery = '8s';

/** Loads all pending calls of one warehouse, also those of a process that was just killed. */
export const loadWarehouse = async (input: {
  readonly queues: TaskQueues;
  readonly warehouse: string;
  readonly origin: string;
  readonly changed?: number;
}): Promise<{ readonly changed: number }> => {
  const { loadPending } = loadActivities(input.queues);
  const { warehouse, origin } = input;
  let changed = input.changed ?? 0;
  for (let looked = 0; ; ) {
    const result = await loadPending({ warehouse, origin });
    changed += result.changed;
    const waits = result.held > 0 && looked < looks;
    if (!result.more && !waits) return { changed };
    if (workflowInfo().continueAsNewSuggested) await continueAsNew<typeof loadWarehouse>({ ...input, changed });
    if (result.more) continue;
    looked += 1;
    await sleep(lookEvery);
  }
};

/**
 * Loads calls that a killed reader had folded, and calls that wait for warehouses with their own pace. A warehouse that
 * is away keeps its calls pending and does not delay the caller. False if history has grown enough to continue as new
 * before all is loaded.
 */
export const loadWhatIsLeft = async (queues: TaskQueues, origin: string): Promise<boolean> => {
  const load = loadActivities(queues, { maximumAttempts: 4 });
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
