/**
 * Notices a restored or lost ledger or warehouse, and repairs it. The check asks the service for single calls only.
 * Runs at start, in maintenance, and before a load if the ledger looks different. A worker that loads nothing checks
 * every few seconds.
 */

import { flattenVersion } from '../../calls/flatten.ts';
import { CallsyncError, transient } from '../../lib/errors.ts';
import { iso } from '../../lib/timestamps.ts';
import { joining } from '../../lib/timing.ts';
import { requestRereads } from '../../store/delivery/inbox.ts';
import { isKey } from '../../store/erasure-log.ts';
import { olderInLedger } from '../../store/ledger/ledger.ts';
import * as history from '../../store/loads/compared.ts';
import { endHealing, issueEpoch, readEpochs, registerWarehouse } from '../../store/loads/warehouses.ts';
import { readStateRow } from '../../store/status/state-row.ts';
import { catchUpSequences, isIncomplete, recreateStore, type Store } from '../../store/store.ts';
import { withdrawProof } from '../../store/windows/verdicts.ts';
import type { RestoreChecks, StoredLoad } from '../../warehouse/restore.ts';
import type { LoadBatch, Warehouse } from '../../warehouse/warehouse.ts';
import { replayErasures } from './replay-erasures.ts';

type Loads = Awaited<ReturnType<typeof history.listCommitted>>;

interface LedgerCheckDeps {
  readonly store: Store;
  /** May grow until the first check. */
  readonly warehouses: readonly Warehouse[];
  readonly say: (message: string) => void;
}

/** Looks in a row (`watch`) that must find the ledger dropped before it is created anew. */
const looksBeforeAnew = 3;

/**
 * One per process: it remembers the identity of the ledger that it last compared, and the latest load of each warehouse.
 */
export const createLedgerCheck = (deps: LedgerCheckDeps) => {
  const { store, say } = deps;
  /** Warehouses to be compared before their next load; with the error where they did not answer. */
  const suspects = new Map<string, CallsyncError | undefined>();
  /** The latest load of each warehouse. */
  const latest = new Map<string, string>();
  let accepted: string | undefined;
  let dropped = 0;

  const run = joining(() =>
    store.lease.run('ledger-check', async () => {
      const { identity } = await store.readMark();
      const { away, restored } = await compareAll(deps);
      // Lost loads of either side would otherwise be found again.
      latest.clear();
      suspects.clear();
      for (const [name, error] of away) suspects.set(name, error);
      accepted = identity;
      return restored;
    }),
  );

  return {
    /** Compares the ledger with every warehouse; an unreachable warehouse is compared before its next load. @throws CallsyncError */
    run,
    /**
     * Compares first where the ledger or the warehouse looks like another one. @throws CallsyncError LEDGER_RESTORED,
     * WAREHOUSE_RESTORED when the load has to be planned again; also of a warehouse that does not answer
     */
    load: async (warehouse: Warehouse, batch: LoadBatch) => {
      const asked = [batch.loadId, ...latest.values()];
      let mark = await store.readMark(asked);
      if (mark.identity !== accepted || mark.known < asked.length || suspects.has(warehouse.name)) {
        const restored = await run();
        const error = suspects.get(warehouse.name);
        if (error !== undefined) throw error;
        mark = await store.readMark([batch.loadId]);
        if (restored !== undefined || mark.known === 0) throw planAgain(restored);
      }
      if (batch.epoch < mark.epoch) throw planAgain();
      const loading = warehouse.load({ ...batch, follows: latest.get(warehouse.name) });
      const result = await loading.catch(async (error: unknown) => {
        if (error instanceof CallsyncError && error.code === 'WAREHOUSE_RESTORED') await run();
        throw error;
      });
      // From now on its warehouse and the ledger know it, or were set back.
      latest.set(warehouse.name, batch.loadId);
      return result;
    },
    migrate: (warehouse: Warehouse) => migrateWhole(deps, warehouse),
    /** The warehouse is compared before its next load. */
    suspect: (warehouse: Warehouse) => suspects.set(warehouse.name, undefined),
    /** For a timer. If the ledger looks like another ledger, compares. If the ledger stays dropped, creates it again. */
    watch: async () => {
      try {
        const { identity, epoch } = await store.readMark();
        dropped = 0;
        if (identity !== accepted || epoch === 0) await run();
      } catch (error) {
        if (!isIncomplete(error)) throw error;
        dropped += 1;
        if (dropped < looksBeforeAnew || !(await recreateStore(store))) return;
        say('The ledger was dropped: a new one was created.');
        await run();
      }
    },
  };
};

