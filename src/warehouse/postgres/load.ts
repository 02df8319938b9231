/** One load = one transaction: claim the calls whose guard is lower, then replace the children of only those. */
import type pg from 'pg';
import { erasedPrefix, type Row, type TableName, tables } from '../../../schemas/tables.ts';
import { transient } from '../../lib/errors.ts';
import { BinaryCopyWriter } from '../../postgres/binary-copy.ts';
import type { Database, Queryable } from '../../postgres/database.ts';
import type { CallLoad, LoadBatch, LoadResult } from '../warehouse.ts';
import { createEncoder, type Encode, type EncodedCalls } from './encoder.ts';
import type { Layout } from './layout.ts';
import { type LoadSql, loadSql } from './load-sql.ts';

const send = async (client: pg.PoolClient, { target, chunks }: EncodedCalls['stage']): Promise<void> => {
  if (chunks !== undefined) await BinaryCopyWriter.send(client, target, chunks);
};

/** The calls of this load that have a lower guard in the warehouse. Takes away their child rows. */
const claimCalls = async (client: pg.PoolClient, sql: LoadSql, batch: LoadBatch, stage: EncodedCalls['stage']) => {
  await send(client, stage);
  const claim = batch.force === true ? sql.claimEqual : sql.claim;
  const { rows } = await client.query<{ call_id: string; is_new: boolean }>(claim);
  const replaced = rows.filter((row) => !(row.is_new && batch.failsAtOrphans)).map((row) => row.call_id);
  if (replaced.length > 0) await client.query(sql.deleteChildren, [replaced]);
  const claimed = new Set(rows.map((row) => row.call_id));
  return batch.calls.filter((call) => claimed.has(call.callId));
};

type Found = Readonly<Record<'follows' | 'hasTombstones' | 'isSearched', boolean>>;

/** Asked after the claim, so that a tombstone which committed while the claim waited is seen. @throws CallsyncError WAREHOUSE_RESTORED */
const look = async (client: pg.PoolClient, sql: LoadSql, batch: LoadBatch): Promise<Found> => {
  const [found] = (await client.query<Found>(sql.look, [batch.follows])).rows;
  if (found?.follows === true) return found;
  throw transient('WAREHOUSE_RESTORED', 'A warehouse lacks the load before this one, so callsync plans it again.');
};

/** Claimed calls without a tombstone; takes away the rows of the others. */
const withoutErased = async (client: pg.PoolClient, sql: LoadSql, batch: LoadBatch, claimed: readonly CallLoad[]) => {
  const keys = new Map(claimed.map((call) => [batch.keyOf(call.callId), call.callId]));
  const blocked = await client.query<{ call_key: string }>(sql.blocked, [[...keys.keys()]]);
  if (blocked.rows.length === 0) return claimed;
  const erased = new Set(blocked.rows.map((row) => keys.get(row.call_key)));
  await client.query(sql.deleteCalls, [[...erased]]);
  return claimed.filter((call) => !erased.has(call.callId));
};

const applyTombstones = async (client: pg.PoolClient, sql: LoadSql, batch: LoadBatch): Promise<number> => {
  if (batch.tombstones.length === 0) return 0;
  const ids = batch.tombstones.map(({ callId }) => callId);
  const keys = batch.tombstones.map(({ callKey }) => callKey);
  const revisions = batch.tombstones.map(({ revision }) => revision);
  const { rowCount } = await client.query(sql.tombstone, [keys, batch.epoch, revisions, batch.loadId]);
  await client.query(sql.deleteChildren, [ids]);
  await client.query(sql.deleteCalls, [ids]);
  await client.query(sql.deleteChanges, [ids]);
  await client.query(sql.renameDeliveries, [ids, keys.map((key) => erasedPrefix + key)]);
  return rowCount ?? 0;
};

/**
 * Locks the keys of all calls of a load with tombstones in key order. An older load then waits and finds the
 * tombstone, and two such loads cannot deadlock.
 */
const takeKeys = async (client: pg.PoolClient, sql: LoadSql, batch: LoadBatch): Promise<void> => {
  if (batch.tombstones.length === 0) return;
  const ids = [...batch.tombstones, ...batch.calls].map((call) => call.callId);
  await client.query(sql.takeKeys, [ids, batch.epoch, batch.loadId]);
};

