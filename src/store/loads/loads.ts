/** Stored loads: what was planned for a warehouse, and what is known to be committed. */

import { randomUUID } from 'node:crypto';
import { dayMicros } from '../../lib/day.ts';
import {
  columnsOf,
  type Database,
  type Queryable,
  readColumn,
  readValue,
  type Transaction,
} from '../../postgres/database.ts';
import { withSessionLock } from '../../postgres/session-lock.ts';
import { toMicros, toTimestamp } from '../../postgres/sql-time.ts';
import { requestWalk } from './warehouses.ts';

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
  readonly partition?: string | null | undefined;
  /** The request for a rewrite that this load meets. */
  readonly rewrite?: number | null;
}

/** Who changes several calls of a warehouse locks them in key order first. */
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
    [loadId, ...columnsOf(entries, 'callId', 'revision', 'rewrite')],
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
 * carried. A call stays pending while the ledger has a higher revision or epoch, workers of a higher flatten version
 * load the warehouse, or a rewrite was asked for that the load did not know of. Idempotent.
 * @returns false when the ledger does not know the load: it was set back since the load was planned.
 */
export const completeLoad = async (store: Database, load: PlannedLoad): Promise<boolean> =>
  await store.transaction(async (tx) => {
    await tx.query(
      `SELECT 1 FROM warehouse_calls WHERE warehouse = $2
          AND call_id IN (SELECT call_id FROM load_calls WHERE load_id = $1) ORDER BY call_id FOR UPDATE`,
      [load.loadId, load.warehouse],
    );
    await tx.query(
      `UPDATE warehouse_calls w SET applied_epoch = $3, applied_revision = s.revision, applied_flatten = $4, applied_at = now(),
              first_applied_at = coalesce(w.first_applied_at, now()),
              pending = s.revision < l.revision OR $3 < (SELECT max(epoch) FROM epochs)
                        OR $4 < coalesce((SELECT flatten_version FROM warehouses WHERE name = $2), 0)
                        OR (w.rewrite IS NOT NULL AND w.rewrite IS DISTINCT FROM s.rewrite),
              rewrite = nullif(w.rewrite, s.rewrite)
         FROM load_calls s JOIN ledger l USING (call_id)
        WHERE s.load_id = $1 AND w.warehouse = $2 AND w.call_id = s.call_id
          AND (w.applied_epoch, w.applied_revision, w.applied_flatten) <= ($3, s.revision, $4)`,
      [load.loadId, load.warehouse, load.epoch, load.flattenVersion],
    );
    const known = await tx.query(
      `UPDATE loads SET state = 'committed', committed_at = coalesce(committed_at, now()), error = NULL WHERE load_id = $1
       RETURNING 1`,
      [load.loadId],
    );
    await tx.query('DELETE FROM load_calls WHERE load_id = $1', [load.loadId]);
    return known.length > 0;
  });

/** The process that commits a load is still at it. */
export const keepLoad = async (db: Queryable, loadId: string): Promise<void> => {
  await db.query('UPDATE loads SET alive_at = now() WHERE load_id = $1', [loadId]);
};

