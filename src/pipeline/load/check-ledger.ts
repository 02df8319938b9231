/**
 * Notices a restored or lost ledger or warehouse, and repairs it. It asks the service for single calls only.
 * Runs at start, in maintenance, and before a load if the ledger looks different. A worker that loads nothing checks
 * every few seconds.
 */
import { flattenVersion } from '../../calls/flatten.ts';
import { CallsyncError, transient } from '../../lib/errors.ts';
import { requestRereads } from '../../store/delivery/inbox.ts';
import { createLease, noteComparison, readClock, sendAgain } from '../../store/loads/compared.ts';
import { endHealing, issueEpoch, readEpochs, registerWarehouse } from '../../store/loads/warehouses.ts';
import { repairCounters } from '../../store/status/counters.ts';
import { readStateRow } from '../../store/status/state-row.ts';
import { isIncomplete, type LedgerMark, readLedgerMark, recreateStore, type Store } from '../../store/store.ts';
import { withdrawProof } from '../../store/windows/verdicts.ts';
import type { LoadBatch, Warehouse } from '../../warehouse/warehouse.ts';
import {
  type Comparison,
  compareWithWarehouse,
  findHighestEpoch,
  isTableMissing,
  listForgotten,
} from './compare-with-warehouse.ts';
import { replayErasures } from './replay-erasures.ts';

interface LedgerCheckDeps {
  readonly store: Store;
  /** May grow until the first check. */
  readonly warehouses: readonly Warehouse[];
  readonly say: (message: string) => void;
}

export interface LedgerCheck {
  /** Compares with every warehouse; one that is away is asked before its next load. @throws CallsyncError */
  run(): Promise<void>;
  /**
   * Compares first where the ledger or the warehouse looks like another one.
   * @throws CallsyncError LEDGER_RESTORED when the load has to be planned again; also of a warehouse that does not answer
   */
  beforeLoad(warehouse: Warehouse, batch: LoadBatch): Promise<void>;
  /** The load is committed: from now on its warehouse and the ledger know it, or were set back. */
  afterLoad(warehouse: Warehouse, batch: LoadBatch): void;
  /** The warehouse is compared before its next load. */
  suspect(warehouse: Warehouse): void;
  /** For a timer: compares when the ledger looks like another one, and creates it anew when it stays dropped. */
  watch(): Promise<void>;
}

/** Looks in a row (`watch`) that must find the ledger dropped before it is created anew. */
const looksBeforeAnew = 3;

/**
 * One per process: it remembers the identity of the ledger that it last compared, and the latest load of each warehouse.
 */
