import type { CallDocument } from '../../../schemas/call.ts';
import type { Queryable } from '../../postgres/database.ts';
import { ledgerColumns, readLedgerRow, type StoredLedgerRow } from './ledger.ts';

/** The documents of the newest calls that have a time, newest first. */
export const readNewestDocuments = async (db: Queryable, limit: number): Promise<readonly CallDocument[]> => {
  const rows = await db.query<StoredLedgerRow & { body: Buffer }>(
    `SELECT ${ledgerColumns}, d.body FROM ledger l JOIN ledger_documents d USING (call_id)
      WHERE l.call_timestamp IS NOT NULL AND NOT l.tombstone ORDER BY l.call_timestamp DESC LIMIT $1`,
    [limit],
  );
  const documents: CallDocument[] = [];
  for (const row of rows) documents.push((await readLedgerRow(row)).document ?? {});
  return documents;
};