/**
 * A warehouse that migrates before its first load and checks the ledger before each load. Otherwise a load of a
 * restored ledger would lose every guard comparison, and one into a lost warehouse would always fail.
 */
export const checkBeforeLoad = (warehouse: Warehouse, check: ReturnType<typeof createLedgerCheck>): Warehouse => {
  let migrated: Promise<void> | undefined;
  const migrate = (): Promise<void> => {
    migrated ??= check.migrate(warehouse).catch((error: unknown) => {
      migrated = undefined;
      throw error;
    });
    return migrated;
  };
  /** The next attempt makes missing tables, and missing columns, whose error is no other than those of mistakes. */
  const migratedFirst = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      await migrate();
      return await work();
    } catch (error) {
      if (error instanceof CallsyncError && error.kind === 'terminal') migrated = undefined;
      if (!isTableMissing(warehouse, error)) throw error;
      migrated = undefined;
      check.suspect(warehouse);
      throw transient(error.code, error.message, { cause: error });
    }
  };
  return {
    ...warehouse,
    migrate,
    load: (batch) => migratedFirst(() => check.load(warehouse, batch)),
    recordState: (row) => migratedFirst(() => warehouse.recordState(row)),
  };
};

const planAgain = (restored?: 'ledger' | 'warehouse'): CallsyncError =>
  restored === 'warehouse'
    ? transient('WAREHOUSE_RESTORED', 'A warehouse lost tables or loads, so callsync plans the load again.')
    : transient('LEDGER_RESTORED', 'The ledger was restored, so callsync plans the load again.');

/**
 * The epoch comes first: the slow rest may be interrupted, and the next caller repeats it.
 * `away` = warehouses that did not answer.
 * `restored` = the side that is new or was set back.
 */
const compareAll = async (deps: LedgerCheckDeps) => {
  const { store, warehouses } = deps;
  await catchUpSequences(store, store.schema);
  await store.checkKeys();
  const { epoch, healed } = await readEpochs(store);
  const startedAt = await history.readClock(store);
  const away = new Map<string, CallsyncError>();
  const compared = new Map<Warehouse, Comparison>();
  for (const warehouse of warehouses) {
    try {
      compared.set(warehouse, await compareWithWarehouse(deps, warehouse, healed));
    } catch (error) {
      // A new ledger must know the epochs of all warehouses, or it could stay mute there.
      if (healed === 0 || !(error instanceof CallsyncError) || error.kind === 'terminal') throw error;
      away.set(warehouse.name, error);
    }
  }
  const isOlder = [...compared.values()].some(({ unknown }) => unknown.some((load) => load.epoch >= epoch));
  const issued = epoch === 0 || isOlder ? await beginEpoch(deps, epoch, compared) : epoch;
  const isOther = issued !== healed;
  // Runs before any load. By this row, marts ignore verdicts of an earlier ledger.
  if (isOther)
    for (const warehouse of compared.keys()) await warehouse.recordState(await readStateRow(store, warehouse.name));
  const isLost = [...compared.values()].some(({ lost }) => lost !== undefined);
  const restored = isOther ? ('ledger' as const) : isLost ? ('warehouse' as const) : undefined;
  // Before anything is loaded that was erased.
  await replayErasures(store, [...compared.keys()], { all: restored !== undefined });
  await fillWarehouses(deps, compared);
  if (isOther && healed !== 0) await healLedger(deps, issued, compared);
  await endHealing(store, issued);
  for (const { name } of compared.keys()) await history.noteComparison(store, name, startedAt);
  return { away, restored };
};

