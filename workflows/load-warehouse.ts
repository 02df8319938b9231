import { continueAsNew, workflowInfo } from '@temporalio/workflow';
import { loadActivities } from './activity-proxies.ts';
import type { TaskQueues } from './messages.ts';

export interface LoadWarehouseInput {
  readonly queues: TaskQueues;
  readonly warehouse: string;
  readonly origin: string;
  readonly changed?: number;
}

/** Loads everything that is pending in one warehouse. */
export const loadWarehouse = async (input: LoadWarehouseInput): Promise<{ readonly changed: number }> => {
  const { loadPending } = loadActivities(input.queues);
  const { warehouse, origin } = input;
  let changed = input.changed ?? 0;
  for (;;) {
    const result = await loadPending({ warehouse, origin });
    changed += result.changed;
    if (!result.more) return { changed };
    if (workflowInfo().continueAsNewSuggested) await continueAsNew<typeof loadWarehouse>({ ...input, changed });
  }
};