/** Pending calls of a warehouse that are left to a load whose process was alive within `graceSeconds`. */
export const countHeld = async (db: Queryable, warehouse: string, graceSeconds: number): Promise<number> => {
  return (
    (await readValue<number>(
      db,
      `SELECT count(*) AS n FROM load_calls JOIN loads USING (load_id)
      WHERE warehouse = $1 AND state = 'planned' AND alive_at > now() - make_interval(secs => $2)`,
      [warehouse, graceSeconds],
    )) ?? 0
  );
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
 * Gives up loads whose maker has not been heard of for long, so that their lists are not kept for good. Safe even if one
 * still runs: its calls stay pending until another load has brought them. Returns how many.
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

export interface CommittedLoad {
  readonly loadId: string;
  /** When it was planned, in microseconds: no call was applied by it before. */
  readonly plannedAt: number;
}

/** The store's clock, in microseconds. */
export const readClock = async (db: Queryable): Promise<number> =>
  (await db.query<{ now: number }>(`SELECT ${toMicros('clock_timestamp()')} AS now`))[0]?.now ?? 0;

/** When the loads of a warehouse were last compared, in microseconds; undefined = never. */
export const lastComparison = async (db: Queryable, warehouse: string): Promise<number | undefined> => {
  return (
    (await readValue<number | null>(db, `SELECT ${toMicros('compared_at')} AS at FROM warehouses WHERE name = $1`, [
      warehouse,
    ])) ?? undefined
  );
};

/** A comparison costs queries of the warehouses, which some of them bill: one in ten minutes. */
export const isComparisonDue = async (db: Queryable, warehouses: readonly string[]): Promise<boolean> =>
  (
    await db.query(
      `SELECT 1 FROM unnest($1::text[]) AS n (name) LEFT JOIN warehouses w USING (name)
        WHERE w.compared_at > now() - interval '10 minutes' IS NOT TRUE LIMIT 1`,
      [warehouses],
    )
  ).length > 0;

/** Records when a comparison began, in microseconds of `readClock`. */
export const noteComparison = async (db: Queryable, warehouse: string, at: number): Promise<void> => {
  await db.query(`UPDATE warehouses SET compared_at = ${toTimestamp('$2')} WHERE name = $1`, [warehouse, at]);
};

/** Whether a warehouse is known to have a call that is no tombstone; one that is to be sent again does not count. */
export const hasLoadedCalls = async (db: Queryable, warehouse: string): Promise<boolean> =>
  (
    await db.query(
      `SELECT 1 FROM warehouse_calls JOIN ledger l USING (call_id)
        WHERE warehouse = $1 AND applied_revision > 0 AND applied_epoch > 0 AND l.revision > 0 AND NOT l.tombstone LIMIT 1`,
      [warehouse],
    )
  ).length > 0;

/** Loads that are known to be committed, newest first, `limit` of them from `skip` on. */
export const listCommitted = async (
  db: Queryable,
  warehouse: string,
  { skip, limit }: { readonly skip: number; readonly limit: number },
): Promise<CommittedLoad[]> =>
  await db.query<CommittedLoad>(
    `SELECT load_id AS "loadId", ${toMicros('created_at')} AS "plannedAt" FROM loads
      WHERE warehouse = $1 AND state = 'committed' ORDER BY committed_at DESC, load_id LIMIT $3 OFFSET $2`,
    [warehouse, skip, limit],
  );

/** How many loads were committed since a time in microseconds. */
export const countCommittedSince = async (db: Queryable, warehouse: string, since: number): Promise<number> => {
  return (
    (await readValue<number>(
      db,
      `SELECT count(*) AS n FROM loads WHERE warehouse = $1 AND state = 'committed' AND committed_at >= ${toTimestamp('$2')}`,
      [warehouse, since],
    )) ?? 0
  );
};

/** Those of the load ids that the ledger does not know. */
export const unknownLoads = async (db: Queryable, loadIds: readonly string[]): Promise<string[]> => {
  return await readColumn<string>(
    db,
    'SELECT id FROM unnest($1::text[]) AS id WHERE NOT EXISTS (SELECT FROM loads WHERE load_id = id)',
    [loadIds],
  );
};

/** Log rows may be loaded long after they were made; those of a lost load are looked for this far back. */
const longestWait = 7 * dayMicros;

/** Loads that a warehouse has lost. */
export interface LostLoads {
  /** When the oldest of them was planned, in microseconds. */
  readonly since: number;
  readonly loadIds: readonly string[];
}

/**
 * Has everything sent again that a warehouse was sent since it lost loads: it was restored from a backup, or lost. Calls
 * by a walk; deliveries, of erased calls however old, and verdicts at once, which replace their rows where those are still there.
 * The loads no longer count as committed.
 */
export const sendAgain = async (tx: Transaction, warehouse: string, { since, loadIds }: LostLoads): Promise<void> => {
  await tx.query(`UPDATE loads SET state = 'failed', error = 'LOST' WHERE load_id = ANY($1)`, [loadIds]);
  await requestWalk(tx, { warehouse, since });
  // Each by an index of its own.
  for (const which of [`received_at >= ${toTimestamp('$2')}`, "reason = 'erased' AND $2::bigint IS NOT NULL"])
    await tx.query(
      `INSERT INTO unloaded_deliveries (warehouse, rejected, seq)
       SELECT $1, outcome = 'rejected', seq FROM inbox WHERE outcome <> 'pending' AND ${which} ON CONFLICT DO NOTHING`,
      [warehouse, Math.max(0, since - longestWait)],
    );
  await tx.query(`UPDATE verdicts SET loaded = false WHERE warehouse = $1 AND compared_at >= ${toTimestamp('$2')}`, [
    warehouse,
    Math.max(0, since - longestWait),
  ]);
};

export interface StoreLease {
  run<T>(name: string, work: (signal: AbortSignal) => Promise<T>): Promise<T>;
}

/** The lock goes with its connection; when that breaks, `signal` aborts and another holder may start. */
export const createLease = (database: Database): StoreLease => ({
  run: (name, work) => withSessionLock(database, `callsync.lease.${name}`, work),
});
