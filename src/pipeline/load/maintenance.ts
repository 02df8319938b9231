/** Regular work that keeps the store small and detects restores from backups. */

import { flattenVersion } from '../../calls/flatten.ts';
import { describeError } from '../../lib/errors.ts';
import { isComparisonDue } from '../../store/loads/compared.ts';
import { abandonLoads } from '../../store/loads/loads.ts';
import { forgetWarehouses, registerWarehouse } from '../../store/loads/warehouses.ts';
import { noteFailure } from '../../store/meta.ts';
import { expireRows, type RetentionRules } from '../../store/retention.ts';
import { alignProcessed } from '../../store/status/align-processed.ts';
import { joinCounters } from '../../store/status/counters.ts';
import { compactWindows } from '../../store/windows/windows.ts';
import type { IngestDeps } from '../deps.ts';
import { applyAges } from './apply-ages.ts';
import { createLedgerCheck } from './check-ledger.ts';

interface MaintenanceDeps
  extends Pick<IngestDeps, 'ages' | 'log' | 'processedField' | 'sanitize' | 'store' | 'targets'> {
  readonly retention: RetentionRules;
}

/**
 * Detects restored stores, deletes expired data, joins counters and old windows, and abandons unfinished loads. A
 * failed step is logged; the others still run.
 * @throws the error of the first step that failed
 * `expired` = deleted or emptied rows, by kind.
 * `aged` = calls from which something was taken for its age, by class.
 */
export const runMaintenance = async (deps: MaintenanceDeps) => {
  const { store, targets, retention, ages } = deps;
  const { warehouse_log_retention: logs, verdict_retention: verdicts } = retention;
  const warehouses = targets.map((target) => target.warehouse);
  const say = (message: string): void => deps.log(message, {});
  const names = warehouses.map(({ name }) => name);
  const failures: unknown[] = [];
  const attempt = async <T>(step: string, work: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await work();
    } catch (error) {
      failures.push(error);
      deps.log('maintenance step failed', { step, error });
      return undefined;
    }
  };
  await attempt('ledger check', async () => {
    if (await isComparisonDue(store, names)) await createLedgerCheck({ store, warehouses, say }).run();
  });
  await attempt('warehouses', async () => {
    for (const name of names) await registerWarehouse(store, name, flattenVersion);
    await forgetWarehouses(store);
  });
  await attempt('counters', () => joinCounters(store));
  await attempt('ends of processing', () => alignProcessed(store, deps.processedField));
  for (const warehouse of warehouses)
    await attempt(
      `logs of ${warehouse.name}`,
      async () => await warehouse.expireLogs?.({ deliveries: logs, loads: logs, verdicts }),
    );
  const result = {
    expired: await expireRows(store, retention, attempt),
    aged: ages && (await attempt('ages', () => applyAges(deps, ages, { dryRun: false }))),
    windows: (await attempt('windows', () => compactWindows(store, 48))) ?? 0,
    loads: (await attempt('loads', () => abandonLoads(store, 24))) ?? 0,
  };
  await noteFailure(store, 'maintenance', failures.map(describeError)[0]);
  if (failures.length > 0) throw failures[0];
  return result;
};
