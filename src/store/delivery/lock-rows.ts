/** Rows of deliveries and texts, kept from others until the end of a transaction. */
import type { Transaction } from '../../postgres/database.ts';

const keys = { inbox: 'seq', quarantine: 'id', websocket_frames: 'id' } as const;

/**
 * Keys of the rows, locked in their order, as all lock them who wait for them: an UPDATE locks rows as it meets them, and two that meet
 * the same rows in other orders wait for each other for good.
 * @param where condition on the table's columns; `$1` holds `values`.
 */
export const lockRows = async (
  tx: Transaction,
  table: keyof typeof keys,
  where: string,
  values: readonly unknown[],
): Promise<readonly number[]> => {
  const rows = await tx.query<{ key: number }>(
    `SELECT ${keys[table]} AS key FROM ${table} WHERE ${where} ORDER BY ${keys[table]} FOR UPDATE`,
    [values],
  );
  return rows.map(({ key }) => key);
};
