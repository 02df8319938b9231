/** Stored loads: what each warehouse has, what is pending, and which commits are under way. */

import { randomUUID } from 'node:crypto';
import type { LedgerRow } from '../../calls/fold.ts';
import type { Database, Queryable, Transaction } from '../../postgres/database.ts';
import { ledgerColumns, readLedgerRow, type StoredLedgerRow } from '../ledger/ledger.ts';
import { concernedWarehouses, enterWarehouse } from './warehouses.ts';

export interface PlannedLoad {
  readonly loadId: string;
  readonly warehouse: string;
  readonly epoch: number;
  readonly flattenVersion: number;
  readonly origin: string;
}

export interface LoadEntry {
  readonly callId: string;
  readonly revision: number;
  /** UTC date under which this load sends the call; undefined where the warehouse has no partitions. */
  readonly partition?: string | null;
  /** The request for a rewrite that this load meets. */
  readonly rewrite?: number | null;
}

const markPendingSql = `INSERT INTO warehouse_calls (warehouse, call_id)
     SELECT w.warehouse, id FROM (${concernedWarehouses('$1')}) AS w, unnest($2::text[]) AS id ORDER BY 1, id COLLATE "C"
     ON CONFLICT (warehouse, call_id) DO UPDATE SET pending = true`;

/**
 * Makes changed calls pending in every warehouse, inside the transaction that changed them: the configured ones, and
 * those that other workers have registered.
 */
export const markPending = async (
  tx: Transaction,
  warehouses: readonly string[],
  callIds: readonly string[],
): Promise<void> => {
  if (callIds.length === 0) return;
  await tx.query(markPendingSql, [warehouses, callIds]);
};

/** Whoever changes several calls of a warehouse locks them in key order first. */
const lockCalls = `SELECT 1 FROM warehouse_calls WHERE warehouse = $1 AND call_id = ANY($2) ORDER BY call_id FOR UPDATE`;

/** Writes a load and its list before anything is submitted; the id is new. */
export const planLoad = async (
  tx: Transaction,
  load: Omit<PlannedLoad, 'loadId'>,
  entries: readonly LoadEntry[],
): Promise<PlannedLoad> => {
  const loadId = `${load.warehouse}-${randomUUID()}`;
  await tx.query(
    `INSERT INTO loads (load_id, warehouse, epoch, flatten_version, origin, calls) VALUES ($1, $2, $3, $4, $5, $6)`,
    [loadId, load.warehouse, load.epoch, load.flattenVersion, load.origin, entries.length],
  );
  await tx.query(
    `INSERT INTO load_calls (load_id, call_id, revision, rewrite)
     SELECT $1, * FROM unnest($2::text[], $3::int[], $4::bigint[])`,
    [
      loadId,
      entries.map((entry) => entry.callId),
      entries.map((entry) => entry.revision),
      entries.map((entry) => entry.rewrite ?? null),
    ],
  );
  const dated = entries.filter((entry) => entry.partition !== undefined);
  if (dated.length > 0) {
    const ids = dated.map((entry) => entry.callId);
    await tx.query(lockCalls, [load.warehouse, ids]);
    await tx.query(
      `UPDATE warehouse_calls w SET partitions = w.partitions || u.partition
       FROM unnest($2::text[], $3::date[]) AS u(call_id, partition)
       WHERE w.warehouse = $1 AND w.call_id = u.call_id AND array_position(w.partitions, u.partition) IS NULL`,
      [load.warehouse, ids, dated.map((entry) => entry.partition)],
    );
  }
  return { ...load, loadId };
};

/**
 * Records that a load is known to be committed: the applied guard becomes the greater of what it was and what the load
 * carried; a call stays pending while its ledger revision is higher, or a rewrite was asked for that the load did not
 * know of. Idempotent.
 */
export const completeLoad = async (store: Database, load: PlannedLoad): Promise<void> =>
  await store.transaction(async (tx) => {
    await tx.query(
      `SELECT 1 FROM warehouse_calls WHERE warehouse = $2
          AND call_id IN (SELECT call_id FROM load_calls WHERE load_id = $1) ORDER BY call_id FOR UPDATE`,
      [load.loadId, load.warehouse],
    );
    await tx.query(
      `UPDATE warehouse_calls w SET applied_epoch = $3, applied_revision = s.revision, applied_flatten = $4,
              pending = s.revision < l.revision OR $3 < (SELECT max(epoch) FROM epochs)
                        OR (w.rewrite IS NOT NULL AND w.rewrite IS DISTINCT FROM s.rewrite),
              rewrite = nullif(w.rewrite, s.rewrite)
         FROM load_calls s JOIN ledger l USING (call_id)
        WHERE s.load_id = $1 AND w.warehouse = $2 AND w.call_id = s.call_id
          AND (w.applied_epoch, w.applied_revision, w.applied_flatten) <= ($3, s.revision, $4)`,
      [load.loadId, load.warehouse, load.epoch, load.flattenVersion],
    );
    await tx.query(
      `UPDATE loads SET state = 'committed', committed_at = coalesce(committed_at, now()), error = NULL WHERE load_id = $1`,
      [load.loadId],
    );
    await tx.query('DELETE FROM load_calls WHERE load_id = $1', [load.loadId]);
  });

