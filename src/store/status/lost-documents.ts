/** Calls whose document in the ledger is gone, or is not the one that was stored. */
import type { LedgerRow } from '../../calls/fold.ts';
import { unnest } from '../../postgres/database.ts';
import { requestRereads } from '../delivery/inbox.ts';
import type { Store } from '../store.ts';
import { withdrawProof } from '../windows/verdicts.ts';

/**
 * Asks the service for these calls again, unless they have changed since they were seen. The next record of a call
 * counts as new, and until then nothing of its days is proven.
 */
export const forgetDocuments = async (store: Store, lost: readonly LedgerRow[]): Promise<void> => {
  if (lost.length === 0) return;
  await withdrawProof(store, async (tx, withdraw) => {
    const ids = await tx.column<string>`UPDATE ledger l SET fields = '{}', confirmed_at = NULL, confirmed_rank = NULL
        FROM ${unnest(lost, { callId: 'text', revision: 'int' })}
       WHERE l.call_id = "callId" AND l.revision = u.revision AND NOT l.tombstone AND l.fields <> '{}' RETURNING l.call_id`;
    if (ids.length === 0) return;
    // The subjects stay: an erasure finds the call, and a hold keeps it, until it is read again.
    await tx.query`UPDATE ledger_documents SET body = '' WHERE call_id = ANY(${ids})`;
    await requestRereads(tx, ids, 'lost');
    await withdraw(ids);
  });
};
