/** Counters that the store's triggers keep (`schema.sql`): the value of one is the sum over its rows. */
import type { Database, Queryable } from '../../postgres/database.ts';

/** All counters by name. */
export const readCounters = async (db: Queryable): Promise<ReadonlyMap<string, number>> => {
  const rows = await db.query<{ name: string; value: number }>`
      SELECT name, sum(value)::bigint AS value FROM counters GROUP BY name ORDER BY name`;
  return new Map(rows.map(({ name, value }) => [name, value]));
};

/** Joins the rows of each counter and each sender into one. Rows that are added meanwhile stay. */
export const joinCounters = async (store: Database): Promise<void> => {
  await store.query`WITH old AS (DELETE FROM counters RETURNING name, value)
     INSERT INTO counters SELECT name, sum(value) FROM old GROUP BY name HAVING sum(value) <> 0`;
  await store.query`WITH old AS (DELETE FROM delivery_senders RETURNING *)
     INSERT INTO delivery_senders
     SELECT agent, signing_key, sum(deliveries), min(first_at), max(last_at) FROM old GROUP BY agent, signing_key`;
};
