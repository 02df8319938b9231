/** Keeps the row of `sync_state` in a warehouse, so that freshness can be read there also while nothing is loaded. */
import { CallsyncError } from '../../lib/errors.ts';
import { readStateRow } from '../../store/status/state-row.ts';
import { claimHeartbeat, forgetHeartbeat } from '../../store/windows/windows.ts';
import type { IngestDeps, WarehouseTarget } from '../deps.ts';

/**
 * Brings the row up to date where that is due: every sweep asks, the warehouse says how often it may cost a statement. A
 * warehouse that does not answer is logged and asked again by the next sweep; what loads it is not held up.
 * @throws CallsyncError of the store.
 */
export const keepSyncState = async (
  { store, log }: Pick<IngestDeps, 'store' | 'log'>,
  { warehouse }: Pick<WarehouseTarget, 'warehouse'>,
): Promise<void> => {
  if (!(await claimHeartbeat(store, warehouse.name, warehouse.heartbeatMs))) return;
  const row = await readStateRow(store, warehouse.name);
  try {
    await warehouse.recordState(row);
  } catch (error) {
    await forgetHeartbeat(store, warehouse.name);
    if (!(error instanceof CallsyncError)) throw error;
    log('sync_state could not be kept', { warehouse: warehouse.name, code: error.code });
  }
};
