/** Carries out again what was erased, and puts holds on again, after ledger or warehouses were set back to a time before. */
import { readMeta, writeMeta } from '../../store/meta.ts';
import { eraseKnown, listCallIds } from '../../store/persons/calls.ts';
import {
  addErased,
  addHoldKeys,
  dropHolds,
  findSought,
  isAnySought,
  lackHolds,
  settleSought,
} from '../../store/persons/keys.ts';
import { restoreReceipts } from '../../store/persons/receipts.ts';
import { listTextSubjects, purgeTexts } from '../../store/persons/texts.ts';
import type { Store } from '../../store/store.ts';
import type { Warehouse } from '../../warehouse/warehouse.ts';

/**
 * Erases what the log outside the store, or a tombstone of a warehouse, says was erased: what this ledger still has,
 * what it meets later, and what only a warehouse has. No hold stops that: it was erased before. What a crash interrupts is found again by the next run.
 * @param all also looks at keys that were sought before: ledger or warehouses may have lost their tombstones.
 */
export const replayErasures = async (
  store: Store,
  warehouses: readonly Warehouse[],
  { all }: { readonly all: boolean },
): Promise<void> => {
  const { log } = store.erasures;
  const logged = await log.read(all ? 0 : ((await readMeta<number>(store, replayedTo)) ?? 0));
  const keys = new Set(logged.selectors.flatMap(({ kind, key }) => (kind === 'call' ? [key] : [])));
  const sought = all ? 'all' : 'new';
  if (all) {
    for (const warehouse of warehouses) {
      for await (const page of listTombstones(warehouse)) {
        await log.append(
          store,
          page.filter((key) => !keys.has(key)).map((call) => ({ call })),
        );
        await addErased(store, page, { sought });
      }
    }
  }
  await restoreReceipts(store, logged.receipts);
  if (await lackHolds(store, logged.holds)) for (const hold of logged.holds) await addHoldKeys(store, hold);
  await dropHolds(store, logged.unheld);
  for (const wanted of ['person', 'objection'] as const) {
    const persons = logged.selectors.flatMap(({ kind, key }) => (kind === wanted ? [key] : []));
    await addErased(store, persons, { objects: wanted === 'objection' });
  }
  await addErased(store, [...keys], { sought });
  await eraseEverywhere(store, warehouses);
  if (all || logged.selectors.length > 0) {
    await listTextSubjects(store);
    await purgeTexts(store);
  }
  await writeMeta(store, replayedTo, logged.end);
};

/** Keys of calls that the log says were erased and that this store may still have: an erasure was interrupted, or the store set back. */
export const listUnreplayed = async (store: Store): Promise<ReadonlySet<string>> => {
  const { selectors } = await store.erasures.log.read((await readMeta<number>(store, replayedTo)) ?? 0);
  return new Set(selectors.flatMap(({ kind, key }) => (kind === 'call' ? [key] : [])));
};

/** Of the log, in bytes. It goes back with a ledger that is restored, so that what was erased since is read again. */
const replayedTo = 'erasures_replayed_to';

/** Keys of one statement: a warehouse may have one for every call that grew too old. */
const tombstonesAtOnce = 20_000;

async function* listTombstones(warehouse: Warehouse): AsyncGenerator<readonly string[]> {
  for (let after = ''; ; ) {
    const rows = await warehouse.query(
      `SELECT call_key FROM tombstones WHERE call_key > '${after}' ORDER BY call_key LIMIT ${tombstonesAtOnce}`,
    );
    if (rows.length > 0) yield rows.map((row) => row.call_key as string);
    if (rows.length < tombstonesAtOnce) return;
    after = rows.at(-1)?.call_key as string;
  }
}

const idsAtOnce = 2_000;

/** Finds the calls behind keyed hashes and erases them, in the ledger first. What was interrupted goes on with the keys that are left. */
const eraseEverywhere = async (store: Store, warehouses: readonly Warehouse[]): Promise<void> => {
  if (!(await isAnySought(store))) return;
  const names = warehouses.map(({ name }) => name);
  for await (const calls of listCallIds(store)) {
    const keys = new Map(calls.map((call) => [store.keyOf(call.id), call]));
    const found = await findSought(store, [...keys.keys()]);
    const alive = found.flatMap((key) => (keys.get(key)?.tombstone === false ? [keys.get(key)?.id as string] : []));
    if (alive.length > 0) await eraseKnown(store, alive, names);
    await settleSought(store, found);
  }
  // Calls that this ledger never knew, or lost, and that a warehouse may have.
  if (await isAnySought(store)) {
    const eraseSought = async (ids: readonly string[]): Promise<void> => {
      const keys = new Map(ids.map((id) => [store.keyOf(id), id]));
      const surplus = (await findSought(store, [...keys.keys()])).map((key) => keys.get(key) as string);
      if (surplus.length > 0) await eraseKnown(store, surplus, names);
    };
    for (const warehouse of warehouses) {
      let ids: string[] = [];
      for await (const id of warehouse.listCallIds('all')) {
        ids.push(id);
        if (ids.length < idsAtOnce) continue;
        await eraseSought(ids);
        ids = [];
      }
      await eraseSought(ids);
    }
    await settleSought(store);
  }
};
