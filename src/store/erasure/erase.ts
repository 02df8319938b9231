/** Erasing calls: first in the log outside the store, then in the store, from where the loads take it to the warehouses. */
import type { Transaction } from '../../postgres/database.ts';
import { repeatTransaction } from '../../postgres/repeat-transaction.ts';
import {
  findNamedTexts,
  type NamedTexts,
  type Purged,
  purgeDeliveries,
  purgeNamedTexts,
  purgeRereads,
} from '../delivery/purge.ts';
import { noteErasedKeys } from '../ledger/erased-keys.ts';
import { joinDeletions } from '../ledger/hold-lock.ts';
import { lockFreeCalls } from '../ledger/holds.ts';
import { eraseFromLedger } from '../ledger/ledger.ts';
import { markPending } from '../loads/pending.ts';
import type { Store } from '../store.ts';

export interface Erased extends Purged {
  /** Calls that were no tombstones before. */
  readonly calls: number;
  /** Of them, those that the ledger had never seen. */
  readonly unseen: number;
}

export interface ErasedFree extends Erased {
  /** Calls that are tombstones now; a legal hold keeps the others. */
  readonly ids: readonly string[];
}

/**
 * Erases for good the calls that no legal hold keeps: their keys go to the erasure log, which is kept outside store and warehouses,
 * then each call becomes a tombstone in the ledger, also one that the ledger has never seen, what deliveries, quarantine, rereads and
 * frames hold of it goes, but for texts that name something held, and its tombstone is the next that the named and the registered
 * warehouses are sent. All of the store in one transaction, in which no hold can be put on: what a crash leaves is as if it had not
 * begun, but for the log. May be repeated, and repeats itself where PostgreSQL ends it for the sake of others. After a crash between log
 * and store, the next ledger check (`check-ledger.ts`) carries the rest out, because it replays the log.
 * @param warehouses names of the configured warehouses.
 * @param texts in quarantine and frames that name the calls, where they were searched for more calls at once.
 * @throws CallsyncError HOLD_UNDER_WAY, ERASURE_LOG, TOMBSTONE_KEY, DATABASE_…
 */
export const eraseCalls = async (
  store: Store,
  callIds: readonly string[],
  warehouses: readonly string[],
  texts?: NamedTexts,
): Promise<ErasedFree> => {
  const meant = { warehouses, texts: texts ?? (await findNamedTexts(store, callIds, store)) };
  return await repeatTransaction(store, async (tx) => {
    const ids = await lockFreeCalls(tx, callIds, store.keyOf);
    await store.erasures.log.append('call', ids.map(store.keyOf));
    await noteErasedKeys(tx, ids.map(store.keyOf));
    return { ids, ...(await buryCalls(tx, store, ids, meant)) };
  });
};

/**
 * The same for calls whose keys are in the log already: no hold brings back what was erased. Texts that name them, and something that is
 * held, stay here too.
 * @throws CallsyncError HOLD_UNDER_WAY, TOMBSTONE_KEY, DATABASE_…
 */
export const eraseKnown = async (
  store: Store,
  callIds: readonly string[],
  warehouses: readonly string[],
): Promise<void> => {
  const texts = await findNamedTexts(store, callIds, store);
  await repeatTransaction(store, async (tx) => {
    // A hold that is being put on is waited for only where it may keep something: the search for what it names may take minutes.
    if (Object.values(texts).some(({ size }) => size > 0)) await joinDeletions(tx);
    await noteErasedKeys(tx, callIds.map(store.keyOf));
    await buryCalls(tx, store, callIds, { warehouses, texts });
  });
};

/**
 * Calls that are too old to be kept and that no hold keeps, with texts that name them and nothing held: as erased ones, but that no
 * log says so, for their age does. In steps; texts are searched once for all of them. Returns how many went.
 */
export const expireCalls = async (
  store: Store,
  callIds: readonly string[],
  warehouses: readonly string[],
): Promise<number> => {
  const meant = { warehouses, texts: await findNamedTexts(store, callIds, store) };
  let expired = 0;
  for (let start = 0; start < callIds.length; start += expiredAtOnce) {
    const page = callIds.slice(start, start + expiredAtOnce);
    expired += await repeatTransaction(store, async (tx) => {
      const free = await lockFreeCalls(tx, page, store.keyOf);
      return (await buryCalls(tx, store, free, meant)).calls;
    });
  }
  return expired;
};

/** Calls of one transaction: folds of them wait for its end. */
const expiredAtOnce = 200;

interface Meant {
  readonly warehouses: readonly string[];
  readonly texts: NamedTexts;
}

/**
 * In a transaction in which no hold can be put on that may keep one of the texts. Rows are locked as others lock them: those of the
 * ledger, of deliveries, of texts, of rereads.
 */
const buryCalls = async (
  tx: Transaction,
  store: Store,
  callIds: readonly string[],
  { warehouses, ...meant }: Meant,
): Promise<Erased> => {
  const erased = await eraseFromLedger(tx, callIds);
  await markPending(tx, warehouses, callIds);
  const calls = callIds.map((id) => ({ id, key: store.keyOf(id) }));
  const inbox = await purgeDeliveries(tx, calls, warehouses);
  const texts = await purgeNamedTexts(tx, meant.texts, callIds, store);
  return {
    calls: erased.length,
    // Any other had a revision before that of its tombstone.
    unseen: erased.filter(({ revision }) => revision === 1).length,
    inbox,
    ...texts,
    rereads: await purgeRereads(tx, callIds),
    aliases: 0,
  };
};
