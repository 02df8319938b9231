import { allHandlersFinished, condition, continueAsNew, setHandler, workflowInfo } from '@temporalio/workflow';
import { loadActivities, readActivities } from './activity-proxies.ts';
import { type MergeInboxInput, wakeSignal } from './messages.ts';

/** Drains the inbox whenever it is woken; ends when nothing has come for a while. */
export const mergeInbox = async (input: MergeInboxInput): Promise<void> => {
  const load = loadActivities(input.queues);
  const read = readActivities(input.queues);
  let woken = true;
  setHandler(wakeSignal, () => {
    woken = true;
  });
  while (woken && !workflowInfo().continueAsNewSuggested) {
    woken = false;
    const merged = await load.mergeInbox();
    if (merged.repeats > 0) await read.rereadCalls();
    if (merged.more) woken = true;
    if (!woken) await condition(() => woken, input.maxDelayMs);
  }
  await condition(allHandlersFinished);
  if (woken) await continueAsNew<typeof mergeInbox>(input);
};
