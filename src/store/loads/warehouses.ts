/**
 * The registered warehouses, also if only other workers configure them. A warehouse that is unconfigured for a week is
 * dropped, so that its queue does not grow.
 */

import { setTimeout as delay } from 'node:timers/promises';
import type { Database, Queryable, Transaction } from '../../postgres/database.ts';
import { hasRow, readColumn, readRow, readValue } from '../../postgres/database.ts';
import { lockName } from '../../postgres/session-lock.ts';
import { toTimestamp } from '../../postgres/sql-time.ts';

const present = `configured_at > now() - interval '7 days'`;

/** SQL of a query for the names of all warehouses to be told of a change. */
export const concernedWarehouses = `SELECT name AS warehouse FROM warehouses WHERE ${present}`;

/**
 * Registers a warehouse for workers of a flatten version. If it is new, comes back, or has rows of an older version, a
 * walk marks its missing calls as pending. A new one also gets every delivery. Idempotent.
 */
export const registerWarehouse = async (store: Database, name: string, flattenVersion: number): Promise<void> =>
  await store.transaction(async (tx) => {
    await tx.query(`INSERT INTO warehouses (name, configured_at) VALUES ($1, 'epoch') ON CONFLICT DO NOTHING`, [name]);
    const beforeSql = `SELECT ${present} AS present, flatten_version AS flatten FROM warehouses WHERE name = $1 FOR UPDATE`;
    const [before] = await tx.query<{ present: boolean; flatten: number }>(beforeSql, [name]);
    await tx.query(
      `UPDATE warehouses SET configured_at = now(), flatten_version = greatest(flatten_version, $2) WHERE name = $1`,
      [name, flattenVersion],
    );
    if (before?.present !== true)
      await tx.query(
        `INSERT INTO unloaded_deliveries (warehouse, rejected, seq)
         SELECT $1, outcome = 'rejected', seq FROM inbox WHERE outcome <> 'pending' ON CONFLICT DO NOTHING`,
        [name],
      );
    if (before?.present !== true || before.flatten < flattenVersion) await requestWalk(tx, { warehouse: name });
  });

/** Registers a warehouse again after a day, for a worker that loads it: maintenance may be paused for longer than a week. */
export const keepRegistered = async (store: Database, name: string, flattenVersion: number): Promise<void> => {
  const today = `SELECT 1 FROM warehouses WHERE name = $1 AND configured_at > now() - interval '1 day'`;
  if (!(await hasRow(store, today, [name]))) await registerWarehouse(store, name, flattenVersion);
};

/**
 * Empties the queues of deliveries for warehouses that have not been configured for a while. A warehouse that is
 * configured again gets all deliveries again.
 */
export const forgetWarehouses = (db: Queryable): Promise<unknown> =>
  db.query(`DELETE FROM unloaded_deliveries u USING warehouses w WHERE w.name = u.warehouse AND NOT (${present})`);

/** Whether some worker has configured the warehouse lately. */
export const isConfiguredSomewhere = (db: Queryable, name: string): Promise<boolean> =>
  hasRow(db, `SELECT 1 FROM warehouses WHERE name = $1 AND ${present}`, [name]);

interface WalkRequest {
  readonly warehouse: string;
  /** Also mark calls that were applied at or after this time (microseconds): the warehouse has lost them. */
  readonly since?: number;
  /** Have every call written again, equal guards too. */
  readonly rewrite?: boolean;
}

/** Calls that one batch looks at. */
const batchCalls = 400;
export const waitingMs = 50;
const underWay = 'walk_after IS NOT NULL';

/** Requests a walk. A running walk starts again and keeps its earlier requests. */
export const requestWalk = (db: Queryable, request: WalkRequest): Promise<unknown> =>
  db.query(
    `UPDATE warehouses SET walk_after = '', walk_requested_at = now(), walk_xid = pg_current_xact_id(),
            walk_since = least(walk_since, ${toTimestamp('$2')}),
            walk_rewrite = CASE WHEN $3 THEN nextval('rewrite_requests') ELSE walk_rewrite END
      WHERE name = $1`,
    [request.warehouse, request.since ?? null, request.rewrite === true],
  );

