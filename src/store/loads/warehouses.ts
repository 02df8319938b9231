/**
 * The registered warehouses, also if only other workers configure them. A warehouse that is unconfigured for a week is
 * dropped, so that its queue does not grow.
 */

import { type Database, lockName, type Queryable, sql, toTimestamp } from '../../postgres/database.ts';

const present = sql`configured_at > now() - interval '7 days'`;

/** SQL of a query for the names of all warehouses to be told of a change. */
export const concernedWarehouses = sql`SELECT name AS warehouse FROM warehouses WHERE ${present}`;

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
