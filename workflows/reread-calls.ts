import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import { ParentClosePolicy, startChild } from '@temporalio/workflow';
import { liveActivities } from './activity-proxies.ts';
import { rereadCallsId, type SyncInput, type TaskQueues } from './messages.ts';

/** Reads calls again whose deliveries were doubtful. On its own, because it waits for as long as the service is away. */
export const rereadCalls = (input: SyncInput): Promise<{ readonly reread: number; readonly failed: number }> =>
  liveActivities(input.queues).rereadCalls();

/** Starts the rereads unless they run already. Running ones continue until no call waits. */
export const startRereads = async (queues: TaskQueues): Promise<void> => {
  try {
    await startChild(rereadCalls, {
      workflowId: rereadCallsId(queues.workflows),
      parentClosePolicy: ParentClosePolicy.ABANDON,
      args: [{ queues }],
    });
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
  }
};
