/** Counters that the store's triggers keep (`schema.sql`): the value of one is the sum over its rows. */
import type { Database, Queryable } from '../../postgres/database.ts';

/** All counters by name. */
export const readCounters = async (db: Queryable): Promise<ReadonlyMap<string, number>> => {
  const sql = 'SELECT name, sum(value)::bigint AS value FROM counters GROUP BY name';
  const rows = await db.query<{ name: string; value: number }>(sql);
  return new Map(rows.map(({ name, value }) => [name, value]));
};

/** Rows of one statement. */
const countedAtOnce = 10_000;

/** Pages in the order of call ids; the last parameter is a warehouse, or nothing. */
const callsSql = `SELECT count(*) FILTER (WHERE NOT tombstone) AS calls, count(*) FILTER (WHERE tombstone) AS tombstones, max(call_id) AS last
  FROM (SELECT call_id, tombstone FROM ledger WHERE call_id > $1 AND revision > 0 AND $3 = '' ORDER BY call_id LIMIT $2) AS page`;
const pendingSql = `SELECT count(*) FILTER (WHERE pending) AS pending, max(call_id) AS last
  FROM (SELECT call_id, pending FROM warehouse_calls WHERE call_id > $1 AND warehouse = $3 ORDER BY call_id LIMIT $2) AS page`;

/** Sums of the columns of a statement over its pages. */
const sumPages = async (tx: Queryable, sql: string, warehouse = ''): Promise<Readonly<Record<string, number>>> => {
  const sums: Record<string, number> = {};
  for (let after: string | null = ''; after !== null; ) {
    const [page]: Record<string, unknown>[] = await tx.query(sql, [after, countedAtOnce, warehouse]);
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
    await tx.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ');
    const counted = new Map(Object.entries(await sumPages(tx, callsSql)));
    const warehouses = await tx.query<{ name: string }>(
      `SELECT name FROM warehouses UNION SELECT substr(name, 9) FROM counters WHERE starts_with(name, 'pending:')`,
    );
    for (const { name } of warehouses)
      counted.set(`pending:${name}`, (await sumPages(tx, pendingSql, name)).pending ?? 0);
    const rows = await tx.query<{ name: string }>(
      `INSERT INTO counters
       SELECT name, coalesce(counted, 0) - coalesce(kept, 0)
         FROM (SELECT name, sum(value) AS kept FROM counters
                WHERE name NOT LIKE 'deliveries:%' OR name = 'deliveries:pending' GROUP BY name) AS k
         FULL JOIN (
           SELECT * FROM unnest($1::text[], $2::bigint[]) AS c (name, counted)
           UNION ALL SELECT 'deliveries:pending', count(*) FROM inbox WHERE outcome = 'pending'
           UNION ALL SELECT 'quarantine:open', count(*) FROM quarantine WHERE state = 'open') AS c USING (name)
        WHERE coalesce(counted, 0) <> coalesce(kept, 0)
       RETURNING name`,
      [[...counted.keys()], [...counted.values()]],
    );
    return rows.map(({ name }) => name);
  });

/** Joins the rows of each counter and each sender into one. Rows that are added meanwhile stay. */
export const joinCounters = async (store: Database): Promise<void> => {
  await store.query(
    `WITH old AS (DELETE FROM counters RETURNING name, value)
     INSERT INTO counters SELECT name, sum(value) FROM old GROUP BY name HAVING sum(value) <> 0`,
  );
  await store.query(
    `WITH old AS (DELETE FROM delivery_senders RETURNING *)
     INSERT INTO delivery_senders
     SELECT agent, signing_key, sum(deliveries), min(first_at), max(last_at) FROM old GROUP BY agent, signing_key`,
  );
};