/** The process that commits a load is still at it. */
export const keepLoad = async (db: Queryable, loadId: string): Promise<void> => {
  await db.query('UPDATE loads SET alive_at = now() WHERE load_id = $1', [loadId]);
};

/** Pending calls of a warehouse that are left to a load whose process was alive within `graceSeconds`. */
export const countHeld = async (db: Queryable, warehouse: string, graceSeconds: number): Promise<number> => {
  const [row] = await db.query<{ n: number }>(
    `SELECT count(*) AS n FROM load_calls JOIN loads USING (load_id)
      WHERE warehouse = $1 AND state = 'planned' AND alive_at > now() - make_interval(secs => $2)`,
    [warehouse, graceSeconds],
  );
  return row?.n ?? 0;
};

/** Gives up a load that is known not to be committed; its calls are still pending. `error` names a code, not data. */
export const failLoad = async (db: Queryable, loadId: string, error: string): Promise<void> => {
  await db.query(`UPDATE loads SET state = 'failed', error = $2 WHERE load_id = $1 AND state = 'planned'`, [
    loadId,
    error,
  ]);
  await db.query('DELETE FROM load_calls WHERE load_id = $1', [loadId]);
};

/**
 * Gives up loads whose maker is long gone, so that their lists do not stay for good. Safe even if one still runs: its
 * calls stay pending until another load has brought them. Returns how many.
 */
export const abandonLoads = async (store: Database, olderThanHours: number): Promise<number> =>
  await store.transaction(async (tx) => {
    const rows = await tx.query<{ load_id: string }>(
      `UPDATE loads SET state = 'failed', error = 'ABANDONED'
        WHERE state = 'planned' AND created_at < now() - make_interval(hours => $1) RETURNING load_id`,
      [olderThanHours],
    );
    await tx.query('DELETE FROM load_calls WHERE load_id = ANY($1)', [rows.map((row) => row.load_id)]);
    return rows.length;
  });

export interface PendingCall {
  readonly row: LedgerRow;
  readonly partitions: readonly (string | null)[];
  /** Number of the request to write the rows again, equal guards too. */
  readonly rewrite: number | null;
}

/** Deflated bytes that one batch of pending calls may hold: about 50 MB of JSON. */
const pendingBytes = 8 * 1024 * 1024;

/**
 * The next pending calls of a warehouse in key order with their documents, bounded in number and bytes. Calls in a
 * load whose process was alive within `graceSeconds` are left to it, unless they have changed since. Rows that a newer flatten
 * version wrote wait for a worker of that version: they would win over what this one can send, again and again.
 */
export const readPending = async (
  tx: Transaction,
  warehouse: string,
  rules: { readonly limit: number; readonly graceSeconds: number; readonly flattenVersion: number },
): Promise<PendingCall[]> => {
  const rows = await tx.query<StoredLedgerRow & { partitions: (string | null)[]; rewrite: number | null }>(
    `SELECT ${ledgerColumns}, p.partitions, p.rewrite, d.body
       FROM (SELECT c.call_id, c.partitions, c.rewrite, sum(octet_length(d.body)) OVER (ORDER BY c.call_id) AS bytes,
                    row_number() OVER (ORDER BY c.call_id) AS position
               FROM (SELECT call_id, partitions::text[] AS partitions, rewrite FROM warehouse_calls w
                      WHERE warehouse = $1 AND pending
                        AND (applied_flatten <= $5 OR applied_epoch < (SELECT max(epoch) FROM epochs)
                             OR applied_revision < (SELECT h.revision FROM ledger h WHERE h.call_id = w.call_id))
                        AND call_id NOT IN (
                            SELECT lc.call_id FROM load_calls lc JOIN loads USING (load_id) JOIN ledger h USING (call_id)
                             WHERE loads.warehouse = $1 AND loads.state = 'planned' AND lc.revision >= h.revision
                               AND loads.alive_at > now() - make_interval(secs => $3))
                      ORDER BY call_id LIMIT $2) c
               LEFT JOIN ledger_documents d USING (call_id)) p
       JOIN ledger l USING (call_id) LEFT JOIN ledger_documents d USING (call_id)
      WHERE (p.bytes IS NULL OR p.bytes <= $4 OR p.position = 1) AND l.revision > 0
      ORDER BY call_id`,
    [warehouse, rules.limit, rules.graceSeconds, pendingBytes, rules.flattenVersion],
  );
  return await Promise.all(
    rows.map(async (row) => ({
      row: await readLedgerRow(row),
      partitions: row.partitions,
      rewrite: row.rewrite,
    })),
  );
};

