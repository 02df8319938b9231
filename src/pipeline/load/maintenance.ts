/** Regular work that keeps the store small and notices what was restored from a backup. */
import { joinCounters } from '../../store/counters.ts';
import { abandonLoads } from '../../store/loads/loads.ts';
import { forgetWarehouses, keepWarehouses } from '../../store/loads/warehouses.ts';
import { expireRows, type RetentionRules } from '../../store/retention.ts';
import { compactWindows } from '../../store/windows/windows.ts';
import type { IngestDeps } from '../deps.ts';

export interface MaintenanceDeps extends Pick<IngestDeps, 'store' | 'targets'> {
  readonly retention: RetentionRules;
}

export interface MaintenanceResult {
  /** Rows that were deleted or emptied, by kind. */
  readonly expired: Readonly<Record<string, number>>;
  readonly windows: number;
  readonly loads: number;
}

/** Deletes what has expired, joins counters and old windows, gives up loads that no process finished. */
export const runMaintenance = async ({ store, targets, retention }: MaintenanceDeps): Promise<MaintenanceResult> => {
  await keepWarehouses(
    store,
    targets.map((target) => target.warehouse.name),
  );
  await forgetWarehouses(store);
  await joinCounters(store);
  return {
    expired: await expireRows(store, retention),
    windows: await compactWindows(store, 48),
    loads: await abandonLoads(store, 24),
  };
};
