/** The calls of a range of call time, in its order, a page at a time. */
import type { LedgerRow } from '../../calls/fold.ts';
import type { Queryable } from '../../postgres/database.ts';
import { toMicros, toTimestamp } from '../../postgres/sql-time.ts';
import { readRows } from './ledger.ts';

interface Place {
  readonly call_id: string;
  readonly at: number;
}

const callsPerPage = 100;

/**
 * Each call as it is when its page is read, erased ones left out. `[from, to)` in microseconds since the epoch; calls
 * without a time are in no range.
 */
export const readLedgerRange = async function* (
  db: Queryable,
  range: { readonly from: number; readonly to: number },
): AsyncGenerator<LedgerRow> {
  let last: Place = { call_id: '', at: range.from };
  for (;;) {
    const page = await db.query<Place>(
      `SELECT call_id, ${toMicros('call_timestamp')} AS at FROM ledger
        WHERE (call_timestamp, call_id) > (${toTimestamp('$1')}, $2) AND call_timestamp < ${toTimestamp('$3')}
          AND revision > 0 AND NOT tombstone
        ORDER BY call_timestamp, call_id LIMIT $4`,
      [last.at, last.call_id, range.to, callsPerPage],
    );
    const rows = await readRows(
      db,
      page.map(({ call_id }) => call_id),
    );
    for (const { call_id } of page) {
      const row = rows.get(call_id);
      if (row !== undefined && !row.tombstone) yield row;
    }
    const end = page.at(-1);
    if (end === undefined || page.length < callsPerPage) return;
    last = end;
  }
};
