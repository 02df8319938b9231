/** Regular work that keeps the store small and brings rows that an older version wrote up to date. */
import { flattenVersion } from '../../calls/flatten.ts';
import { expireBodies } from '../../store/delivery/inbox.ts';
import { abandonLoads, registerWarehouse, requestRebuild } from '../../store/loads/loads.ts';
import { forgetWarehouses, isRefreshDue, keepWarehouses } from '../../store/loads/warehouses.ts';
import { compactWindows } from '../../store/windows/windows.ts';
import type { IngestDeps } from '../deps.ts';

export interface MaintenanceDeps extends Pick<IngestDeps, 'store' | 'targets'> {
  readonly retentionDays: number;
}

export interface MaintenanceResult {
  readonly expired: number;
  readonly windows: number;
  readonly loads: number;
  /** Calls to be loaded again, because a worker of an older version has flattened them since the last run. */
  readonly refreshed: number;
}

/** Deletes expired bodies, joins old windows, gives up loads that no process finished, refreshes rows of older versions. */
export const runMaintenance = async ({
  store,
  targets,
  retentionDays,
}: MaintenanceDeps): Promise<MaintenanceResult> => {
  const names = targets.map((target) => target.warehouse.name);
  await keepWarehouses(store, names);
  let refreshed = 0;
  for (const name of names) {
    if (!(await isRefreshDue(store, name, flattenVersion))) continue;
    // A fold that began before the warehouse was registered has not marked its calls for it.
    await registerWarehouse(store, name);
    refreshed += await requestRebuild(store, name, flattenVersion);
  }
  await forgetWarehouses(store);
  return {
    expired: await expireBodies(store, retentionDays),
    windows: await compactWindows(store, 48),
    loads: await abandonLoads(store, 24),
    refreshed,
  };
};