/** Writes the calls that may be written. `written` = how many. */
const writeCalls = async (client: pg.PoolClient, sql: LoadSql, batch: LoadBatch, encode: Encode) => {
  const all = batch.calls.length === 0 ? undefined : await encode(batch, batch.calls);
  const claimed = all === undefined ? [] : await claimCalls(client, sql, batch, all.stage);
  const { hasTombstones, isSearched } = await look(client, sql, batch);
  const mine = hasTombstones && claimed.length > 0 ? await withoutErased(client, sql, batch, claimed) : claimed;
  if (all === undefined || mine.length === 0) return { written: 0, isSearched };
  const ids = mine.map((call) => call.callId);
  const keys = mine.length === batch.calls.length ? undefined : new Set(ids);
  for (const { target, chunks } of all.children)
    await send(client, { target, chunks: keys && chunks ? BinaryCopyWriter.keep(chunks, keys) : chunks });
  const changes = mine.flatMap((call) => call.changes);
  await insertRows(client, sql.addChanges, 'changes', changes);
  return { written: mine.length, isSearched };
};

/** A statement and no COPY: rows that are there already stay or change, and in most loads they are few. */
const insertRows = async (client: pg.PoolClient, sql: string, table: TableName, rows: readonly Row[]) => {
  if (rows.length > 0) await client.query(sql, columnsOf(table, rows));
};

const columnNames = new Map(tables.map(({ name, columns }) => [name, columns.map((column) => column.name)]));

/** An array of each column of a table, as parameters. */
const columnsOf = (table: TableName, rows: readonly Row[]) =>
  columnNames.get(table)?.map((name) => rows.map((row) => row[name]));

/** See `Warehouse.recordState`. */
export const recordState = async (db: Queryable, layout: Layout, row: Row): Promise<void> =>
  void (await db.query(loadSql(layout).upserts.sync_state as string, columnsOf('sync_state', [row])));

/**
 * Makes loads of one layout, each inside the caller's transaction; statements and columns are worked out once.
 * A load throws DATABASE_CONFLICT where an owner changed a type so that its column would hold other values.
 */
export const createLoader = (layout: Layout) => {
  const sql = loadSql(layout);
  const encode = createEncoder(layout);
  return async (client: pg.PoolClient, batch: LoadBatch) => {
    await client.query(sql.stage);
    const [retyped] = (await client.query<{ place: string }>(sql.retyped, [layout.schema])).rows;
    if (retyped) throw Object.assign(new Error('other values'), { code: '42804', column: retyped.place });
    await takeKeys(client, sql, batch);
    const { written, isSearched } = await writeCalls(client, sql, batch, encode);
    const changed = written + (await applyTombstones(client, sql, batch));
    const sent = batch.calls.length + batch.tombstones.length;
    const load: Row = {
      load_id: batch.loadId,
      ledger_epoch: batch.epoch,
      flatten_version: batch.flattenVersion,
      origin: batch.origin,
      calls_sent: sent,
      calls_changed: changed,
      loaded_at: Date.now() * 1000,
    };
    const logs = { ...batch.logs, loads: [load] };
    for (const name of Object.keys(logs) as (keyof typeof logs)[])
      await insertRows(client, sql.upserts[name] as string, name, logs[name] ?? []);
    return { changed, unchanged: sent - changed, isSearched: isSearched || undefined };
  };
};

/** Loads, each in a transaction of its own. @param onChange a load has changed calls of which there is a search index */
export const createLoads = (db: Database, layout: Layout, onChange: () => void) => {
  const apply = createLoader(layout);
  return async (batch: LoadBatch): Promise<LoadResult> => {
    let sentAt = 0;
    const { isSearched, ...result } = await db.transaction(async ({ client }) => {
      const applied = await apply(client, batch);
      sentAt = Date.now();
      return applied;
    }, 'byKeys');
    if (isSearched && result.changed > 0) onChange();
    // The commit was between the end of the work and that of the transaction, which are far apart on a busy machine.
    return { ...result, committedAt: (sentAt + Date.now()) * 500 };
  };
};
