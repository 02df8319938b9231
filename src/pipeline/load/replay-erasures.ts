/** Repeats erasures and holds after a restore of ledger or warehouses. */
import { gatherParts } from '../../lib/pages.ts';
import { isKey } from '../../store/erasure-log.ts';
import { findKnown } from '../../store/gate.ts';
import { findTombstones, listCallIds } from '../../store/ledger/read-ledger.ts';
import { readMeta, writeMeta } from '../../store/meta.ts';
import { eraseKnown } from '../../store/persons/calls.ts';
import { addErased, addHoldKeys, dropHolds, lackHolds, seekErased, whileSought } from '../../store/persons/keys.ts';
import { restoreReceipts } from '../../store/persons/receipts.ts';
import { listTextSubjects, purgeTexts } from '../../store/persons/texts.ts';
import type { Store } from '../../store/store.ts';
import type { Warehouse } from '../../warehouse/warehouse.ts';

/**
 * Repeats the erasures of the log or of a warehouse's tombstones: in this ledger, in later records, and in
 * warehouses. Holds do not stop them, because they are older. The next run continues after a crash.
 * @param all also uses keys that were applied before, because ledger or warehouses may have lost their tombstones.
 */
export const replayErasures = async (store: Store, warehouses: readonly Warehouse[], { all }: { all: boolean }) => {
  const { log } = store.erasures;
  const logged = await log.read(all ? undefined : await readMeta<LogPlace>(store, replayedTo));
  const keys = new Set(keysOf(logged, 'call'));
  if (all)
    for (const warehouse of warehouses)
      for await (const page of warehouse.restore?.listTombstones() ?? []) {
        const made = page.filter(isKey);
        const fresh = made.flatMap((call) => (keys.has(call) ? [] : { call }));
        await log.append(store, fresh);
        await seekErased(store, made, all);
      }
  await restoreReceipts(store, logged.receipts);
  if (await lackHolds(store, logged.holds)) for (const hold of logged.holds) await addHoldKeys(store, hold);
  await dropHolds(store, logged.unheld);
  for (const wanted of ['person', 'objection'] as const)
    await addErased(store, keysOf(logged, wanted), wanted === 'objection');
  await seekErased(store, [...keys], all);
  await whileSought(store, () => eraseEverywhere(store, warehouses));
  if (all || logged.selectors.length > 0) {
    await listTextSubjects(store);
    await purgeTexts(store);
  }
  await writeMeta(store, replayedTo, logged.end);
};

/** Keys of erased calls in the log that this store may still have, after an interrupted erasure or a restore. */
export const listUnreplayed = async (store: Store): Promise<ReadonlySet<string>> =>
  new Set(keysOf(await store.erasures.log.read(await readMeta<LogPlace>(store, replayedTo)), 'call'));

type ReadLog = Store['erasures']['log']['read'];
type LogPlace = NonNullable<Parameters<ReadLog>[0]>;

const keysOf = ({ selectors }: Awaited<ReturnType<ReadLog>>, wanted: 'call' | 'person' | 'objection') =>
  selectors.flatMap(({ kind, key }) => (kind === wanted ? [key] : []));

/** Place in the log. A restored ledger has an older place, so later erasures are read again. */
const replayedTo = 'erasures_replayed_to';

const idsAtOnce = 2_000;

/** Finds the calls behind keyed hashes and erases them: first in the ledger, then calls of a warehouse that the ledger does not know. */
const eraseEverywhere = async (store: Store, warehouses: readonly Warehouse[]): Promise<void> => {
  for (const ids of [listCallIds(store), ...warehouses.map((warehouse) => warehouse.proof.listCallIds('all'))])
    for await (const page of gatherParts(ids, idsAtOnce)) {
      const known = await findKnown(store, page.map(store.keyOf));
      const erased = page.filter((id) => known.get(store.keyOf(id))?.erased === true);
      const gone = await findTombstones(store, erased);
      const alive = erased.filter((id) => !gone.has(id));
      if (alive.length > 0) await eraseKnown(store, alive);
    }
};
