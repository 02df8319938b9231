/**
 * The registered warehouses, also if only other workers configure them. A warehouse that is unconfigured for a week is
 * dropped, so that its queue does not grow.
 */

import { setTimeout as delay } from 'node:timers/promises';
import type { Database, Queryable, Sql, Transaction } from '../../postgres/database.ts';
import { lockName, sql, toTimestamp } from '../../postgres/database.ts';

const present = sql`configured_at > now() - interval '7 days'`;

/** SQL of a query for the names of all warehouses to be told of a change. */
export const concernedWarehouses = sql`SELECT name AS warehouse FROM warehouses WHERE ${present}`;

/**
 * SQL: the row of a call in `warehouse_calls`, for a join. A server without statistics of a new table or warehouse takes
 * its rows for few, and reads them all for each batch. A LIMIT or a lock prevents that.
 */
export const rowOfCall = (warehouse: string, callId: Sql): Sql =>
  sql`LATERAL (SELECT ctid, * FROM warehouse_calls WHERE warehouse = ${warehouse} AND call_id = ${callId} LIMIT 1)`;

/**
 * SQL: the rows of calls in `warehouse_calls`, locked in key order. Writers of several calls lock them first, to avoid
 * deadlocks; only then may they write to them by ctid.
 * @param calls their ids, or SQL for an array of them. The queue may name a call twice that moves in it meanwhile; its row comes once.
 */
export const lockedRows = (warehouse: string, calls: readonly string[] | Sql): Sql =>
  sql`(SELECT DISTINCT id COLLATE "C" AS id FROM unnest(${calls}::text[]) AS given (id) ORDER BY id) AS named
      CROSS JOIN LATERAL (SELECT * FROM warehouse_calls WHERE warehouse = ${warehouse} AND call_id = named.id FOR UPDATE) AS locked`;

/**
 * Registers a warehouse for workers of a flatten version. If it is new, comes back, or has rows of an older version, a
 * walk marks its missing calls as pending. A new one also gets every delivery. Idempotent.
 */
export const registerWarehouse = async (store: Database, name: string, flattenVersion: number): Promise<void> =>
  await store.transaction(async (tx) => {
    await tx.query`INSERT INTO warehouses (name, configured_at) VALUES (${name}, 'epoch') ON CONFLICT DO NOTHING`;
    const [before] = await tx.query<{ present: boolean; flatten: number }>`
        SELECT ${present} AS present, flatten_version AS flatten FROM warehouses WHERE name = ${name} FOR UPDATE`;
    await tx.query`UPDATE warehouses SET configured_at = now(), flatten_version = greatest(flatten_version, ${flattenVersion})
                    WHERE name = ${name}`;
    if (before?.present !== true)
      await tx.query`INSERT INTO unloaded_deliveries (warehouse, rejected, seq)
         SELECT ${name}, outcome = 'rejected', seq FROM inbox WHERE outcome <> 'pending' ON CONFLICT DO NOTHING`;
    if (before?.present !== true || before.flatten < flattenVersion) await requestWalk(tx, { warehouse: name });
  });

/** Registers a warehouse again after a day, for a worker that loads it: maintenance may be paused for longer than a week. */
export const keepRegistered = async (store: Database, name: string, flattenVersion: number): Promise<void> => {
  if (!(await store.has`SELECT 1 FROM warehouses WHERE name = ${name} AND configured_at > now() - interval '1 day'`))
    await registerWarehouse(store, name, flattenVersion);
};

/**
 * Empties the queues of deliveries for warehouses that have not been configured for a while. A warehouse that is
 * configured again gets all deliveries again.
 */
export const forgetWarehouses = (db: Queryable): Promise<unknown> =>
  db.query`DELETE FROM unloaded_deliveries u USING warehouses w WHERE w.name = u.warehouse AND NOT (${present})`;

/** Whether some worker has configured the warehouse lately. */
export const isConfiguredSomewhere = (db: Queryable, name: string): Promise<boolean> =>
  db.has`SELECT 1 FROM warehouses WHERE name = ${name} AND ${present}`;

type WalkRequest = { readonly warehouse: string; readonly since?: number; readonly rewrite?: boolean };

/** Calls that one batch looks at. */
const batchCalls = 400;
export const waitingMs = 50;
const underWay = sql`walk_after IS NOT NULL`;

/**
 * Requests a walk. A running walk starts again and keeps its earlier requests.
 * @param request.since also mark calls that were applied at or after this time (microseconds): the warehouse has lost them
 * @param request.rewrite have every call written again, equal guards too
 */
export const requestWalk = (db: Queryable, request: WalkRequest): Promise<unknown> =>
  db.query`UPDATE warehouses SET walk_after = '', walk_requested_at = now(), walk_xid = pg_current_xact_id(),
            walk_since = least(walk_since, ${toTimestamp(request.since ?? null)}),
            walk_rewrite = CASE WHEN ${request.rewrite === true} THEN nextval('rewrite_requests') ELSE walk_rewrite END
      WHERE name = ${request.warehouse}`;

