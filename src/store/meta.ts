/** Single values of the store, by key, in table `meta`: JSON in, JSON out. */
import type { Queryable } from '../postgres/database.ts';

/** Undefined if no process has written it. */
export const readMeta = <T>(db: Queryable, key: string): Promise<T | undefined> =>
  db.value`SELECT value FROM meta WHERE key = ${key}`;

/** Replaces the value of a key. @param value any JSON value */
export const writeMeta = async (db: Queryable, key: string, value: unknown): Promise<void> => {
  await db.query`INSERT INTO meta (key, value) VALUES (${key}, ${JSON.stringify(value)})
     ON CONFLICT (key) DO UPDATE SET value = excluded.value, updated_at = now()`;
};

/** Notes what regular work failed with; its time stays that of the first failure. Undefined = it succeeded. */
export const noteFailure = (db: Queryable, key: string, error: string | undefined): Promise<unknown> =>
  error === undefined
    ? db.query`DELETE FROM meta WHERE key = ${key}`
    : db.query`INSERT INTO meta (key, value) VALUES (${key}, ${JSON.stringify(error)})
                   ON CONFLICT (key) DO UPDATE SET value = excluded.value`;

/** Writes a value unless there is one already. Returns the stored value. */
export const keepMeta = <T>(db: Queryable, key: string, value: T): Promise<T> =>
  db.value`INSERT INTO meta AS m (key, value) VALUES (${key}, ${JSON.stringify(value)}) ON CONFLICT (key) DO UPDATE SET value = m.value RETURNING value`;

/** Adds texts to a sorted list without doubles; additions made at the same time all stay. Returns the whole list. */
export const addToMeta = (db: Queryable, key: string, texts: readonly string[]): Promise<readonly string[]> =>
  db.value`INSERT INTO meta (key, value)
     VALUES (${key}, to_jsonb(ARRAY(SELECT t FROM unnest(${texts}::text[]) AS t GROUP BY t ORDER BY t COLLATE "C")))
     ON CONFLICT (key) DO UPDATE SET updated_at = now(), value = to_jsonb(ARRAY(
       SELECT t FROM jsonb_array_elements_text(meta.value || excluded.value) AS t GROUP BY t ORDER BY t COLLATE "C"))
     RETURNING value`;