/** Sends lost loads to the warehouses again. */
const fillWarehouses = async ({ store, say }: LedgerCheckDeps, compared: Compared) => {
  for (const [{ name }, { lost }] of compared) {
    if (lost === undefined) continue;
    await withdrawProof(store, async (tx, withdraw) => {
      await withdraw(lost, name);
      await history.sendAgain(tx, name, lost);
    });
    const calls = lost.since === 0 ? 'all calls' : `the calls since ${iso(lost.since)}`;
    say(`Warehouse ${name} lacks earlier loads. callsync sends ${calls} again.`);
  }
};

/** Makes missing tables, and has all calls sent again first: a table that was made tells nobody that it is new. @throws CallsyncError */
const migrateWhole = async (deps: LedgerCheckDeps, warehouse: Warehouse): Promise<void> => {
  const all = { unknown: [], lost: { since: 0, loadIds: [] } };
  const fill = () => fillWarehouses(deps, new Map([[warehouse, all]]));
  await unlessMissing(warehouse, isEmptied(deps.store, warehouse), fill);
  await warehouse.migrate();
};

type Compared = ReadonlyMap<Warehouse, Comparison>;

/** Most calls to request one by one; reconcile finds the rest. */
const mostRereads = 5_000;

/** Raises the ledger above everything that the warehouses hold. */
const beginEpoch = async ({ store, warehouses, say }: LedgerCheckDeps, epoch: number, compared: Compared) => {
  // A backup may be older than the registration of a warehouse.
  for (const { name } of warehouses) await registerWarehouse(store, name, flattenVersion);
  let highest = 0;
  for (const warehouse of compared.keys())
    highest = Math.max(highest, (await warehouse.restore?.findHighestEpoch()) ?? 0);
  if (epoch === 0 && highest > 0)
    say('This ledger is new, and a warehouse has calls of another one. If that one still runs, use another schema.');
  return await issueEpoch(store, epoch === 0 ? 'created' : 'restored', highest, true);
};

/**
 * Asks the service for calls that a warehouse received and the restored ledger forgot. The warehouse keeps its rows
 * until such a call changes.
 */
const healLedger = async ({ store, say }: LedgerCheckDeps, epoch: number, compared: Compared): Promise<void> => {
  const forgotten = new Set<string>();
  for (const [warehouse, { unknown }] of compared)
    for (const id of await listForgotten(store, warehouse, unknown, mostRereads)) forgotten.add(id);
  await requestRereads(store, [...forgotten], 'restored');
  say(
    `The ledger lacks loads or dates that a warehouse has. If nobody restored it, another deployment loads that warehouse, and each needs its own schema. callsync began epoch ${epoch}, sends all calls again, and asks the service for ${forgotten.size} calls.`,
  );
};

// Compares the loads of ledger and warehouse. A load that only one side has was lost by the other.

type Comparison = Awaited<ReturnType<typeof compare>>;

/** Least number of loads to compare, of any age. */
const comparedLoads = 1_000;
/** Clocks of warehouses, store and workers may differ by this much; in microseconds. */
const clockMargin = 15 * 60_000_000;

/**
 * Looks on each side for the loads that the other side committed since the last comparison, and for some earlier loads. Creates missing tables; then all loads are lost.
 * @param epoch the ledger's; 0 = it is new and knows no load.
 * @throws CallsyncError of the warehouse or the store
 */
const compareWithWarehouse = (deps: LedgerCheckDeps, warehouse: Warehouse, epoch: number) =>
  unlessMissing(warehouse, compare(deps.store, warehouse, epoch), async () => {
    await migrateWhole(deps, warehouse);
    return await compare(deps.store, warehouse, epoch);
  });

/** The tables of the warehouse were dropped, or it is being restored. */
const isTableMissing = ({ traits }: Warehouse, error: unknown): error is CallsyncError =>
  error instanceof CallsyncError && traits.faults.tableMissing.includes(error.code);

/** The outcome of the work; of `otherwise` where the work meets a missing table. */
const unlessMissing = <T, U>(warehouse: Warehouse, work: Promise<T>, otherwise: () => Promise<U>): Promise<T | U> =>
  work.catch((error: unknown) => {
    if (!isTableMissing(warehouse, error)) throw error;
    return otherwise();
  });

