/** Repairs the rows of one warehouse from the ledger, after a comparison. */
import type { WarehouseLevel } from '../../../schemas/orchestration.ts';
import { flattenVersion } from '../../calls/flatten.ts';
import { parseTimestamp } from '../../lib/timestamps.ts';
import { readExpected } from '../../store/ledger/read-ledger.ts';
import { requestRewrite } from '../../store/loads/loads.ts';
import type { Store } from '../../store/store.ts';
import { withdrawProof } from '../../store/windows/verdicts.ts';
import type { CallGuard } from '../../warehouse/warehouse.ts';
import type { IngestDeps, WarehouseTarget } from '../deps.ts';
import { loadPendingBatch } from '../load/load-pending.ts';
import { collectGuards, compareWarehouse } from './compare-warehouse.ts';

/** Most loads for one window. If calls are still pending then, the verdict is unproven and the sweep loads them. */
const maxLoads = 100;

/**
 * Loads missing, different and newly folded calls; returns the ids that still differ.
 * @throws CallsyncError of the store or the warehouse.
 */
export const healWarehouse = async (
  deps: IngestDeps,
  target: WarehouseTarget,
  work: {
    readonly comparison: Awaited<ReturnType<typeof compareWarehouse>>;
    readonly touched: ReadonlySet<string>;
    readonly level: WarehouseLevel;
    readonly alive: () => void;
  },
): Promise<ReadonlySet<string>> => {
  const { comparison, touched, level, alive } = work;
  const wrong = [...comparison.missing, ...comparison.different];
  const check = [...new Set([...wrong, ...touched])];
  if (check.length === 0) return new Set();
  if (wrong.length > 0) await removeIrreplaceable(deps, target, wrong);
  await sendRowsAgain(deps.store, target.warehouse.name, wrong);
  for (let loads = 0; loads < maxLoads; loads += 1) {
    alive();
    if ((await loadPendingBatch(deps, target, { origin: 'reconcile', graceSeconds: 0 })) === undefined) break;
  }
  // A load replaces rows only in the partition that the ledger recorded. Rows that were moved by hand would stay as
  // duplicates.
  if (target.warehouse.partitionOf(null) !== undefined && wrong.length > 0) await target.warehouse.removeOrphans(wrong);
  const after = await compareWarehouse(deps, target, { callIds: check, level, alive });
  return new Set([...after.missing, ...after.different]);
};

/** Has the rows of some calls written again, of whose days nothing is proven until they are compared again. */
export const sendRowsAgain = async (store: Store, warehouse: string, callIds: readonly string[]): Promise<void> => {
  if (callIds.length === 0) return;
  await withdrawProof(store, async (tx, withdraw) => {
    await withdraw(callIds, warehouse);
    await requestRewrite(tx, warehouse, callIds);
  });
};

/**
 * Removes rows of `calls` that a load would leave: in partitions to which the ledger did not send them, and of a higher
 * guard. The guards are read first, so that a load under way cannot be ahead of the ledger.
 */
const removeIrreplaceable = async ({ store }: IngestDeps, { warehouse }: WarehouseTarget, ids: readonly string[]) => {
  const guards = await collectGuards(warehouse.listGuards({ callIds: ids }));
  const epoch = await store.epoch();
  const found: CallGuard[] = [];
  for await (const batch of readExpected(store, warehouse.name, ids)) {
    for (const { row, applied } of batch) {
      const partition = warehouse.partitionOf(parseTimestamp(row.document?.timestamp) ?? null);
      // Newer workers may flatten otherwise.
      const highest = [epoch, row.revision, Math.max(flattenVersion, applied?.flattenVersion ?? 0)];
      for (const guard of guards.get(row.callId) ?? [])
        if (
          warehouse.partitionOf(guard.callTimestamp) !== partition ||
          isAbove([guard.epoch, guard.revision, guard.flattenVersion], highest)
        )
          found.push(guard);
    }
  }
  if (found.length > 0) await warehouse.removeCalls(found, { keepsChanges: true });
};

/** In the order of guards: the first parts that differ decide. */
const isAbove = (left: readonly number[], right: readonly number[]): boolean => {
  const at = left.findIndex((part, index) => part !== right[index]);
  return at >= 0 && (left[at] ?? 0) > (right[at] ?? 0);
};
