import type { Queryable } from '../../postgres/database.ts';

/** Ids of the calls with the latest timestamps, newest first; none that were erased. */
export const listNewestCalls = async (db: Queryable, limit: number): Promise<string[]> =>
  (
    await db.query<{ id: string }>(
      `SELECT call_id AS id FROM ledger WHERE call_timestamp IS NOT NULL AND NOT tombstone
        ORDER BY call_timestamp DESC LIMIT $1`,
      [limit],
    )
  ).map(({ id }) => id);
