/** Compares the loads of the ledger with those of a warehouse: what only one of them knows, the other has lost. */
import { CallsyncError } from '../../lib/errors.ts';
import { partsOf } from '../../lib/pages.ts';
import { olderInLedger } from '../../store/ledger/ledger.ts';
import {
  type CommittedLoad,
  countCommittedSince,
  hasLoadedCalls,
  type LostLoads,
  lastComparison,
  listCommitted,
  unknownLoads,
} from '../../store/loads/compared.ts';
import type { Store } from '../../store/store.ts';
import type { Warehouse } from '../../warehouse/warehouse.ts';

interface UnknownLoad {
  readonly loadId: string;
  readonly epoch: number;
}

export interface Comparison {
  /**
   * Loads of this ledger's epoch, or a later one, that the ledger does not know: it was set back. Where calls are stored under
   * their dates, all of them, if the warehouse was never compared before: then the ledger does not know these dates.
   */
  readonly unknown: readonly UnknownLoad[];
  /** Loads that the ledger knows to be committed and the warehouse lacks. */
  readonly lost: LostLoads | undefined;
}

/** Loads of a warehouse that are compared at least, whatever their age. */
const comparedLoads = 1_000;
/** As many ids in one query of a warehouse. */
const idsPerQuery = 500;
/** Clocks of warehouses, store and workers may differ by this much; in microseconds. */
const clockMargin = 15 * 60_000_000;

/**
 * Looks in each side for the loads that the other one committed since the last comparison, and some earlier ones.
 * Creates missing tables; then everything is lost.
 * @param epoch the ledger's; 0 = it is new and knows no load.
 * @throws CallsyncError of the warehouse or the store
 */
export const compareWithWarehouse = async (store: Store, warehouse: Warehouse, epoch: number): Promise<Comparison> => {
  try {
    return await compare(store, warehouse, epoch);
  } catch (error) {
    if (!isTableMissing(error)) throw error;
    await warehouse.migrate();
    return await compare(store, warehouse, epoch);
  }
};

const missingCodes: ReadonlySet<string> = new Set(['DATABASE_INCOMPLETE', 'BIGQUERY_NOT_FOUND']);

/** Of a warehouse: its tables were dropped, or it is being restored. */
export const isTableMissing = (error: unknown): error is CallsyncError =>
  error instanceof CallsyncError && missingCodes.has(error.code);

/** The highest epoch of anything that the warehouse holds; 0 = nothing. */
export const findHighestEpoch = async (warehouse: Warehouse): Promise<number> => {
  let highest = 0;
  for (const table of ['loads', 'calls', 'tombstones']) {
    const [row] = await warehouse.query(`SELECT max(ledger_epoch) AS epoch FROM ${table}`);
    highest = Math.max(highest, Number(row?.epoch ?? 0));
  }
  return highest;
};

/** Calls whose rows came with these loads in a higher revision than the ledger has, newest load first, at most `limit`. */
export const listForgotten = async (
  store: Store,
  warehouse: Warehouse,
  loads: readonly UnknownLoad[],
  limit: number,
): Promise<readonly string[]> => {
  const ids: string[] = [];
  // By both columns, as the index of the calls has them.
  const epochs = [...new Set(loads.map(({ epoch }) => epoch))].join(', ');
  for (const page of pagesOf(loads.map(({ loadId }) => loadId))) {
    const rows = await warehouse.query(
      `SELECT call_id, revision FROM calls WHERE ledger_epoch IN (${epochs}) AND load_id IN (${page})`,
    );
    const calls = rows.map((row) => ({ callId: row.call_id as string, revision: Number(row.revision) }));
    ids.push(...(await olderInLedger(store, calls)));
    if (ids.length >= limit) break;
  }
  return ids.slice(0, limit);
};

const compare = async (store: Store, warehouse: Warehouse, epoch: number): Promise<Comparison> => {
  const last = await lastComparison(store, warehouse.name);
  // Asked before the warehouse is: what commits meanwhile is not missed there.
  const since = last === undefined ? 0 : await countCommittedSince(store, warehouse.name, last - clockMargin);
  const committed = await listCommitted(store, warehouse.name, { skip: 0, limit: since + comparedLoads });
  const newest = `SELECT load_id FROM loads ORDER BY loaded_at DESC LIMIT ${comparedLoads}`;
  const recent =
    last === undefined ? '' : ` OR loaded_at >= TIMESTAMP '${new Date((last - clockMargin) / 1000).toISOString()}'`;
  const rows = await warehouse.query(
    `SELECT load_id, ledger_epoch FROM loads WHERE load_id IN (${newest})${recent} ORDER BY loaded_at DESC`,
  );
  const own = rows
    .map((row) => ({ loadId: row.load_id as string, epoch: Number(row.ledger_epoch) }))
    .filter((load) => load.epoch >= epoch);
  const present = new Set(rows.map((row) => row.load_id));
  const lost = await findLost(store, warehouse, committed, present);
  // Under dates that the store has forgotten, or never knew of a dataset that had another name.
  const isNew = last === undefined && warehouse.partitionOf(null) !== undefined;
  return {
    unknown: epoch === 0 ? [] : isNew ? own : await listUnknown(store, own),
    lost: lost === undefined && (await isEmptied(store, warehouse)) ? { since: 0, loadIds: [] } : lost,
  };
};

const isEmptied = async (store: Store, warehouse: Warehouse): Promise<boolean> =>
  (await hasLoadedCalls(store, warehouse.name)) && (await warehouse.query('SELECT 1 FROM calls LIMIT 1')).length === 0;

/**
 * Whether a warehouse lacks its tables, all calls, or the newest committed load. Its proof is then void until a
 * worker has compared it.
 * @throws CallsyncError of the warehouse or the store
 */
export const hasLost = async (store: Store, warehouse: Warehouse): Promise<boolean> => {
  try {
    const newest = await listCommitted(store, warehouse.name, { skip: 0, limit: 1 });
    return (await findLoads(warehouse, newest)).size < newest.length || (await isEmptied(store, warehouse));
  } catch (error) {
    if (!isTableMissing(error)) throw error;
    return true;
  }
};

const listUnknown = async (store: Store, loads: readonly UnknownLoad[]): Promise<readonly UnknownLoad[]> => {
  const unknown = new Set(
    await unknownLoads(
      store,
      loads.map(({ loadId }) => loadId),
    ),
  );
  return loads.filter(({ loadId }) => unknown.has(loadId));
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
  for (const page of pagesOf(loads.map(({ loadId }) => loadId))) {
    const rows = await warehouse.query(`SELECT load_id FROM loads WHERE load_id IN (${page})`);
    for (const row of rows) found.add(row.load_id);
  }
  return found;
};

/** Lists of ids as SQL takes them: ours, and thus without quotes. */
function* pagesOf(ids: readonly string[]): Generator<string> {
  for (const part of partsOf(ids, idsPerQuery)) yield part.map((id) => `'${id}'`).join(', ');
}
