/** Receipts of erasures: a chain beside those of verdicts, under the same keys and with its head in the same file. */
import type { Queryable } from '../../postgres/database.ts';
import type { Store } from '../store.ts';
import { readChainHeads, recordChainHead } from './chain-heads.ts';
import type { ProofKeys } from './proof-keys.ts';
import { type ChainCheck, checkChain, type Proof } from './verdicts.ts';

/** The place of a receipt in the chain. */
export interface ReceiptProof {
  readonly receipt_id: number;
  readonly key_id: string;
  readonly digest: string;
  readonly previous_digest: string | null;
}

/** No warehouse can be named so. */
const receiptChain = '(erasures)';

const sign = (
  keys: ProofKeys,
  { receipt_id, key_id, previous_digest }: Omit<ReceiptProof, 'digest'>,
  receipt: string,
) => keys.sign(key_id, JSON.stringify([receiptChain, receipt_id, key_id, previous_digest, receipt]));

/** Adds a receipt to the chain, and its digest to the heads outside the store. @throws CallsyncError PROOF_HEADS, DATABASE_… */
export const addReceipt = async (store: Store, proof: Proof, receipt: unknown): Promise<ReceiptProof> => {
  const text = JSON.stringify(receipt);
  const added = await store.transaction(async (tx): Promise<ReceiptProof> => {
    await tx.query(`SELECT pg_advisory_xact_lock(hashtext('callsync.erasure_receipts'))`);
    const [next] = await tx.query<{ id: number; previous: string | null }>(
      `SELECT nextval(pg_get_serial_sequence('erasure_receipts', 'receipt_id')) AS id,
              (SELECT digest FROM erasure_receipts ORDER BY receipt_id DESC LIMIT 1) AS previous`,
    );
    const linked = {
      receipt_id: next?.id as number,
      key_id: proof.keys.currentId,
      previous_digest: next?.previous ?? null,
    };
    const digest = sign(proof.keys, linked, text) as string;
    await tx.query(
      `INSERT INTO erasure_receipts (receipt_id, receipt, key_id, previous_digest, digest)
       OVERRIDING SYSTEM VALUE VALUES ($1, $2, $3, $4, $5)`,
      [linked.receipt_id, text, linked.key_id, linked.previous_digest, digest],
    );
    return { ...linked, digest };
  });
  await recordChainHead(proof.headsFile, {
    warehouse: receiptChain,
    ledger_epoch: await store.epoch(),
    verdict_id: added.receipt_id,
    digest: added.digest,
  });
  return added;
};

/** Recomputes the chain: `verdicts` counts its receipts, and `broken` has their ids. */
export const verifyReceipts = async (db: Queryable, { keys, headsFile }: Proof): Promise<ChainCheck> => {
  const rows = await db.query<ReceiptProof & { receipt: string }>(
    'SELECT receipt_id, receipt, key_id, previous_digest, digest FROM erasure_receipts ORDER BY receipt_id',
  );
  const entries = rows.map((row) => ({
    id: row.receipt_id,
    previous: row.previous_digest,
    digest: row.digest,
    expected: sign(keys, row, row.receipt),
  }));
  return await checkChain(await readChainHeads(headsFile), receiptChain, entries, null);
};
