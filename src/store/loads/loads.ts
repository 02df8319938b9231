/** Stored loads: what was planned for a warehouse, and what is known to be committed. */
import { randomUUID } from 'node:crypto';
import type { Database, Queryable, Transaction } from '../../postgres/database.ts';

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