/**
 * The next batch of a warehouse's walk; undefined if there is none. Folds that ran when the walk was requested end
 * first, so that the walk sees their calls.
 * `marked` = calls that became pending.
 * `state` = `waiting`: older transactions have not ended, or another worker is at this batch.
 */
export const walkBatch = async (store: Database, warehouse: string) => {
  if (!(await store.has`SELECT 1 FROM warehouses WHERE name = ${warehouse} AND ${underWay}`)) return undefined;
  return await store.transaction(async (tx) => {
    const [walk] = await tx.query<{ after: string; since: Date | null; rewrite: number | null }>`
        SELECT walk_after AS after, walk_since AS since, walk_rewrite AS rewrite FROM warehouses
        WHERE name = ${warehouse} AND ${underWay}
          AND (pg_snapshot_xmin(pg_current_snapshot()) > walk_xid OR walk_requested_at < now() - interval '10 minutes')
        FOR UPDATE SKIP LOCKED`;
    if (walk === undefined) return { marked: 0, state: 'waiting' };
    const ids = await tx.column<string>`
        SELECT call_id FROM ledger WHERE call_id > ${walk.after} ORDER BY call_id LIMIT ${batchCalls}`;
    const marked = await markLacking(tx, warehouse, ids, walk);
    if (ids.length === batchCalls) {
      await tx.query`UPDATE warehouses SET walk_after = ${ids.at(-1)} WHERE name = ${warehouse}`;
      return { marked, state: 'under way' };
    }
    await tx.query`UPDATE warehouses SET walk_after = NULL, walk_since = NULL, walk_rewrite = NULL WHERE name = ${warehouse}`;
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

type Walk = { readonly since: Date | null; readonly rewrite: number | null };

/** Waits for the end of running completions, because they may know only an older epoch. */
const markLacking = async (tx: Transaction, warehouse: string, ids: readonly string[], walk: Walk) => {
  await tx.query`SELECT 1 FROM ${lockedRows(warehouse, ids)}`;
  const marked = await tx.query`INSERT INTO warehouse_calls AS w (warehouse, call_id, queue_position, rewrite)
     SELECT ${warehouse}, l.call_id, queue_position(CASE WHEN l.tombstone THEN 0 ELSE 2 END, l.call_timestamp), ${walk.rewrite}
       FROM ledger l LEFT JOIN ${rowOfCall(warehouse, sql`l.call_id`)} o ON true
      WHERE l.call_id = ANY(${ids}) AND l.revision > 0
        AND (o.call_id IS NULL OR ${walk.rewrite}::bigint IS NOT NULL OR coalesce(o.applied_at, 'infinity') >= ${walk.since}::timestamptz
             OR NOT o.pending AND (o.applied_revision < l.revision
                                   OR o.applied_epoch < (SELECT max(epoch) FROM epochs)
                                   OR o.applied_flatten < (SELECT flatten_version FROM warehouses WHERE name = ${warehouse})
                                   OR o.rewrite IS NOT NULL)
             OR o.refused IS NOT NULL)
      ORDER BY l.call_id
     ON CONFLICT (warehouse, call_id) DO UPDATE
        SET pending = true, rewrite = coalesce(excluded.rewrite, w.rewrite),
            queue_position = CASE WHEN w.pending THEN least(w.queue_position, excluded.queue_position)
                                  ELSE excluded.queue_position END,
            applied_epoch = CASE WHEN coalesce(w.applied_at, 'infinity') >= ${walk.since}::timestamptz THEN 0 ELSE w.applied_epoch END
     RETURNING 1`;
  return marked.length;
};

/**
 * Issues an epoch above every known one and marks every call as pending. Used for new and restored ledgers.
 * A walk marks the calls batch by batch. A load that completes meanwhile sees the new epoch, or the walk marks its
 * calls.
 * @param healing further repair follows until `endHealing`.
 */
export const issueEpoch = async (store: Database, reason: string, highestElsewhere: number, healing = false) =>
  await store.transaction(async (tx) => {
    await lockName(tx, 'callsync.epoch');
    const epoch = await tx.value<number>`INSERT INTO epochs (epoch, reason, healing)
       SELECT greatest(coalesce(max(epoch), 0), ${highestElsewhere}::int) + 1, ${reason}, ${healing} FROM epochs
       RETURNING epoch`;
    const warehouses = await tx.column<string>`SELECT name FROM warehouses ORDER BY name FOR UPDATE`;
    for (const warehouse of warehouses) await requestWalk(tx, { warehouse });
    return epoch;
  });

/** The present epoch, and the latest one after which everything was healed; 0 = none. */
export const readEpochs = (db: Queryable): Promise<{ readonly epoch: number; readonly healed: number }> =>
  db.row`SELECT coalesce(max(epoch), 0) AS epoch, coalesce(max(epoch) FILTER (WHERE NOT healing), 0) AS healed FROM epochs`;

/** Notes that everything was done that follows an epoch, or one before it. */
export const endHealing = (db: Queryable, epoch: number): Promise<unknown> =>
  db.query`UPDATE epochs SET healing = false WHERE healing AND epoch <= ${epoch}`;
