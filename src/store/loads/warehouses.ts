/**
 * Which warehouses the store keeps books for: those that registered, also by workers with another configuration. One
 * that nobody has configured for a while is left out, so that what waits for it does not grow for good.
 */
import type { Queryable, Transaction } from '../../postgres/database.ts';

const keyOf = (name: string): string => `'warehouse:' || ${name}`;
const present = `updated_at > now() - interval '7 days'`;

/** SQL of a query for the names of all warehouses to be told of a change; `parameter` holds the configured ones. */
export const concernedWarehouses = (parameter: string, meta = 'meta'): string =>
  `SELECT unnest(${parameter}::text[]) AS warehouse
    UNION SELECT substr(key, ${'warehouse:'.length + 1}) FROM ${meta} WHERE key LIKE 'warehouse:%' AND ${present}`;

/** Returns whether the books of the warehouse begin, or begin again: then it also lacks deliveries. */
export const enterWarehouse = async (tx: Transaction, warehouse: string): Promise<boolean> => {
  const rows = await tx.query<{ known: boolean }>(
    `SELECT ${present} AS known FROM meta WHERE key = ${keyOf('$1')} FOR UPDATE`,
    [warehouse],
  );
  await tx.query(
    `INSERT INTO meta (key, value) VALUES (${keyOf('$1')}, 'true') ON CONFLICT (key) DO UPDATE SET updated_at = now()`,
    [warehouse],
  );
  return rows[0]?.known !== true;
};

/** Says that these warehouses are still configured somewhere. */
export const keepWarehouses = async (db: Queryable, warehouses: readonly string[]): Promise<void> => {
  await db.query(
    `UPDATE meta SET updated_at = now()
      WHERE key IN (SELECT ${keyOf('name')} FROM unnest($1::text[]) AS name) AND updated_at < now() - interval '1 hour'
        AND ${present}`,
    [warehouses],
  );
};

/**
 * Takes warehouses that nobody has configured for a while off the deliveries that still wait for them; one that comes
 * back gets every delivery anew.
 */
export const forgetWarehouses = async (db: Queryable): Promise<void> => {
  const gone = await db.query<{ name: string }>(
    `SELECT substr(key, ${'warehouse:'.length + 1}) AS name FROM meta WHERE key LIKE 'warehouse:%' AND NOT (${present})`,
  );
  for (const { name } of gone) {
    await db.query(
      `UPDATE inbox SET unloaded = array_remove(unloaded, $1::text)
        WHERE unloaded <> '{}' AND unloaded @> ARRAY[$1::text]`,
      [name],
    );
  }
};

/** Whether some worker has configured the warehouse lately. */
export const isConfiguredSomewhere = async (db: Queryable, warehouse: string): Promise<boolean> => {
  const rows = await db.query(`SELECT 1 FROM meta WHERE key = ${keyOf('$1')} AND ${present}`, [warehouse]);
  return rows.length > 0;
};

/**
 * Whether it is time to look for rows of older versions: looking reads every call of the warehouse, so only every ten
 * minutes, and only one of those who ask.
 */
export const isRefreshDue = async (db: Queryable, warehouse: string, flattenVersion: number): Promise<boolean> => {
  const rows = await db.query(
    `INSERT INTO meta (key, value) VALUES ('refresh:' || $2::int || ':' || $1, 'true')
     ON CONFLICT (key) DO UPDATE SET updated_at = now() WHERE meta.updated_at < now() - interval '10 minutes'
     RETURNING 1`,
    [warehouse, flattenVersion],
  );
  return rows.length > 0;
};
