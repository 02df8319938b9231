/** Ledger rows → one commit of one warehouse. */
import { callTimestampOf, type FlatCall, flattenCall, flattenChanges } from '../../calls/flatten.ts';
import type { LedgerRow } from '../../calls/fold.ts';
import { CallsyncError } from '../../lib/errors.ts';
import { requestRereads } from '../../store/delivery/inbox.ts';
import { olderInLedger } from '../../store/ledger/ledger.ts';
import { completeLoad, failLoad, keepLoad, type PlannedLoad } from '../../store/loads/loads.ts';
import type { Store } from '../../store/store.ts';
import type { CallLoad, LoadBatch, LoadResult, TombstoneLoad } from '../../warehouse/warehouse.ts';
import type { IngestDeps, WarehouseTarget } from '../deps.ts';

interface RowsToLoad {
  readonly plan: PlannedLoad;
  readonly rows: readonly { readonly row: LedgerRow; readonly partitions: readonly (string | null)[] }[];
  readonly logs?: LoadBatch['logs'];
  /** Also writes calls whose guard is equal. */
  readonly force?: boolean;
}

/** A fraction of the time after which a load counts as abandoned. */
const beatMs = 5_000;

/**
 * Commits a planned load and records what became of it.
 * @throws the warehouse's error; the calls stay pending.
 */
export const commitLoad = async (deps: IngestDeps, target: WarehouseTarget, load: RowsToLoad): Promise<LoadResult> => {
  const { store } = deps;
  const startedAt = performance.now();
  const observe = (outcome: 'committed' | 'failed'): void =>
    deps.observer?.loaded({
      warehouse: load.plan.warehouse,
      outcome,
      calls: load.rows.length,
      seconds: (performance.now() - startedAt) / 1000,
    });
  const beat = setInterval(() => void keepLoad(store, load.plan.loadId).catch(() => undefined), beatMs);
  try {
    const result = await target.warehouse.load(makeLoadBatch(deps, target, load));
    if (!(await completeLoad(store, load.plan))) await askForgotten(store, load.rows);
    observe('committed');
    return result;
  } catch (error) {
    observe('failed');
    await failLoad(store, load.plan.loadId, error instanceof CallsyncError ? error.code : 'UNEXPECTED');
    throw error;
  } finally {
    clearInterval(beat);
  }
};

/**
 * The ledger was set back after this load was checked: the check of the restored ledger may have looked before the load was
 * committed. What only the warehouse has of its calls is asked of the service, before the older ledger replaces it for good.
 */
const askForgotten = async (store: Store, rows: RowsToLoad['rows']): Promise<void> => {
  const calls = rows.map(({ row: { callId, revision } }) => ({ callId, revision }));
  await requestRereads(store, await olderInLedger(store, calls), 'restored');
};

/** The batch that a warehouse takes: calls are flattened when it writes them, so memory holds the rows of one call. */
const makeLoadBatch = (
  { store, processedField }: IngestDeps,
  { documents }: WarehouseTarget,
  { plan, rows, logs = {}, force = false }: RowsToLoad,
): LoadBatch => {
  const calls: CallLoad[] = [];
  const tombstones: TombstoneLoad[] = [];
  for (const { row, partitions } of rows) {
    const { callId, revision } = row;
    if (row.tombstone) tombstones.push({ callId, callKey: store.keyOf(callId), revision, partitions });
    else {
      const callTimestamp = callTimestampOf(row.document ?? {});
      const flatten = (): FlatCall['rows'] => flattenCall(row, { processedField, documents }).rows;
      const changes = flattenChanges(row, callTimestamp);
      calls.push({ callId, revision, callTimestamp, partitions, flatten, changes });
    }
  }
  return { ...plan, calls, tombstones, logs, force, keyOf: store.keyOf };
};
