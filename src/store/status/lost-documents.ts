/** Calls whose document in the ledger is gone, or is not the one that was stored. */
import type { LedgerRow } from '../../calls/fold.ts';
import { type Transaction, unnest } from '../../postgres/database.ts';
import { requestRereads } from '../delivery/inbox.ts';
import type { Store } from '../store.ts';
import { type Withdraw, withdrawProof } from '../windows/verdicts.ts';

/**
 * Asks the service for these calls again, and folds their deliveries again, which may have fields that the service leaves out.
 * Until they are compared again, nothing of their days is proven.
 */
export const noteLost = async (tx: Transaction, withdraw: Withdraw, callIds: readonly string[]): Promise<void> => {
  if (callIds.length === 0) return;
  await requestRereads(tx, callIds, 'lost');
  await tx.query`UPDATE inbox SET outcome = 'pending', stored_at = now() WHERE call_id = ANY(${callIds}) AND outcome = 'accepted' AND body IS NOT NULL`;
  await withdraw(callIds);
};

/** Notes these calls as lost, unless they have changed since they were seen. The next record of a call counts as new. */
export const forgetDocuments = async (store: Store, lost: readonly LedgerRow[]): Promise<void> => {
  if (lost.length === 0) return;
  await withdrawProof(store, async (tx, withdraw) => {
    const ids = await tx.column<string>`UPDATE ledger l SET fields = '{}', confirmed_at = NULL, confirmed_rank = NULL
        FROM ${unnest(lost, { callId: 'text', revision: 'int' })}
       WHERE l.call_id = "callId" AND l.revision = u.revision AND NOT l.tombstone AND l.fields <> '{}' RETURNING l.call_id`;
    // The subjects stay: an erasure finds the call, and a hold keeps it, until it is read again.
    await tx.query`UPDATE ledger_documents SET body = '' WHERE call_id = ANY(${ids})`;
    await noteLost(tx, withdraw, ids);
  });
};
