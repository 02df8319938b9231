import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import { ParentClosePolicy, startChild } from '@temporalio/workflow';
import { liveActivities, readActivities } from './activity-proxies.ts';
import { rereadCallsId, type SyncInput, type TaskQueues } from './messages.ts';

/** Reads calls again whose deliveries were doubtful. On its own, because it waits for as long as the service is away. */
export const rereadCalls = (input: SyncInput): Promise<{ readonly reread: number; readonly failed: number }> =>
  liveActivities(input.queues).rereadCalls();

/** Starts the re-reads unless they run already: those that run list what waits until nothing does. */
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

/** Re-reads older windows lightly, as far back as calls were seen to change. */
export const rereadLate = async (
  input: SyncInput,
): Promise<{ readonly changed: number; readonly requests: number }> => {
  const { planRereads, rereadWindows } = readActivities(input.queues);
  const plan = await planRereads();
  if (plan.covers.length === 0) return { changed: 0, requests: 0 };
  const { changed, requests } = await rereadWindows(plan);
  return { changed, requests };
};
