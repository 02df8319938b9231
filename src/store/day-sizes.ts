/** Bytes that were sent to a warehouse for each date of calls: what a commit that changes such a date will read again. */
import type { Queryable } from '../postgres/database.ts';

/** Reads and adds to the bytes of each UTC date (`YYYY-MM-DD`). A date that nobody wrote is absent. */
export const createDaySizes = (db: Queryable, warehouse: string) => ({
  read: async (days: readonly string[]): Promise<ReadonlyMap<string, number>> => {
    const rows = await db.query<{ day: string; bytes: number }>(
      'SELECT day::text AS day, bytes FROM warehouse_days WHERE warehouse = $1 AND day = ANY($2::date[])',
      [warehouse, days],
    );
    return new Map(rows.map(({ day, bytes }) => [day, bytes]));
  },
  add: async (bytes: ReadonlyMap<string, number>): Promise<void> => {
    if (bytes.size === 0) return;
    await db.query(
      `INSERT INTO warehouse_days (warehouse, day, bytes)
       SELECT $1, * FROM unnest($2::date[], $3::bigint[]) ORDER BY 2
       ON CONFLICT (warehouse, day) DO UPDATE SET bytes = warehouse_days.bytes + excluded.bytes`,
      [warehouse, [...bytes.keys()], [...bytes.values()].map(Math.round)],
    );
  },
});