/** Calls whose rows came with these loads in a higher revision than the ledger has, newest load first, at most `limit`. */
const listForgotten = async (store: Store, warehouse: Warehouse, loads: readonly StoredLoad[], limit: number) => {
  const ids: string[] = [];
  for await (const calls of warehouse.restore?.listCallsOf(loads) ?? []) {
    ids.push(...(await olderInLedger(store, calls)));
    if (ids.length >= limit) break;
  }
  return ids.slice(0, limit);
};

/**
 * `unknown` = loads of this ledger's epoch, or a later one, that the ledger does not know: it was set back. Where calls are stored
 * under their dates, all of them, if the warehouse was never compared before: then the ledger does not know these dates.
 * `lost` = loads that the ledger knows to be committed and the warehouse lacks.
 */
const compare = async (store: Store, warehouse: Warehouse, epoch: number) => {
  const { restore, traits } = warehouse;
  if (restore === undefined) return { unknown: [], lost: undefined };
  const last = await history.lastComparison(store, warehouse.name);
  const since = last === undefined ? {} : { since: last - clockMargin };
  // Read before the warehouse, so that loads that commit in between do not look lost.
  const committed = await history.listCommitted(store, warehouse.name, { limit: comparedLoads, ...since });
  const stored = await restore.listLoads(comparedLoads, last === undefined ? undefined : last - clockMargin);
  // `isKey` keeps out ids that other programs wrote.
  const own = stored.filter((load) => load.epoch >= epoch && isKey(load.loadId));
  const present = new Set(stored.map(({ loadId }) => loadId));
  const lost = await findLost(store, { name: warehouse.name, restore }, committed, present);
  // Under dates that the store has forgotten, or never knew of a dataset that had another name.
  const isNew = last === undefined && traits.partitionOf(null) !== undefined;
  return {
    unknown: epoch === 0 ? [] : isNew ? own : await listUnknown(store, own),
    lost: lost === undefined && (await isEmptied(store, warehouse)) ? { since: 0, loadIds: [] } : lost,
  };
};

/** Whether rows went of calls that were loaded. @throws CallsyncError also where a table is missing */
const isEmptied = async (store: Store, { name, restore }: Warehouse): Promise<boolean> =>
  (await history.hasLoadedCalls(store, name)) && (await restore?.isEmptied()) === true;

/**
 * Whether a warehouse lacks its tables, all calls, or one of the newest committed loads: others may have come since it was set
 * back. Such a warehouse has no proof until a worker has compared it.
 * @throws CallsyncError of the warehouse or the store
 */
export const hasLost = (store: Store, warehouse: Warehouse): Promise<boolean> =>
  unlessMissing(
    warehouse,
    compare(store, warehouse, 0).then(({ lost }) => lost !== undefined),
    async () => true,
  );

const listUnknown = async (store: Store, loads: readonly StoredLoad[]): Promise<readonly StoredLoad[]> => {
  const ids = loads.map(({ loadId }) => loadId);
  const unknown = new Set(await history.unknownLoads(store, ids));
  return loads.filter(({ loadId }) => unknown.has(loadId));
};

/** The loads that the warehouse lacks; goes back until it has one. */
const findLost = async (
  store: Store,
  { name, restore }: { readonly name: string; readonly restore: RestoreChecks },
  newest: Loads,
  present: ReadonlySet<string>,
) => {
  const loadIds: string[] = [];
  let since = Number.POSITIVE_INFINITY;
  let skip = 0;
  for (let page = newest; page.length > 0; ) {
    const doubtful = page.filter(({ loadId }) => !present.has(loadId));
    const there = await restore.findLoads(doubtful.map(({ loadId }) => loadId));
    const lost = doubtful.filter(({ loadId }) => !there.has(loadId));
    for (const { loadId, plannedAt } of lost) {
      loadIds.push(loadId);
      since = Math.min(since, plannedAt - clockMargin);
    }
    // The ledger learns of a commit a moment later, so the last load of a page may be lost while an earlier load is not.
    if (lost.length < page.length) return loadIds.length === 0 ? undefined : { since, loadIds };
    skip += page.length;
    page = await history.listCommitted(store, name, { skip, limit: comparedLoads });
  }
  // The warehouse has none of them, so all loads before the oldest known one are lost, too.
  return loadIds.length === 0 ? undefined : { since: 0, loadIds };
};