/** Calls that a warehouse does not have in their present revision. */
export const countPending = (db: Queryable, warehouse: string): Promise<number> =>
  countOf(db, 'SELECT count(*) AS n FROM warehouse_calls WHERE warehouse = $1 AND pending', warehouse);

const countOf = async (db: Queryable, sql: string, warehouse: string): Promise<number> => {
  const [row] = await db.query<{ n: number }>(sql, [warehouse]);
  return row?.n ?? 0;
};

/**
 * Registers a warehouse: every call that it has no entry for, or that changed while it was not configured, becomes
 * pending; a warehouse seen for the first time, or after a long while, also gets every delivery so far. Returns how
 * many calls.
 */
export const registerWarehouse = async (store: Database, warehouse: string): Promise<number> =>
  await store.transaction(async (tx) => {
    if (await enterWarehouse(tx, warehouse)) {
      await tx.query(
        `UPDATE inbox SET unloaded = unloaded || $1::text WHERE outcome <> 'pending' AND NOT unloaded @> ARRAY[$1::text]`,
        [warehouse],
      );
    }
    // Counted there: a new warehouse of a large ledger enters millions of calls.
    return await countOf(
      tx,
      `WITH entered AS (
         INSERT INTO warehouse_calls AS w (warehouse, call_id)
         SELECT $1, l.call_id FROM ledger l LEFT JOIN warehouse_calls o ON o.warehouse = $1 AND o.call_id = l.call_id
          WHERE l.revision > 0 AND (o.call_id IS NULL OR (NOT o.pending AND o.applied_revision < l.revision))
          ORDER BY l.call_id
         ON CONFLICT (warehouse, call_id) DO UPDATE SET pending = true
         RETURNING 1)
       SELECT count(*) AS n FROM entered`,
      warehouse,
    );
  });

/**
 * Has the rows of some calls written again, equal guards too. The request stands in the store, so that whoever loads the
 * warehouse next carries it out; a load that is under way does not settle it.
 */
export const requestRewrite = async (db: Queryable, warehouse: string, callIds: readonly string[]): Promise<void> => {
  await db.query(
    `INSERT INTO warehouse_calls (warehouse, call_id, rewrite)
     SELECT $1, id, number FROM unnest($2::text[]) AS id, nextval('rewrite_requests') AS number ORDER BY id COLLATE "C"
     ON CONFLICT (warehouse, call_id) DO UPDATE SET pending = true, rewrite = excluded.rewrite`,
    [warehouse, callIds],
  );
};

/** The same for all calls of a warehouse. Returns how many. */
const requestRewriteOfAll = (db: Queryable, warehouse: string): Promise<number> =>
  countOf(
    db,
    `WITH chosen AS (SELECT call_id FROM warehouse_calls WHERE warehouse = $1 ORDER BY call_id FOR UPDATE),
          again AS (UPDATE warehouse_calls w SET pending = true, rewrite = number
                      FROM chosen c, (SELECT nextval('rewrite_requests') AS number) AS request
                     WHERE w.warehouse = $1 AND w.call_id = c.call_id RETURNING 1)
     SELECT count(*) AS n FROM again`,
    warehouse,
  );

/**
 * Makes calls pending again whose rows were flattened by an older version. Not a newer one: its rows win over what this
 * version can send, so that the calls would stay pending, and be sent, without end. Returns how many.
 */
const requestRefresh = async (db: Queryable, warehouse: string, flattenVersion: number): Promise<number> => {
  const [row] = await db.query<{ n: number }>(
    `WITH settled AS (SELECT call_id FROM warehouse_calls
                       WHERE warehouse = $1 AND NOT pending AND (applied_flatten < $2 OR rewrite IS NOT NULL)
                       ORDER BY call_id FOR UPDATE),
          again AS (UPDATE warehouse_calls w SET pending = true FROM settled s
                     WHERE w.warehouse = $1 AND w.call_id = s.call_id RETURNING 1)
     SELECT count(*) AS n FROM again`,
    [warehouse, flattenVersion],
  );
  return row?.n ?? 0;
};

/** Makes calls pending again: all of them, to be written whatever their guard, or those flattened by an older version. */
export const requestRebuild = async (db: Queryable, warehouse: string, onlyBelowFlatten?: number): Promise<number> =>
  onlyBelowFlatten === undefined
    ? await requestRewriteOfAll(db, warehouse)
    : await requestRefresh(db, warehouse, onlyBelowFlatten);
