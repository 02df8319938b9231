import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import { ParentClosePolicy, startChild } from '@temporalio/workflow';
import { liveActivities, loadActivities } from './activity-proxies.ts';
import { loadWarehouse } from './load-warehouse.ts';
import type { SyncInput } from './messages.ts';
import { startRereads } from './reread-calls.ts';

/**
 * Does work that no signal started: merges waiting deliveries, rereads calls, loads pending calls, runs maintenance.
 */
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
  // Runs even during a long backlog, because only it limits the store and detects restores.
  await load.runMaintenance();
};
