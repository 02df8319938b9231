/** Looks, after an erasure, whether anything of its calls is left. */
import { CallsyncError } from '../../errors.ts';
import { countUnpurged, type Purged } from '../../store/delivery/purge.ts';
import type { Store } from '../../store/store.ts';
import type { WarehouseTarget } from '../deps.ts';

/** Counts found after the erasure: of the store, all are 0. */
export interface ErasureCheck extends Purged {
  readonly calls: number;
  readonly documents: number;
  readonly warehouses: readonly WarehouseCheck[];
}

export interface WarehouseCheck {
  readonly name: string;
  /** Calls whose tombstone it has: with it, in one commit, their rows went. Null where it did not answer. */
  readonly erased: number | null;
  /** Calls whose tombstone it is still to be sent. */
  readonly waiting: number;
}

const keysPerStatement = 500;

/** By keys, so that no call id gets into the warehouse's log of statements. */
const countTombstones = async (
  warehouse: WarehouseTarget['warehouse'],
  keys: readonly string[],
): Promise<number | null> => {
  let erased = 0;
  try {
    for (let start = 0; start < keys.length; start += keysPerStatement) {
      const list = keys.slice(start, start + keysPerStatement).map((key) => `'${key}'`);
      const rows = await warehouse.query(`SELECT call_key FROM tombstones WHERE call_key IN (${list.join(', ')})`);
      erased += rows.length;
    }
  } catch (error) {
    if (!(error instanceof CallsyncError)) throw error;
    return null;
  }
  return erased;
};

/** @param texts what names the person and belongs to no call, as it was counted. */
export const verifyErasure = async (
  { store, targets }: { readonly store: Store; readonly targets: readonly WarehouseTarget[] },
  ids: readonly string[],
  texts: Pick<Purged, 'aliases' | 'frames' | 'quarantine'>,
): Promise<ErasureCheck> => {
  const [ledger] = await store.query<{ calls: number; documents: number }>(
    `SELECT (SELECT count(*)::int FROM ledger WHERE call_id = ANY($1) AND NOT tombstone) AS calls,
            (SELECT count(*)::int FROM ledger_documents WHERE call_id = ANY($1)) AS documents`,
    [ids],
  );
  const waiting = await store.query<{ warehouse: string; n: number }>(
    `SELECT warehouse, count(*)::int AS n FROM warehouse_calls WHERE call_id = ANY($1) AND pending GROUP BY warehouse`,
    [ids],
  );
  const warehouses: WarehouseCheck[] = [];
  for (const { warehouse } of targets) {
    const { name } = warehouse;
    warehouses.push({
      name,
      erased: await countTombstones(warehouse, ids.map(store.keyOf)),
      waiting: waiting.find((one) => one.warehouse === name)?.n ?? 0,
    });
  }
  return {
    calls: ledger?.calls ?? 0,
    documents: ledger?.documents ?? 0,
    ...(await countUnpurged(store, ids)),
    ...texts,
    warehouses,
  };
};
