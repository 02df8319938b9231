/** Carries out again what was erased, and puts holds on again, after ledger or warehouses were set back to a time before. */
import { terminal } from '../../errors.ts';
import { purgeTexts } from '../../store/delivery/purge.ts';
import { eraseKnown } from '../../store/erasure/erase.ts';
import {
  findErasedTexts,
  listCallIds,
  listSought,
  notePersons,
  seekErased,
  settleSought,
} from '../../store/ledger/erased-keys.ts';
import { withoutDeletions } from '../../store/ledger/hold-lock.ts';
import { addHoldKeys, dropHolds, lackHolds } from '../../store/ledger/holds.ts';
import { dropErasedAliases, forgetAliasesOf } from '../../store/loads/token-aliases.ts';
import { keepMeta, readMeta, writeMeta } from '../../store/meta.ts';
import type { Store } from '../../store/store.ts';
import { restoreReceipts } from '../../store/windows/receipts.ts';
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
  await checkKey(store);
  const { log } = store.erasures;
  const logged = await log.read(all ? 0 : ((await readMeta<number>(store, replayedTo)) ?? 0));
  const keys = new Set(logged.selectors.flatMap(({ kind, key }) => (kind === 'call' ? [key] : [])));
  if (all) {
    const unlogged: string[] = [];
    for (const warehouse of warehouses) {
      for (const row of await warehouse.query('SELECT call_key FROM tombstones')) {
        if (!keys.has(row.call_key as string)) unlogged.push(row.call_key as string);
        keys.add(row.call_key as string);
      }
    }
    await log.append('call', unlogged);
  }
  await restoreReceipts(store, logged.receipts);
  // One that is being put on just now is there already: its search is not waited for.
  if (await lackHolds(store, logged.holds))
    await withoutDeletions(store, async () => {
      for (const hold of logged.holds) await addHoldKeys(store, hold);
    });
  await dropHolds(store, logged.unheld);
  for (const wanted of ['person', 'objection'] as const) {
    const persons = logged.selectors.flatMap(({ kind, key }) => (kind === wanted ? [key] : []));
    if (persons.length > 0) await notePersons(store, persons, { objects: wanted === 'objection' });
  }
  for (const { kind, key } of logged.selectors) if (kind === 'forgotten_key') await forgetAliasesOf(store, key);
  await seekErased(store, keys, { again: all });
  const sought = await listSought(store);
  await eraseEverywhere(store, warehouses, new Set(sought));
  if (all || logged.selectors.length > 0) {
    await purgeTexts(store, (tx, texts) => findErasedTexts(tx, texts, store));
    await dropErasedAliases(store);
  }
  await settleSought(store, sought);
  await writeMeta(store, replayedTo, logged.end);
};

/** Keys of calls that the log says were erased and that this store may still have: an erasure was interrupted, or the store set back. */
export const listUnreplayed = async (store: Store): Promise<ReadonlySet<string>> => {
  const { selectors } = await store.erasures.log.read((await readMeta<number>(store, replayedTo)) ?? 0);
  return new Set(selectors.flatMap(({ kind, key }) => (kind === 'call' ? [key] : [])));
};

/** Of the log, in bytes. It goes back with a ledger that is restored, so that what was erased since is read again. */
const replayedTo = 'erasures_replayed_to';

/** Finds the calls behind keyed hashes and erases them, in the ledger first. */
const eraseEverywhere = async (store: Store, warehouses: readonly Warehouse[], sought: Set<string>): Promise<void> => {
  if (sought.size === 0) return;
  const names = warehouses.map(({ name }) => name);
  for await (const calls of listCallIds(store)) {
    const erased = calls.filter(({ id }) => sought.has(store.keyOf(id)));
    for (const { id } of erased) sought.delete(store.keyOf(id));
    const alive = erased.filter(({ tombstone }) => !tombstone).map(({ id }) => id);
    if (alive.length > 0) await eraseKnown(store, alive, names);
  }
  // Calls that this ledger never knew, or lost, and that a warehouse may have.
  for (const warehouse of sought.size === 0 ? [] : warehouses) {
    const surplus: string[] = [];
    for await (const id of warehouse.listCallIds('all')) if (sought.has(store.keyOf(id))) surplus.push(id);
    if (surplus.length > 0) await eraseKnown(store, surplus, names);
  }
};

/** A store whose tombstones were made with another key would not recognise a single one. */
const checkKey = async (store: Store): Promise<void> => {
  const fingerprint = store.keyOf('fingerprint of the key of tombstones');
  if ((await keepMeta(store, 'tombstone_key_fingerprint', fingerprint)) === fingerprint) return;
  throw terminal('TOMBSTONE_KEY', 'The key of tombstones is not the one that this store has been used with.', {
    hint: 'Give every worker the same file: store.tombstone_key_file, or tombstone.key in store.data_dir.',
  });
};
