import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import { ParentClosePolicy, startChild } from '@temporalio/workflow';
import { liveActivities, loadActivities } from './activity-proxies.ts';
import { loadWarehouse } from './load-warehouse.ts';
import type { SyncInput } from './messages.ts';
import { startRereads } from './reread-calls.ts';

/** Does what no wake-up started: merges waiting deliveries, has calls read again, loads pending calls, runs maintenance. */
export const sweep = async (input: SyncInput & { readonly prefix: string }): Promise<void> => {
  const load = loadActivities(input.queues);
  await liveActivities(input.queues).mergeInbox();
  await startRereads(input.queues);
  for (const warehouse of Object.keys(await load.listPending())) {
    try {
      // An unreachable warehouse must not hold back the others or the next sweep.
      await startChild(loadWarehouse, {
        workflowId: `${input.prefix}/load/${warehouse}`,
        parentClosePolicy: ParentClosePolicy.ABANDON,
        args: [{ queues: input.queues, warehouse, origin: 'pending' }],
      });
    } catch (error) {
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    }
  }
  // Also under a long backlog: nothing else keeps the store small, and compares what was restored.
  await load.runMaintenance();
};
