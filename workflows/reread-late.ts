import { readActivities } from './activity-proxies.ts';
import type { SyncInput } from './messages.ts';

/** Re-reads older windows lightly, as far back as calls were seen to change. */
export const rereadLate = async (input: SyncInput) => {
  const { planRereads, rereadWindows } = readActivities(input.queues);
  const plan = await planRereads();
  if (plan.covers.length === 0) return { changed: 0, requests: 0 };
  const { changed, requests } = await rereadWindows(plan);
  return { changed, requests };
};
