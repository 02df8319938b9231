import { allHandlersFinished, condition, continueAsNew, setHandler, workflowInfo } from '@temporalio/workflow';
import { liveActivities } from './activity-proxies.ts';
import { type SyncInput, wakeSignal } from './messages.ts';
import { startRereads } from './reread-calls.ts';

/**
 * Drains the inbox whenever it is woken; ends when nothing has come for a while. Waits for nothing of the service.
 * @param input.maxDelayMs how long it waits for the next wake-up before it ends.
 */
export const mergeInbox = async (input: SyncInput & { readonly maxDelayMs: number }): Promise<void> => {
  const live = liveActivities(input.queues);
  let woken = true;
  setHandler(wakeSignal, () => {
    woken = true;
  });
  while (woken && !workflowInfo().continueAsNewSuggested) {
    woken = false;
    const merged = await live.mergeInbox();
    if (merged.repeats > 0) await startRereads(input.queues);
    if (merged.more) woken = true;
    if (!woken) await condition(() => woken, input.maxDelayMs);
  }
  await condition(allHandlersFinished);
  if (woken) await continueAsNew<typeof mergeInbox>(input);
};
