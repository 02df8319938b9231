/**
 * Which warehouses are told of changes: those that are registered, also by workers with another configuration. One that has
 * not been configured for a week is left out, so that its queues do not grow without end.
 */
import type { Database, Queryable } from '../../postgres/database.ts';
import { requestWalk } from './walk.ts';

const present = `configured_at > now() - interval '7 days'`;

/** SQL of a query for the names of all warehouses to be told of a change; `parameter` holds the configured ones. */
export const concernedWarehouses = (parameter: string, schema = 'callsync'): string =>
  `SELECT unnest(${parameter}::text[]) AS warehouse UNION SELECT name FROM ${schema}.warehouses WHERE ${present}`;

/**
 * Registers a warehouse for workers of a flatten version. One that is new, that comes back after a while, or whose rows
 * an older version flattened is walked: what it lacks becomes pending (`walk.ts`). A new one also gets every delivery.
 */
export const registerWarehouse = async (store: Database, name: string, flattenVersion: number): Promise<void> =>
  await store.transaction(async (tx) => {
    await tx.query(`INSERT INTO warehouses (name, configured_at) VALUES ($1, 'epoch') ON CONFLICT DO NOTHING`, [name]);
    const [before] = await tx.query<{ present: boolean; flatten: number }>(
      `SELECT ${present} AS present, flatten_version AS flatten FROM warehouses WHERE name = $1 FOR UPDATE`,
      [name],
    );
    await tx.query(
      `UPDATE warehouses SET configured_at = now(), flatten_version = greatest(flatten_version, $2) WHERE name = $1`,
      [name, flattenVersion],
    );
    if (before?.present !== true) {
      await tx.query(
        `INSERT INTO unloaded_deliveries (warehouse, rejected, seq)
         SELECT $1, outcome = 'rejected', seq FROM inbox WHERE outcome <> 'pending' ON CONFLICT DO NOTHING`,
        [name],
      );
    }
    if (before?.present !== true || before.flatten < flattenVersion) await requestWalk(tx, { warehouse: name });
  });

/** Says that these warehouses are still configured somewhere. */
export const keepWarehouses = async (db: Queryable, names: readonly string[]): Promise<void> => {
  await db.query(
    `UPDATE warehouses SET configured_at = now()
      WHERE name = ANY($1) AND configured_at < now() - interval '1 hour' AND ${present}`,
    [names],
  );
};

/** Empties the queues of deliveries for warehouses that have not been configured for a while. One that is configured again gets them all again. */
export const forgetWarehouses = async (db: Queryable): Promise<void> => {
  await db.query(
    `DELETE FROM unloaded_deliveries u USING warehouses w WHERE w.name = u.warehouse AND NOT (${present})`,
  );
};

/** Whether some worker has configured the warehouse lately. */
export const isConfiguredSomewhere = async (db: Queryable, name: string): Promise<boolean> =>
  (await db.query(`SELECT 1 FROM warehouses WHERE name = $1 AND ${present}`, [name])).length > 0;