export const createLedgerCheck = (deps: LedgerCheckDeps): LedgerCheck => {
  const { store, say } = deps;
  /** Warehouses to be compared before their next load; with the error where they did not answer. */
  const suspects = new Map<string, CallsyncError | undefined>();
  /** The latest load of each warehouse. */
  const latest = new Map<string, string>();
  let accepted: string | undefined;
  let running: Promise<boolean> | undefined;
  let dropped = 0;

  const compare = (): Promise<boolean> =>
    createLease(store).run('ledger-check', async () => {
      const { identity } = await readLedgerMark(store, []);
      const { away, restored } = await compareAll(deps);
      // Those that either side has lost would be missed again.
      latest.clear();
      suspects.clear();
      for (const [name, error] of away) suspects.set(name, error);
      accepted = identity;
      return restored;
    });
  const run = (): Promise<boolean> => {
    running ??= compare().finally(() => {
      running = undefined;
    });
    return running;
  };
  /** Of the load that is to follow. */
  const isOther = async (mark: LedgerMark, asked: number, warehouse: Warehouse): Promise<boolean> =>
    mark.identity !== accepted ||
    mark.known < asked ||
    suspects.has(warehouse.name) ||
    (await lacksLatest(warehouse, latest.get(warehouse.name)));

  return {
    run: async () => {
      await run();
    },
    beforeLoad: async (warehouse, batch) => {
      const asked = [batch.loadId, ...latest.values()];
      let mark = await readLedgerMark(store, asked);
      if (await isOther(mark, asked.length, warehouse)) {
        const restored = await run();
        const error = suspects.get(warehouse.name);
        if (error !== undefined) throw error;
        mark = await readLedgerMark(store, [batch.loadId]);
        if (restored || mark.known === 0) throw planAgain();
      }
      if (batch.epoch < mark.epoch) throw planAgain();
    },
    afterLoad: (warehouse, batch) => {
      latest.set(warehouse.name, batch.loadId);
    },
    suspect: (warehouse) => {
      suspects.set(warehouse.name, undefined);
    },
    watch: async () => {
      try {
        const { identity, epoch } = await readLedgerMark(store, []);
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
export const checkBeforeLoad = (warehouse: Warehouse, check: LedgerCheck): Warehouse => {
  let migrated: Promise<void> | undefined;
  const migrate = (): Promise<void> => {
    migrated ??= warehouse.migrate().catch((error: unknown) => {
      migrated = undefined;
      throw error;
    });
    return migrated;
  };
  /** Tables that are missing are created by the next attempt. */
  const migratedFirst = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      await migrate();
      return await work();
    } catch (error) {
      if (!isTableMissing(error)) throw error;
      migrated = undefined;
      check.suspect(warehouse);
      throw transient(error.code, error.message, { cause: error });
    }
  };
  return {
    ...warehouse,
    load: (batch) =>
      migratedFirst(async () => {
        await check.beforeLoad(warehouse, batch);
        const result = await warehouse.load(batch);
        check.afterLoad(warehouse, batch);
        return result;
      }),
    recordState: (row) => migratedFirst(() => warehouse.recordState(row)),
  };
};

const planAgain = (): CallsyncError =>
  transient('LEDGER_RESTORED', 'The ledger or a warehouse was restored: the load is planned again.');

/** Asked only where a question costs next to nothing. */
const lacksLatest = async (warehouse: Warehouse, loadId: string | undefined): Promise<boolean> =>
  warehouse.immediate &&
  loadId !== undefined &&
  (await warehouse.query(`SELECT 1 FROM loads WHERE load_id = '${loadId}'`)).length === 0;

interface Checked {
  /** Warehouses that did not answer. */
  readonly away: ReadonlyMap<string, CallsyncError>;
  /** The ledger is new or was set back, or a warehouse was. */
  readonly restored: boolean;
}

/** The epoch comes first: the slow rest may be interrupted, and the next caller repeats it. */
const compareAll = async (deps: LedgerCheckDeps): Promise<Checked> => {
  const { store, warehouses } = deps;
  await store.checkKeys();
  const { epoch, healed } = await readEpochs(store);
  const startedAt = await readClock(store);
  const away = new Map<string, CallsyncError>();
  const compared = new Map<Warehouse, Comparison>();
  for (const warehouse of warehouses) {
    try {
      compared.set(warehouse, await compareWithWarehouse(store, warehouse, healed));
    } catch (error) {
      // A new ledger must know the epochs of all warehouses, or it could stay mute there.
      if (healed === 0 || !(error instanceof CallsyncError) || error.kind === 'terminal') throw error;
      away.set(warehouse.name, error);
    }
  }
  const isOlder = [...compared.values()].some(({ unknown }) => unknown.some((load) => load.epoch >= epoch));
  const issued = epoch === 0 || isOlder ? await beginEpoch(deps, epoch, compared) : epoch;
  const isOther = issued !== healed;
  // Before anything is sent: marts say by this row that verdicts of an earlier ledger prove nothing.
  if (isOther)
    for (const warehouse of compared.keys()) await warehouse.recordState(await readStateRow(store, warehouse.name));
  const restored = isOther || [...compared.values()].some(({ lost }) => lost !== undefined);
  // Before anything is loaded that was erased.
  await replayErasures(store, [...compared.keys()], { all: restored });
  await fillWarehouses(deps, compared);
  if (isOther && healed !== 0) await healLedger(deps, issued, compared);
  await endHealing(store, issued);
  for (const { name } of compared.keys()) await noteComparison(store, name, startedAt);
  return { away, restored };
};

/** Sends again what warehouses have lost. */
const fillWarehouses = async (
  { store, say }: LedgerCheckDeps,
  compared: ReadonlyMap<Warehouse, Comparison>,
): Promise<void> => {
  for (const [{ name }, { lost }] of compared) {
    if (lost === undefined) continue;
    await withdrawProof(store, async (tx, withdraw) => {
      await withdraw(lost, name);
      await sendAgain(tx, name, lost);
    });
    const since = lost.since === 0 ? 'ever' : `since ${new Date(lost.since / 1000).toISOString()}`;
    say(`Warehouse ${name} lacks loads that it had: what it was sent ${since} is sent again.`);
  }
};

/** Calls that are asked for one by one; reconcile finds what is beyond. */
const mostRereads = 5_000;

/** Raises the ledger above everything that the warehouses hold. */
const beginEpoch = async (
  { store, warehouses }: LedgerCheckDeps,
  epoch: number,
  compared: ReadonlyMap<Warehouse, Comparison>,
): Promise<number> => {
  // A backup may be older than the registration of a warehouse.
  for (const { name } of warehouses) await registerWarehouse(store, name, flattenVersion);
  let highest = 0;
  for (const warehouse of compared.keys()) highest = Math.max(highest, await findHighestEpoch(warehouse));
  return await issueEpoch(store, epoch === 0 ? 'created' : 'restored', highest, { healing: true });
};

/**
 * Asks the service for calls that a warehouse received and the restored ledger forgot. The warehouse keeps its rows
 * until such a call changes.
 */
const healLedger = async (
  { store, say }: LedgerCheckDeps,
  epoch: number,
  compared: ReadonlyMap<Warehouse, Comparison>,
): Promise<void> => {
  const forgotten = new Set<string>();
  for (const [warehouse, { unknown }] of compared)
    for (const id of await listForgotten(store, warehouse, unknown, mostRereads)) forgotten.add(id);
  await requestRereads(store, [...forgotten], 'restored');
  await repairCounters(store);
  say(
    `The ledger lacks loads or dates that a warehouse has: epoch ${epoch} was issued, all calls are sent again, and ${forgotten.size} calls are asked of the service.`,
  );
};
