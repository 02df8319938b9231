/** Erasing calls: first in the log outside the store, then in the store, from where the loads take it to the warehouses. */
import type { Transaction } from '../../postgres/database.ts';
import { type Purged, purgeCalls } from '../delivery/purge.ts';
import { noteErasedKeys } from '../ledger/erased-keys.ts';
import { lockFreeCalls } from '../ledger/holds.ts';
import { eraseFromLedger } from '../ledger/ledger.ts';
import { markPending } from '../loads/pending.ts';
import type { Store } from '../store.ts';

export interface Erased extends Purged {
  /** Calls that were no tombstones before. */
  readonly calls: number;
}

export interface ErasedFree extends Erased {
  /** Calls that are tombstones now; a legal hold keeps the others. */
  readonly ids: readonly string[];
}

/**
 * Erases for good the calls that no legal hold keeps: their keys go to the erasure log, which is kept outside store and warehouses,
 * then each call becomes a tombstone in the ledger, also one that the ledger has never seen, what deliveries, quarantine, rereads and
 * frames hold of it goes, and its tombstone is the next that the named and the registered warehouses are sent. All of the store in one
 * transaction, in which no hold can be put on: what a crash leaves is as if it had not begun, but for the log. May be repeated. After
 * a crash between log and store, the next ledger check (`check-ledger.ts`) carries the rest out, because it replays the log.
 * @param warehouses names of the configured warehouses.
 * @throws CallsyncError HOLD_UNDER_WAY, ERASURE_LOG, TOMBSTONE_KEY, DATABASE_…
 */
export const eraseCalls = (
  store: Store,
  callIds: readonly string[],
  warehouses: readonly string[],
): Promise<ErasedFree> =>
  store.transaction(async (tx) => {
    const ids = await lockFreeCalls(tx, callIds, store.keyOf);
    await store.erasures.log.append('call', ids.map(store.keyOf));
    await noteErasedKeys(tx, ids.map(store.keyOf));
    return { ids, ...(await buryCalls(tx, store, ids, warehouses)) };
  });

/** The same for calls whose keys are in the log already: no hold brings back what was erased. @throws CallsyncError TOMBSTONE_KEY, DATABASE_… */
export const eraseKnown = async (
  store: Store,
  callIds: readonly string[],
  warehouses: readonly string[],
): Promise<Erased> =>
  await store.transaction(async (tx) => {
    await noteErasedKeys(tx, callIds.map(store.keyOf));
    return await buryCalls(tx, store, callIds, warehouses);
  });

/**
 * Calls that are too old to be kept and that no hold keeps: as erased ones, but that no log says so, for their age does. Returns how
 * many went.
 */
export const expireCalls = async (
  store: Store,
  callIds: readonly string[],
  warehouses: readonly string[],
): Promise<number> =>
  await store.transaction(async (tx) => {
    const free = await lockFreeCalls(tx, callIds, store.keyOf);
    return (await buryCalls(tx, store, free, warehouses)).calls;
  });

const buryCalls = async (
  tx: Transaction,
  store: Store,
  callIds: readonly string[],
  warehouses: readonly string[],
): Promise<Erased> => {
  const erased = await eraseFromLedger(tx, callIds);
  await markPending(tx, warehouses, callIds);
  const calls = callIds.map((id) => ({ id, key: store.keyOf(id) }));
  return { calls: erased.length, ...(await purgeCalls(tx, calls, warehouses)) };
};
