/**
 * Notices that the ledger or a warehouse was restored from a backup or lost, and heals it without asking the service:
 * the newest loads of each are looked for in the other. At start, in maintenance, and before the next load once the
 * store answers from another server.
 */
import { CallsyncError, terminal } from '../../errors.ts';
import { listCallIds, listSought, seekErased, settleSought } from '../../store/ledger/erased-keys.ts';
import {
  type CommittedLoad,
  countCommittedSince,
  type LostLoads,
  lastComparison,
  listCommitted,
  noteComparison,
  sendAgain,
  unknownLoads,
} from '../../store/loads/compare-loads.ts';
import { issueEpoch } from '../../store/loads/epochs.ts';
import { eraseKnown } from '../../store/loads/erase.ts';
import type { StoreLease } from '../../store/loads/lease.ts';
import { keepMeta, readMeta, writeMeta } from '../../store/meta.ts';
import type { Store } from '../../store/store.ts';
import type { Warehouse } from '../../warehouse/warehouse.ts';

export interface LedgerCheckDeps {
  readonly store: Store;
  readonly warehouses: readonly Warehouse[];
  /** One check at a time, over all workers. */
  readonly lease: StoreLease;
  readonly say: (message: string) => void;
}

export interface LedgerCheck {
  /** Compares with every warehouse; one that is away is asked before its next load. @throws CallsyncError */
  run(): Promise<void>;
  /** Compares first where that is due. @throws CallsyncError also of a warehouse that does not answer. */
  beforeLoad(warehouse: string): Promise<void>;
}

/** Loads of a warehouse that are compared at least, whatever their age. */
const comparedLoads = 1_000;
/** As many ids in one query of a warehouse. */
const idsPerQuery = 500;
/** Clocks of warehouses and workers may differ by this much; in microseconds. */
const clockMargin = 15 * 60_000_000;

export const createLedgerCheck = (deps: LedgerCheckDeps): LedgerCheck => {
  const { store, lease } = deps;
  const unasked = new Map<string, CallsyncError>();
  let running: Promise<void> | undefined;

  const check = async (): Promise<void> => {
    await lease.run('ledger-check', async () => {
      const away = await compareAll(deps);
      unasked.clear();
      for (const [name, error] of away) unasked.set(name, error);
    });
  };
  const run = (): Promise<void> => {
    running ??= check().finally(() => {
      running = undefined;
    });
    return running;
  };
  return {
    run,
    beforeLoad: async (warehouse) => {
      if (!store.hasMoved() && !unasked.has(warehouse)) return;
      await run();
      store.acceptServer();
      const error = unasked.get(warehouse);
      if (error !== undefined) throw error;
    },
  };
};

interface Comparison {
  /** The warehouse has loads of this ledger's epoch, or a later one, that the ledger does not know. */
  readonly isLedgerOlder: boolean;
  /** What the warehouse lacks of the loads that the ledger knows to be committed. */
  readonly lost: LostLoads | undefined;
}

/** Returns the warehouses that did not answer. */
const compareAll = async (deps: LedgerCheckDeps): Promise<ReadonlyMap<string, CallsyncError>> => {
  const { store, warehouses, say } = deps;
  const epoch = await store.epoch();
  const startedAt = Date.now() * 1000;
  const away = new Map<string, CallsyncError>();
  const compared = new Map<Warehouse, Comparison>();
  for (const warehouse of warehouses) {
    try {
      compared.set(warehouse, await compareWith(store, warehouse, epoch));
    } catch (error) {
      // A new ledger must know the epochs of all warehouses, or it could stay mute there.
      if (epoch === 0 || !(error instanceof CallsyncError) || error.kind === 'terminal') throw error;
      away.set(warehouse.name, error);
    }
  }
  const found = [...compared.values()];
  const hasLost = found.some(({ lost }) => lost !== undefined);
  const isOlder = found.some(({ isLedgerOlder }) => isLedgerOlder);
  await replayErasures(store, [...compared.keys()], { all: isOlder || epoch === 0 || hasLost });
  for (const [{ name }, { lost }] of compared) {
    if (lost === undefined) continue;
    await sendAgain(store, name, lost);
    say(`Warehouse ${name} lacks loads that it had: what it was sent since ${dateOf(lost.since)} is sent again.`);
  }
  if (isOlder || epoch === 0) {
    const highest = await findHighestEpoch([...compared.keys()]);
    const issued = await issueEpoch(store, epoch === 0 ? 'created' : 'restored', highest);
    if (epoch > 0) say(`The ledger is older than a warehouse: epoch ${issued} was issued, all calls are sent again.`);
  }
  for (const { name } of compared.keys()) await noteComparison(store, name, startedAt);
  return away;
};

const dateOf = (micros: number): string => new Date(micros / 1000).toISOString();