/**
 * The next batch of a warehouse's walk; undefined if there is none. Folds that ran when the walk was requested end
 * first, so that the walk sees their calls.
 * `marked` = calls that became pending.
 * `state` = `waiting`: older transactions have not ended, or another worker is at this batch.
 */
export const walkBatch = async (store: Database, warehouse: string) => {
  if (!(await hasRow(store, `SELECT 1 FROM warehouses WHERE name = $1 AND ${underWay}`, [warehouse]))) return undefined;
  return await store.transaction(async (tx) => {
    const [walk] = await tx.query<{ after: string; since: Date | null; rewrite: number | null }>(
      `SELECT walk_after AS after, walk_since AS since, walk_rewrite AS rewrite FROM warehouses
        WHERE name = $1 AND ${underWay}
          AND (pg_snapshot_xmin(pg_current_snapshot()) > walk_xid OR walk_requested_at < now() - interval '10 minutes')
        FOR UPDATE SKIP LOCKED`,
      [warehouse],
    );
    if (walk === undefined) return { marked: 0, state: 'waiting' };
    const pageSql = 'SELECT call_id FROM ledger WHERE call_id > $1 ORDER BY call_id LIMIT $2';
    const ids = await readColumn<string>(tx, pageSql, [walk.after, batchCalls]);
    const marked = await markLacking(tx, warehouse, ids, walk);
    if (ids.length === batchCalls) {
      await tx.query('UPDATE warehouses SET walk_after = $2 WHERE name = $1', [warehouse, ids.at(-1)]);
      return { marked, state: 'under way' };
    }
    const endSql = 'UPDATE warehouses SET walk_after = NULL, walk_since = NULL, walk_rewrite = NULL WHERE name = $1';
    await tx.query(endSql, [warehouse]);
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

/** Walks to the end, for a command that prints the number of calls. Returns how many calls became pending. */
export const walkToEnd = async (store: Database, warehouse: string): Promise<number> => {
  let marked = 0;
  for (;;) {
    const batch = await walkBatch(store, warehouse);
    if (batch?.state === 'waiting') await delay(waitingMs);
    marked += batch?.marked ?? 0;
    if (batch === undefined || batch.state === 'done') return marked;
  }
};

/** Waits for the end of running completions, because they may know only an older epoch. */
const markLacking = async (
  tx: Transaction,
  warehouse: string,
  ids: readonly string[],
  walk: { readonly since: Date | null; readonly rewrite: number | null },
): Promise<number> => {
  const sql = 'SELECT 1 FROM warehouse_calls WHERE warehouse = $1 AND call_id = ANY($2) ORDER BY call_id FOR UPDATE';
  await tx.query(sql, [warehouse, ids]);
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

/**
 * Issues an epoch above every known one and marks every call as pending. Used for new and restored ledgers.
 * A walk marks the calls batch by batch. A load that completes meanwhile sees the new epoch, or the walk marks its
 * calls.
 * @param how.healing further repair follows until `endHealing`.
 */
export const issueEpoch = async (
  store: Database,
  reason: string,
  highestElsewhere: number,
  how: { readonly healing: boolean } = { healing: false },
): Promise<number> =>
  await store.transaction(async (tx) => {
    await lockName(tx, 'callsync.epoch');
    const epoch = await readValue<number>(
      tx,
      `INSERT INTO epochs (epoch, reason, healing)
       SELECT greatest(coalesce(max(epoch), 0), $2::int) + 1, $1, $3 FROM epochs
       RETURNING epoch`,
      [reason, highestElsewhere, how.healing],
    );
    const warehouses = await readColumn<string>(tx, 'SELECT name FROM warehouses ORDER BY name FOR UPDATE');
    for (const warehouse of warehouses) await requestWalk(tx, { warehouse });
    return epoch;
  });

/** The present epoch, and the latest one after which everything was healed; 0 = none. */
export const readEpochs = (db: Queryable): Promise<{ readonly epoch: number; readonly healed: number }> =>
  readRow(
    db,
    'SELECT coalesce(max(epoch), 0) AS epoch, coalesce(max(epoch) FILTER (WHERE NOT healing), 0) AS healed FROM epochs',
  );

/** Notes that everything was done that follows an epoch, or one before it. */
export const endHealing = (db: Queryable, epoch: number): Promise<unknown> =>
  db.query('UPDATE epochs SET healing = false WHERE healing AND epoch <= $1', [epoch]);
