/** Receipts of erasures: a chain beside those of verdicts, under the same keys and with its head in the same file. */
import type { Queryable } from '../../postgres/database.ts';
import type { LoggedReceipt } from '../erasure-log.ts';
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
      // Not of the sequence, which a restore sets back.
      `SELECT coalesce(max(receipt_id), 0) + 1 AS id, (SELECT digest FROM erasure_receipts ORDER BY receipt_id DESC LIMIT 1) AS previous
         FROM erasure_receipts`,
    );
    const linked = {
      receipt_id: next?.id as number,
      key_id: proof.keys.currentId,
      previous_digest: next?.previous ?? null,
    };
    const digest = sign(proof.keys, linked, text) as string;
    await insertReceipt(tx, { ...linked, receipt: text, digest });
    return { ...linked, digest };
  });
  await store.erasures.log.appendReceipt({ ...added, receipt: text });
  await recordChainHead(proof.headsFile, {
    warehouse: receiptChain,
    ledger_epoch: await store.epoch(),
    verdict_id: added.receipt_id,
    digest: added.digest,
  });
  return added;
};

/** The receipt of a request to erase, as it was signed, with its place in the chain; undefined where none is signed. */
export const findReceipt = async <Receipt extends object>(
  db: Queryable,
  requestId: string,
): Promise<(Receipt & { readonly proof: ReceiptProof }) | undefined> => {
  const [row] = await db.query<ReceiptProof & { receipt: string }>(
    `SELECT receipt, receipt_id, key_id, digest, previous_digest FROM erasure_receipts
      WHERE receipt::jsonb ->> 'requestId' = $1`,
    [requestId],
  );
  if (row === undefined) return undefined;
  const { receipt, ...proof } = row;
  return { ...(JSON.parse(receipt) as Receipt), proof };
};

/** Puts receipts back that a store has lost which was set back. */
export const restoreReceipts = async (db: Queryable, receipts: readonly LoggedReceipt[]): Promise<void> => {
  for (const receipt of receipts) await insertReceipt(db, receipt);
};

const insertReceipt = async (db: Queryable, receipt: LoggedReceipt): Promise<void> => {
  await db.query(
    `INSERT INTO erasure_receipts (receipt_id, receipt, key_id, previous_digest, digest)
     OVERRIDING SYSTEM VALUE VALUES ($1, $2, $3, $4, $5) ON CONFLICT (receipt_id) DO NOTHING`,
    [receipt.receipt_id, receipt.receipt, receipt.key_id, receipt.previous_digest, receipt.digest],
  );
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
