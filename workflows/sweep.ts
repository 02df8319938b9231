import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import { ParentClosePolicy, startChild } from '@temporalio/workflow';
import { loadActivities, readActivities } from './activity-proxies.ts';
import { loadWarehouse } from './load-warehouse.ts';
import type { SyncInput } from './messages.ts';

/** Does what no wake-up started: merges waiting deliveries, reads calls again, loads pending calls, runs maintenance. */
export const sweep = async (input: SyncInput & { readonly prefix: string }): Promise<void> => {
  const load = loadActivities(input.queues);
  const merged = await load.mergeInbox();
  await readActivities(input.queues).rereadCalls();
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
  if (!merged.more) await load.runMaintenance();
};
