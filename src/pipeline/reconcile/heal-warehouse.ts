/** Repairs the rows of one warehouse from the ledger, after a comparison. */
import type { WarehouseLevel } from '../../../schemas/orchestration.ts';
import { callTimestampOf } from '../../calls/flatten.ts';
import { readExpected } from '../../store/ledger/read-ledger.ts';
import { requestRewrite } from '../../store/loads/loads.ts';
import { withdrawProof } from '../../store/windows/verdicts.ts';
import type { CallGuard } from '../../warehouse/warehouse.ts';
import type { IngestDeps, WarehouseTarget } from '../deps.ts';
import { loadPendingBatch } from '../load/load-pending.ts';
import { compareWarehouse } from './compare-warehouse.ts';

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
  const isPartitioned = target.warehouse.partitionOf(null) !== undefined;
  if (isPartitioned && wrong.length > 0) await removeMoved(deps, target, wrong);
  await sendRowsAgain(deps, target.warehouse.name, wrong);
  for (let loads = 0; loads < maxLoads; loads += 1) {
    alive();
    if ((await loadPendingBatch(deps, target, { origin: 'reconcile', graceSeconds: 0 })) === undefined) break;
  }
  // A load replaces rows only in the partition that the ledger recorded. Rows that were moved by hand would stay as
  // duplicates.
  if (isPartitioned && wrong.length > 0) await target.warehouse.removeOrphans(wrong);
  const after = await compareWarehouse(deps, target, { callIds: check, level, alive });
  return new Set([...after.missing, ...after.different]);
};

/** Has the rows of some calls written again, of whose days nothing is proven until they are compared again. */
export const sendRowsAgain = async (
  { store }: Pick<IngestDeps, 'store'>,
  warehouse: string,
  callIds: readonly string[],
): Promise<void> => {
  if (callIds.length === 0) return;
  await withdrawProof(store, async (tx, withdraw) => {
    await withdraw(callIds, warehouse);
    await requestRewrite(tx, warehouse, callIds);
  });
};

/** Removes rows of `calls` from partitions to which the ledger did not send them: a load would not find them there. */
const removeMoved = async (
  deps: IngestDeps,
  { warehouse }: WarehouseTarget,
  callIds: readonly string[],
): Promise<void> => {
  const partitions = new Map<string, string | null | undefined>();
  for await (const batch of readExpected(deps.store, warehouse.name, callIds))
    for (const { row } of batch) partitions.set(row.callId, warehouse.partitionOf(callTimestampOf(row.document ?? {})));
  const moved: CallGuard[] = [];
  for await (const guard of warehouse.listGuards({ callIds }))
    if (warehouse.partitionOf(guard.callTimestamp) !== partitions.get(guard.callId)) moved.push(guard);
  if (moved.length > 0) await warehouse.removeCalls(moved);
};