const findHighestEpoch = async (warehouses: readonly Warehouse[]): Promise<number> => {
  let highest = 0;
  for (const warehouse of warehouses) {
    for (const table of ['loads', 'calls', 'tombstones']) {
      const [row] = await warehouse.query(`SELECT max(ledger_epoch) AS epoch FROM ${table}`);
      highest = Math.max(highest, Number(row?.epoch ?? 0));
    }
  }
  return highest;
};

/** What one of them committed since the last comparison, and enough before it, is looked for in the other. */
const compareWith = async (store: Store, warehouse: Warehouse, epoch: number): Promise<Comparison> => {
  const last = await lastComparison(store, warehouse.name);
  // Asked before the warehouse is: what commits meanwhile is not missed there.
  const since = last === undefined ? 0 : await countCommittedSince(store, warehouse.name, last - clockMargin);
  const committed = await listCommitted(store, warehouse.name, { skip: 0, limit: since + comparedLoads });
  const newest = `SELECT load_id FROM loads ORDER BY loaded_at DESC LIMIT ${comparedLoads}`;
  const recent = last === undefined ? '' : ` OR loaded_at >= TIMESTAMP '${dateOf(last - clockMargin)}'`;
  const rows = await warehouse.query(`SELECT load_id, ledger_epoch FROM loads WHERE load_id IN (${newest})${recent}`);
  const own = rows.filter((row) => Number(row.ledger_epoch) >= epoch).map((row) => row.load_id as string);
  const present = new Set(rows.map((row) => row.load_id));
  return {
    isLedgerOlder: epoch > 0 && (await unknownLoads(store, own)).length > 0,
    lost: await findLost(store, warehouse, committed, present),
  };
};

/** The loads that the warehouse lacks; goes back until it has one. */
const findLost = async (
  store: Store,
  warehouse: Warehouse,
  newest: readonly CommittedLoad[],
  present: ReadonlySet<unknown>,
): Promise<LostLoads | undefined> => {
  const loadIds: string[] = [];
  let since = Number.POSITIVE_INFINITY;
  let skip = 0;
  for (let page = newest; page.length > 0; ) {
    const doubtful = page.filter(({ loadId }) => !present.has(loadId));
    const there = await findLoads(warehouse, doubtful);
    const lost = doubtful.filter(({ loadId }) => !there.has(loadId));
    for (const { loadId, plannedAt } of lost) {
      loadIds.push(loadId);
      since = Math.min(since, plannedAt);
    }
    // Loads are known to be committed a moment after they were: the last of a page may be lost, and one before it not.
    if (lost.length < page.length) return loadIds.length === 0 ? undefined : { since, loadIds };
    skip += page.length;
    page = await listCommitted(store, warehouse.name, { skip, limit: comparedLoads });
  }
  // It has none of them: whatever it was sent before the oldest that is still known is gone, too.
  return loadIds.length === 0 ? undefined : { since: 0, loadIds };
};

const findLoads = async (warehouse: Warehouse, loads: readonly CommittedLoad[]): Promise<ReadonlySet<unknown>> => {
  const found = new Set<unknown>();
  for (let start = 0; start < loads.length; start += idsPerQuery) {
    const ids = loads.slice(start, start + idsPerQuery).map(({ loadId }) => `'${loadId}'`);
    const rows = await warehouse.query(`SELECT load_id FROM loads WHERE load_id IN (${ids.join(', ')})`);
    for (const row of rows) found.add(row.load_id);
  }
  return found;
};

/** All of call time, in microseconds: years 1 to 9999. */
const ever = { from: -62_135_596_800_000_000, to: 253_402_300_800_000_000 };

/**
 * Erases what the log outside the store, or a tombstone of a warehouse, says was erased: what this ledger still has,
 * what it meets later, and what only a warehouse has. What a crash interrupts is found again by the next run.
 * @param all also looks at keys that were sought before: ledger or warehouses may have lost their tombstones.
 */
const replayErasures = async (
  store: Store,
  warehouses: readonly Warehouse[],
  { all }: { readonly all: boolean },
): Promise<void> => {
  await checkKey(store);
  const { log } = store.erasures;
  const logged = await log.read(all ? 0 : ((await readMeta<number>(store, replayedTo)) ?? 0));
  const keys = new Set(logged.selectors.map(({ key }) => key));
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
  await seekErased(store, keys, { again: all });
  const sought = await listSought(store);
  await eraseEverywhere(store, warehouses, new Set(sought));
  await settleSought(store, sought);
  await writeMeta(store, replayedTo, logged.end);
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
    for (const range of [ever, 'undated'] as const) {
      for await (const id of warehouse.listCallIds(range)) if (sought.has(store.keyOf(id))) surplus.push(id);
    }
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
