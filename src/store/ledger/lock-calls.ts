/** Rows of calls in the ledger, kept from others until the end of a transaction. */
import type { Transaction } from '../../postgres/database.ts';

/**
 * In order, so that transactions which ask for the same calls wait for each other and not for good. Unknown calls get a row.
 * @returns those that are tombstones.
 */
export const lockCalls = async (tx: Transaction, ids: readonly string[]): Promise<ReadonlySet<string>> => {
  await claimCalls(tx, ids);
  const rows = await tx.query<{ id: string; tombstone: boolean }>(
    'SELECT call_id AS id, tombstone FROM ledger WHERE call_id = ANY($1) ORDER BY call_id FOR UPDATE',
    [ids],
  );
  return new Set(rows.flatMap(({ id, tombstone }) => (tombstone ? [id] : [])));
};

/** Gives unknown calls a row, of revision 0. */
export const claimCalls = async (tx: Transaction, ids: readonly string[]): Promise<void> => {
  await tx.query(
    `INSERT INTO ledger (call_id) SELECT id FROM unnest($1::text[]) AS id ORDER BY id COLLATE "C" ON CONFLICT (call_id) DO NOTHING`,
    [ids],
  );
};
