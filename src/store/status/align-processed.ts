/** Ends of processing of calls that the ledger took by another field, or by an earlier version, which read no path. */
import { valueAt } from '../../lib/parse-json.ts';
import { parseTimestamp } from '../../lib/timestamps.ts';
import { toTimestamp, unnest } from '../../postgres/database.ts';
import { lowered, readDocumentPages } from '../ledger/ledger.ts';
import { markPending } from '../loads/loads.ts';
import { keepMeta, writeMeta } from '../meta.ts';
import type { Store } from '../store.ts';
import { withdrawProof } from '../windows/verdicts.ts';

/**
 * Reads them from the stored documents, once for each field. A changed call is loaded again, and its days lose their
 * proof, because a comparison by the end of processing did not see the call.
 */
export const alignProcessed = async (store: Store, field: string): Promise<void> => {
  if ((await keepMeta(store, 'processed_field', field.includes('.') ? '' : field)) === field) return;
  for await (const page of readDocumentPages(store))
    await withdrawProof(store, async (tx, withdraw) => {
      const read = page.flatMap(({ document, ...call }) =>
        document ? { ...call, end: parseTimestamp(valueAt(document, field)) } : [],
      );
      const changed =
        await tx.column<string>`UPDATE ledger l SET processed_at = ${toTimestamp('u.end')}, revision = ${lowered} + 1
          FROM ${unnest(read, { callId: 'text', revision: 'int', end: 'float8' })}
         WHERE l.call_id = "callId" AND l.revision = u.revision AND l.processed_at IS DISTINCT FROM ${toTimestamp('u.end')}
         RETURNING l.call_id`;
      if (changed.length === 0) return;
      await tx.query`UPDATE ledger_documents d SET revision = l.revision FROM ledger l
                      WHERE l.call_id = d.call_id AND d.call_id = ANY(${changed})`;
      await withdraw(changed);
      await markPending(tx, changed);
    });
  await writeMeta(store, 'processed_field', field);
};
