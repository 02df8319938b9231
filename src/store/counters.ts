/** Counters that the store's triggers keep (migration `counters`): the value of one is the sum over its rows. */
import type { Database, Queryable } from '../postgres/database.ts';

/** All counters by name. */
export const readCounters = async (db: Queryable): Promise<ReadonlyMap<string, number>> => {
  const rows = await db.query<{ name: string; value: number }>(
    'SELECT name, sum(value)::bigint AS value FROM counters GROUP BY name',
  );
  return new Map(rows.map(({ name, value }) => [name, value]));
};

/**
 * Sets right what differs from the rows that are counted: a restore of the data alone fires the triggers, and restores the
 * counters beside. One statement sees rows and counters of one moment, so what others change meanwhile stays counted.
 * Settled deliveries are left as they are, since they stay counted when they expire. Reads all of three tables.
 * @returns the names of the counters that were wrong
 */
export const repairCounters = async (store: Database): Promise<readonly string[]> => {
  const rows = await store.query<{ name: string }>(
    `INSERT INTO counters
     SELECT name, coalesce(counted, 0) - coalesce(kept, 0)
       FROM (SELECT name, sum(value) AS kept FROM counters
              WHERE name NOT LIKE 'deliveries:%' OR name = 'deliveries:pending' GROUP BY name) AS k
       FULL JOIN (
         SELECT CASE WHEN tombstone THEN 'tombstones' ELSE 'calls' END AS name, count(*) AS counted
           FROM ledger WHERE revision > 0 GROUP BY 1
         UNION ALL SELECT 'pending:' || warehouse, count(*) FROM warehouse_calls WHERE pending GROUP BY 1
         UNION ALL SELECT 'deliveries:pending', count(*) FROM inbox WHERE outcome = 'pending'
         UNION ALL SELECT 'quarantine:open', count(*) FROM quarantine WHERE state = 'open') AS c USING (name)
      WHERE coalesce(counted, 0) <> coalesce(kept, 0)
     RETURNING name`,
  );
  return rows.map(({ name }) => name);
};

/** Joins the rows of each counter and of each sender into one; what is added meanwhile stays beside it. */
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
