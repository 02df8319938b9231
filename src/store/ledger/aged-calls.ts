/** Calls by their own time, for what is too old to be kept; tombstones and calls without a time left out. */
import type { Queryable } from '../../postgres/database.ts';
import { toMicros, toTimestamp } from '../../postgres/sql-time.ts';

/** A little is looked at again: times are kept to the microsecond, and calls may come while it runs. */
const overlapMicros = 1_000_000;

const since = (from: number): number | null => (Number.isFinite(from) ? from - overlapMicros : null);
const between = `($1::float8 IS NULL OR call_timestamp >= ${toTimestamp('$1::float8')}) AND call_timestamp < ${toTimestamp('$2::float8')}
  AND revision > 0 AND NOT tombstone`;

/** Page by page, oldest first; times in microseconds since the epoch. */
export async function* listCallsBetween(
  db: Queryable,
  range: { readonly from: number; readonly to: number; readonly limit: number },
): AsyncGenerator<string[]> {
  let from = since(range.from);
  let after = '';
  for (;;) {
    const rows: { id: string; at: number }[] = await db.query<{ id: string; at: number }>(
      `SELECT call_id AS id, ${toMicros('call_timestamp')} AS at FROM ledger
        WHERE ${between} AND ($1::float8 IS NULL OR (call_timestamp, call_id) > (${toTimestamp('$1::float8')}, $3))
        ORDER BY call_timestamp, call_id LIMIT $4`,
      [from, range.to, after, range.limit],
    );
    if (rows.length > 0) yield rows.map(({ id }) => id);
    const last = rows.at(-1);
    if (rows.length < range.limit || last === undefined) return;
    from = last.at;
    after = last.id;
  }
}
