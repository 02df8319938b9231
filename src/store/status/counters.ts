/** Counters that the store's triggers keep (`schema.sql`): the value of one is the sum over its rows. */
import type { Database, Queryable } from '../../postgres/database.ts';
import { type Sql, sql } from '../../postgres/sql.ts';

/** All counters by name. */
export const readCounters = async (db: Queryable): Promise<ReadonlyMap<string, number>> => {
  const rows = await db.query<{ name: string; value: number }>`
      SELECT name, sum(value)::bigint AS value FROM counters GROUP BY name`;
  return new Map(rows.map(({ name, value }) => [name, value]));
};

/** Rows of one statement. */
const countedAtOnce = 10_000;

/** Sums of columns over the pages of a table. @param rows behind FROM, with the condition. */
const sumPages = async (tx: Queryable, columns: Sql, rows: Sql): Promise<Readonly<Record<string, number>>> => {
  const sums: Record<string, number> = {};
  for (let after: string | null = ''; after !== null; ) {
    const [page]: Record<string, unknown>[] = await tx.query`SELECT ${columns}, max(call_id) AS last
         FROM (SELECT * FROM ${rows} AND call_id > ${after} ORDER BY call_id LIMIT ${countedAtOnce}) AS page`;
    const { last = null, ...counts } = page ?? {};
    for (const [name, count] of Object.entries(counts)) sums[name] = (sums[name] ?? 0) + Number(count);
    after = last as string | null;
  }
  return sums;
};

/**
 * Corrects counters that differ from the counted rows, as after a restore of data alone. One transaction sees rows and
 * counters at one moment, so parallel changes stay counted. Settled deliveries stay, because they count even after they
 * expire. Reads two whole tables, page by page.
 * @returns the names of the counters that were wrong
 */
export const repairCounters = (store: Database): Promise<readonly string[]> =>
  store.transaction(async (tx) => {
    await tx.query`SET TRANSACTION ISOLATION LEVEL REPEATABLE READ`;
    const states = sql`count(*) FILTER (WHERE NOT tombstone) AS calls, count(*) FILTER (WHERE tombstone) AS tombstones`;
    const counted = new Map(Object.entries(await sumPages(tx, states, sql`ledger WHERE revision > 0`)));
    const warehouses = await tx.query<{ name: string }>`
        SELECT name FROM warehouses UNION SELECT substr(name, 9) FROM counters WHERE starts_with(name, 'pending:')`;
    for (const { name } of warehouses) {
      const ofWarehouse = sql`warehouse_calls WHERE warehouse = ${name}`;
      const { pending = 0 } = await sumPages(tx, sql`count(*) FILTER (WHERE pending) AS pending`, ofWarehouse);
      counted.set(`pending:${name}`, pending);
    }
    const rows = await tx.query<{ name: string }>`INSERT INTO counters
       SELECT name, coalesce(counted, 0) - coalesce(kept, 0)
         FROM (SELECT name, sum(value) AS kept FROM counters
                WHERE name NOT LIKE 'deliveries:%' OR name = 'deliveries:pending' GROUP BY name) AS k
         FULL JOIN (
           SELECT * FROM unnest(${[...counted.keys()]}::text[], ${[...counted.values()]}::bigint[]) AS c (name, counted)
           UNION ALL SELECT 'deliveries:pending', count(*) FROM inbox WHERE outcome = 'pending'
           UNION ALL SELECT 'quarantine:open', count(*) FROM quarantine WHERE state = 'open') AS c USING (name)
        WHERE coalesce(counted, 0) <> coalesce(kept, 0)
       RETURNING name`;
    return rows.map(({ name }) => name);
  });

/** Joins the rows of each counter and each sender into one. Rows that are added meanwhile stay. */
export const joinCounters = async (store: Database): Promise<void> => {
  await store.query`WITH old AS (DELETE FROM counters RETURNING name, value)
     INSERT INTO counters SELECT name, sum(value) FROM old GROUP BY name HAVING sum(value) <> 0`;
  await store.query`WITH old AS (DELETE FROM delivery_senders RETURNING *)
     INSERT INTO delivery_senders
     SELECT agent, signing_key, sum(deliveries), min(first_at), max(last_at) FROM old GROUP BY agent, signing_key`;
};
