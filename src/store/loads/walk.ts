/**
 * A walk goes over the whole ledger in key order and marks as pending what a warehouse lacks: after a new epoch, a new
 * warehouse, a new flatten version, a warehouse restored from a backup, or on request (rebuild). It goes a batch at a
 * time, so that nothing waits for it; its position is kept in the store, so that any worker can continue it.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Database, Queryable, Transaction } from '../../postgres/database.ts';
import { toTimestamp } from '../../postgres/sql-time.ts';

export interface WalkRequest {
  readonly warehouse: string;
  /** Also mark calls that were applied at or after this time (microseconds): the warehouse has lost them. */
  readonly since?: number;
  /** Have every call written again, equal guards too. */
  readonly rewrite?: boolean;
}

export interface WalkedBatch {
  /** Calls that became pending. */
  readonly marked: number;
  /** `waiting`: older transactions have not ended, or another worker is at this batch. */
  readonly state: 'under way' | 'waiting' | 'done';
}

/** Calls that one batch looks at. */
const batchCalls = 400;
export const waitingMs = 50;
const underWay = 'walk_after IS NOT NULL';

/** Asks for a walk; one that is under way begins again, and keeps what it was asked for. */
export const requestWalk = async (db: Queryable, request: WalkRequest): Promise<void> => {
  await db.query(
    `UPDATE warehouses SET walk_after = '', walk_requested_at = now(), walk_xid = pg_current_xact_id(),
            walk_since = least(walk_since, ${toTimestamp('$2')}),
            walk_rewrite = CASE WHEN $3 THEN nextval('rewrite_requests') ELSE walk_rewrite END
      WHERE name = $1`,
    [request.warehouse, request.since ?? null, request.rewrite === true],
  );
};

/**
 * The next batch of the walk of a warehouse; undefined when there is none. Transactions that were folding when it was
 * requested end first: what they add must not be missed.
 */
export const walkBatch = async (store: Database, warehouse: string): Promise<WalkedBatch | undefined> => {
  const [requested] = await store.query(`SELECT 1 FROM warehouses WHERE name = $1 AND ${underWay}`, [warehouse]);
  if (requested === undefined) return undefined;
  return await store.transaction(async (tx) => {
    const [walk] = await tx.query<{ after: string; since: Date | null; rewrite: number | null }>(
      `SELECT walk_after AS after, walk_since AS since, walk_rewrite AS rewrite FROM warehouses
        WHERE name = $1 AND ${underWay}
          AND (pg_snapshot_xmin(pg_current_snapshot()) > walk_xid OR walk_requested_at < now() - interval '10 minutes')
        FOR UPDATE SKIP LOCKED`,
      [warehouse],
    );
    if (walk === undefined) return { marked: 0, state: 'waiting' };
    const calls = await tx.query<{ id: string }>(
      'SELECT call_id AS id FROM ledger WHERE call_id > $1 ORDER BY call_id LIMIT $2',
      [walk.after, batchCalls],
    );
    const ids = calls.map(({ id }) => id);
    const marked = await markLacking(tx, warehouse, ids, walk);
    if (ids.length === batchCalls) {
      await tx.query('UPDATE warehouses SET walk_after = $2 WHERE name = $1', [warehouse, ids.at(-1)]);
      return { marked, state: 'under way' };
    }
    await tx.query('UPDATE warehouses SET walk_after = NULL, walk_since = NULL, walk_rewrite = NULL WHERE name = $1', [
      warehouse,
    ]);
    return { marked, state: 'done' };
  });
};

/** Longest wait of `beginWalk`. */
const beginMs = 1_000;

/**
 * The first batch of a walk, if one was requested and older transactions end in time. The walk of a new store ends with it:
 * there is nothing to look at, and its calls count as pending until somebody has looked.
 */
export const beginWalk = async (store: Database, warehouse: string): Promise<void> => {
  const until = performance.now() + beginMs;
  while ((await walkBatch(store, warehouse))?.state === 'waiting' && performance.now() < until) await delay(waitingMs);
};

/** Walks to the end, for a command that says how much there is to do. Returns how many calls became pending. */
export const walkToEnd = async (store: Database, warehouse: string): Promise<number> => {
  let marked = 0;
  for (;;) {
    const batch = await walkBatch(store, warehouse);
    if (batch?.state === 'waiting') await delay(waitingMs);
    marked += batch?.marked ?? 0;
    if (batch === undefined || batch.state === 'done') return marked;
  }
};

/** Loads that are being completed end before their calls are looked at: they may know only an older epoch. */
const markLacking = async (
  tx: Transaction,
  warehouse: string,
  ids: readonly string[],
  walk: { readonly since: Date | null; readonly rewrite: number | null },
): Promise<number> => {
  await tx.query(
    'SELECT 1 FROM warehouse_calls WHERE warehouse = $1 AND call_id = ANY($2) ORDER BY call_id FOR UPDATE',
    [warehouse, ids],
  );
  const marked = await tx.query(
    `INSERT INTO warehouse_calls AS w (warehouse, call_id, queue_position, rewrite)
     SELECT $1, l.call_id, queue_position(CASE WHEN l.tombstone THEN 0 ELSE 2 END, l.call_timestamp), $3
       FROM ledger l LEFT JOIN warehouse_calls o ON o.warehouse = $1 AND o.call_id = l.call_id
      WHERE l.call_id = ANY($2) AND l.revision > 0
        AND (o.call_id IS NULL OR $3::bigint IS NOT NULL OR coalesce(o.applied_at, 'infinity') >= $4::timestamptz
             OR NOT o.pending AND (o.applied_revision < l.revision
                                   OR o.applied_epoch < (SELECT max(epoch) FROM epochs)
                                   OR o.applied_flatten < (SELECT flatten_version FROM warehouses WHERE name = $1)
                                   OR o.rewrite IS NOT NULL))
      ORDER BY l.call_id
     ON CONFLICT (warehouse, call_id) DO UPDATE
        SET pending = true, rewrite = coalesce(excluded.rewrite, w.rewrite),
            queue_position = CASE WHEN w.pending THEN least(w.queue_position, excluded.queue_position)
                                  ELSE excluded.queue_position END,
            applied_epoch = CASE WHEN coalesce(w.applied_at, 'infinity') >= $4::timestamptz THEN 0 ELSE w.applied_epoch END
     RETURNING 1`,
    [warehouse, ids, walk.rewrite, walk.since],
  );
  return marked.length;
};
