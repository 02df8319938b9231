import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import { ParentClosePolicy, startChild } from '@temporalio/workflow';
import { liveActivities } from './activity-proxies.ts';
import { rereadCallsId, type SyncInput, type TaskQueues } from './messages.ts';

/** Reads calls again whose deliveries were doubtful. On its own, because it waits for as long as the service is away. */
export const rereadCalls = (input: SyncInput): Promise<{ readonly reread: number; readonly failed: number }> =>
  liveActivities(input.queues).rereadCalls();

/** Starts the rereads unless they run already. Running ones continue until no call waits. */
export const startRereads = (queues: TaskQueues): Promise<void> =>
  startUnlessRunning(rereadCalls, rereadCallsId(queues.workflows), { queues });

/** Starts a workflow that outlives its parent, unless one runs under that id. */
export const startUnlessRunning = async <I>(workflow: (input: I) => Promise<unknown>, workflowId: string, input: I) => {
  try {
    await startChild(workflow, { workflowId, parentClosePolicy: ParentClosePolicy.ABANDON, args: [input] });
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
  }
};
