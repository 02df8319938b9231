/** Calls that the service no longer lists: marked, never deleted. */

import type { Transaction } from '../../postgres/database.ts';
import { toTimestamp } from '../../postgres/sql-time.ts';

/**
 * Marks calls as missing since an instant (microseconds), inside the caller's transaction; their revision rises, so
 * that warehouses show it. Calls that were seen after that instant, are marked already, or are tombstones stay.
 * Returns the marked ids.
 */
export const markMissing = async (tx: Transaction, callIds: readonly string[], since: number): Promise<string[]> => {
  if (callIds.length === 0) return [];
  await tx.query('SELECT 1 FROM ledger WHERE call_id = ANY($1) ORDER BY call_id FOR UPDATE', [callIds]);
  const rows = await tx.query<{ call_id: string }>(
    `UPDATE ledger SET missing_since = ${toTimestamp('$2')}, revision = revision + 1
      WHERE call_id = ANY($1) AND missing_since IS NULL AND NOT tombstone AND revision > 0
        AND (last_seen_at IS NULL OR last_seen_at < ${toTimestamp('$2')}) RETURNING call_id`,
    [callIds, since],
  );
  const marked = rows.map((row) => row.call_id);
  await tx.query(
    `UPDATE ledger_documents d SET revision = l.revision FROM ledger l WHERE d.call_id = l.call_id AND l.call_id = ANY($1)`,
    [marked],
  );
  return marked;
};
