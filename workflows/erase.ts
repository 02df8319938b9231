import { continueAsNew, patched, setHandler, sleep, workflowInfo } from '@temporalio/workflow';
import { loadActivities } from './activity-proxies.ts';
import { erasureProgressQuery, type SyncInput } from './messages.ts';
import { startProvingAgain } from './reconcile.ts';

const firstPauseMs = 2_000;
const longestPauseMs = 300_000;

/**
 * Carries an erasure to its end: asks again until every warehouse has its tombstones and the receipt is signed.
 * @param input.requestId name under which the store has the erasure; values and call ids stay there.
 */
export const erase = async (
  input: SyncInput & { readonly requestId: string },
): Promise<{ readonly receiptId: number }> => {
  const { resumeErasure } = loadActivities(input.queues);
  let waiting: readonly string[] = [];
  setHandler(erasureProgressQuery, () => ({ waiting }));
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(2 * pauseMs, longestPauseMs)) {
    const attempt = await resumeErasure({ requestId: input.requestId });
    if (patched('prove-again')) await startProvingAgain(input.queues);
    if (attempt.receiptId !== null) return { receiptId: attempt.receiptId };
    waiting = attempt.waiting;
    if (workflowInfo().continueAsNewSuggested) await continueAsNew<typeof erase>(input);
    await sleep(pauseMs);
  }
};
