/** One digest a table of a warehouse, independent of the order of its rows and equal in both warehouses for equal data. */
import { createHash } from 'node:crypto';
import { type Column, type Row, tables } from '../../schemas/tables.ts';
import { CallsyncError } from '../../src/lib/errors.ts';
import { canonicalRow, digestedColumns } from '../../src/warehouse/content-hash.ts';
import type { DigestedName, Warehouse } from '../../src/warehouse/warehouse.ts';

/** `rows:hex`. Equal for equal multisets of rows. */
export const digestRows = async (columns: readonly Column[], rows: AsyncIterable<Row>): Promise<string> => {
  let count = 0;
  let sum = 0n;
  for await (const row of rows) {
    sum += BigInt(`0x${createHash('sha256').update(canonicalRow(columns, row)).digest('hex')}`);
    count += 1;
  }
  return `${count}:${BigInt.asUintN(256, sum).toString(16).padStart(64, '0')}`;
};

/** Not of `changes`, `loads` and `sync_state`, which say how rows came. A warehouse may be without `documents`. */
export const digestTables = async (warehouse: Warehouse): Promise<Record<string, string>> => {
  const names = [...tables.map(({ name }) => name), 'words' as const].filter(
    (name): name is DigestedName => name !== 'changes' && name !== 'loads' && name !== 'sync_state',
  );
  const digests: Record<string, string> = {};
  // One after the other: there are fewer connections than tables, and a table may take longer than the wait for one.
  for (const name of names) {
    const digest = digestRows(digestedColumns(name), warehouse.proof.rowsOf(name));
    const orNone = (error: unknown) =>
      name === 'documents' && error instanceof CallsyncError ? 'none' : Promise.reject(error);
    digests[name] = await digest.catch(orNone);
  }
  return digests;
};
