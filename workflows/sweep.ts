import { patched } from '@temporalio/workflow';
import { liveActivities, loadActivities } from './activity-proxies.ts';
import { loadWarehouse } from './load-warehouse.ts';
import { loadWarehouseId, type SyncInput } from './messages.ts';
import { startProvingAgain } from './reconcile.ts';
import { startRereads, startUnlessRunning } from './reread-calls.ts';

/**
 * Does work that no signal started: merges waiting deliveries, rereads calls, loads pending calls, runs maintenance.
 */
export const sweep = async (input: SyncInput & { readonly prefix: string }): Promise<void> => {
  const load = loadActivities(input.queues);
  await liveActivities(input.queues).mergeInbox();
  await startRereads(input.queues);
  for (const warehouse of Object.keys(await load.listPending())) {
    // An unreachable warehouse must not hold back the others or the next sweep.
    const work = { queues: input.queues, warehouse, origin: 'pending' };
    await startUnlessRunning(loadWarehouse, loadWarehouseId(input.prefix, warehouse), work);
  }
  // Runs even during a long backlog, because only it limits the store and detects restores.
  const { withdrawn = 0 } = await load.runMaintenance();
  if (patched('prove-again') && withdrawn > 0) await startProvingAgain(input.queues);
};
