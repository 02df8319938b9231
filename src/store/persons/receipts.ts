/**
 * Erasures that wait for warehouses, even after their command ended, and the receipts of finished ones. Receipts form
 * a chain like verdicts, under the same keys and with the head in the same file.
 */
import { type KeyLike, randomBytes, verify } from 'node:crypto';
import { lockName, type Queryable, type Transaction } from '../../postgres/database.ts';
import type { LoggedReceipt } from '../erasure-log.ts';
import { tombstonesBefore } from '../loads/loads.ts';
import { concernedWarehouses } from '../loads/warehouses.ts';
import type { Store } from '../store.ts';
import { type ChainCheck, checkChain, type ProofKeys, readChainHeads, recordChainHead } from '../windows/chain.ts';
import { type Purged, sumPurged } from './texts.ts';

/** The place of a receipt in the chain. */
export type ReceiptProof = Omit<LoggedReceipt, 'receipt'>;

/** No warehouse can have this name. */
const receiptChain = '(erasures)';

type Linked = Omit<ReceiptProof, 'digest'>;

const signedText = ({ receipt_id, key_id, previous_digest }: Linked, receipt: string): string =>
  JSON.stringify([receiptChain, receipt_id, key_id, previous_digest, receipt]);

const sign = (keys: ProofKeys, linked: Linked, receipt: string): string | undefined =>
  keys.signOpenly(linked.key_id, signedText(linked, receipt));

/** Whether the holder of a public key signed a printed receipt. Needs no secret. @throws Error for an invalid key */
export const isSigned = ({ proof, ...receipt }: { readonly proof: ReceiptProof }, publicKey: KeyLike): boolean => {
  const text = Buffer.from(signedText(proof, JSON.stringify(receipt)));
  return verify(null, text, publicKey, Buffer.from(proof.digest, 'hex'));
};

/** Adds a receipt to the chain, and its digest to the heads outside the store. @throws CallsyncError PROOF_HEADS, DATABASE_… */
export const addReceipt = async (store: Store, receipt: unknown): Promise<ReceiptProof> => {
  const { proof, log } = store.erasures;
  const text = JSON.stringify(receipt);
  const added = await store.transaction(async (tx): Promise<ReceiptProof> => {
    await lockName(tx, 'callsync.erasure_receipts');
    // Not from the sequence, because a restore sets it back.
    const next = await tx.row<Omit<Linked, 'key_id'>>`SELECT coalesce(max(receipt_id), 0) + 1 AS receipt_id,
            (SELECT digest FROM erasure_receipts ORDER BY receipt_id DESC LIMIT 1) AS previous_digest FROM erasure_receipts`;
    const linked = { ...next, key_id: proof.keys.currentId };
    const digest = sign(proof.keys, linked, text) as string;
    await insertReceipt(tx, { ...linked, receipt: text, digest });
    return { ...linked, digest };
  });
  await log.append(store, [{ receipt: { ...added, receipt: text } }]);
  const { receipt_id: verdict_id, digest } = added;
  const head = { warehouse: receiptChain, ledger_epoch: await store.epoch(), verdict_id, digest };
  await recordChainHead(store, proof.headsFile, head);
  return added;
};

/** The receipt of a request to erase, as it was signed, with its place in the chain; undefined where none is signed. */
export const findReceipt = async <Receipt extends object>(db: Queryable, requestId: string) => {
  const [row] = await db.query<ReceiptProof & { receipt: string }>`
      SELECT receipt, receipt_id, key_id, digest, previous_digest FROM erasure_receipts
      WHERE receipt::jsonb ->> 'requestId' = ${requestId}`;
  if (row === undefined) return undefined;
  const { receipt, ...proof } = row;
  return { ...(JSON.parse(receipt) as Receipt), proof };
};

/** Restores receipts that a restored store has lost. */
export const restoreReceipts = async (db: Queryable, receipts: readonly LoggedReceipt[]): Promise<void> => {
  for (const receipt of receipts) await insertReceipt(db, receipt);
};

const insertReceipt = (db: Queryable, receipt: LoggedReceipt): Promise<unknown> =>
  db.query`INSERT INTO erasure_receipts (receipt_id, receipt, key_id, previous_digest, digest)
     OVERRIDING SYSTEM VALUE VALUES (${receipt.receipt_id}, ${receipt.receipt}, ${receipt.key_id}, ${receipt.previous_digest}, ${receipt.digest}) ON CONFLICT (receipt_id) DO NOTHING`;

/** Recomputes the chain: `verdicts` counts its receipts, and `broken` has their ids. */
export const verifyReceipts = async (store: Store): Promise<ChainCheck> => {
  const { keys, headsFile } = store.erasures.proof;
  const rows = await store.query<ReceiptProof & { receipt: string }>`
      SELECT receipt_id, receipt, key_id, previous_digest, digest FROM erasure_receipts ORDER BY receipt_id`;
  const entries = rows.map((row) => ({
    id: row.receipt_id,
    previous: row.previous_digest,
    digest: row.digest,
    expected: sign(keys, row, row.receipt),
  }));
  return await checkChain(await readChainHeads(headsFile), receiptChain, entries, null);
};

export interface OpenErasure<Draft> {
  /** The receipt so far; nothing in it names the person. */
  readonly draft: Draft;
  /** Requested calls; those without a hold become tombstones. */
  readonly callIds: readonly string[];
  /** As `SubjectIndex` has them. */
  readonly subjects: readonly string[];
  readonly openedAt: Date;
}

/** Returns the name of the erasure. */
export const openErasure = async (db: Queryable, open: Omit<OpenErasure<object>, 'openedAt'>): Promise<string> => {
  const requestId = randomBytes(8).toString('hex');
  await db.query`INSERT INTO erasure_requests (request_id, draft, call_ids, subjects)
     VALUES (${requestId}, ${JSON.stringify(open.draft)}, ${open.callIds}, ${open.subjects})`;
  return requestId;
};

/** Undefined where there is none, or its receipt is signed. */
export const readOpenErasure = <Draft>(db: Queryable, requestId: string) =>
  db.row<OpenErasure<Draft> | undefined>`
      SELECT draft, call_ids AS "callIds", subjects, opened_at AS "openedAt" FROM erasure_requests WHERE request_id = ${requestId}`;

/** Erasures that have waited for an hour. */
export const listOldErasures = (db: Queryable): Promise<string[]> =>
  db.column`SELECT request_id AS id FROM erasure_requests WHERE opened_at < now() - interval '1 hour' ORDER BY opened_at`;

/**
 * Records progress in the same transaction, because the process may be killed. @param change of the request as
 * it is now
 */
export const changeErasure = async <Draft>(
  tx: Transaction,
  requestId: string,
  change: (open: OpenErasure<Draft>) => Partial<Pick<OpenErasure<Draft>, 'callIds' | 'draft'>>,
): Promise<void> => {
  await tx.query`SELECT FROM erasure_requests WHERE request_id = ${requestId} FOR UPDATE`;
  const open = await readOpenErasure<Draft>(tx, requestId);
  if (open === undefined) return;
  const { draft, callIds } = { ...open, ...change(open) };
  await tx.query`UPDATE erasure_requests SET draft = ${JSON.stringify(draft)}, call_ids = ${callIds}
     WHERE request_id = ${requestId}`;
};

/** Adds to the counts of the receipt, in the transaction that erases. */
export const notePurged =
  (requestId: string) =>
  (tx: Transaction, purged: Partial<Purged>, erased = 0): Promise<void> =>
    changeErasure<{ readonly erased: number; readonly purged: Purged }>(tx, requestId, ({ draft }) => ({
      draft: { ...draft, erased: draft.erased + erased, purged: sumPurged(draft.purged, purged) },
    }));

/** Ends an erasure whose receipt is signed. */
export const closeErasure = (db: Queryable, requestId: string): Promise<unknown> =>
  db.query`DELETE FROM erasure_requests WHERE request_id = ${requestId}`;

/**
 * Counts data of erased calls that is still in the store. @param alive calls that should be gone, by the index of
 * subjects.
 */
export const countLeft = (db: Queryable, callIds: readonly string[], alive: readonly string[]) =>
  db.row<{ calls: number; documents: number; inbox: number; rereads: number }>`
      SELECT (SELECT count(*)::int FROM ledger WHERE call_id = ANY(${alive}) AND NOT tombstone) AS calls,
            (SELECT count(*)::int FROM ledger_documents WHERE call_id = ANY(${alive})) AS documents,
            (SELECT count(*)::int FROM inbox WHERE call_id = ANY(${callIds})) AS inbox,
            (SELECT count(*)::int FROM rereads WHERE call_id = ANY(${callIds})) AS rereads`;

/**
 * By warehouse, also those that only other workers know, the dates of all calls that were ever sent, and the number of unsent tombstones.
 * Includes tombstones of earlier erasures. A walk in progress counts as one.
 */
export const readSent = async (
  db: Queryable,
  request: Pick<OpenErasure<unknown>, 'callIds' | 'openedAt'> & { readonly warehouses: readonly string[] },
) => {
  const { warehouses, callIds, openedAt } = request;
  const rows = await db.query<{ warehouse: string; waiting: number; dates: (string | null)[] }>`
      SELECT name AS warehouse,
            (SELECT count(*)::int FROM (
               SELECT call_id FROM warehouse_calls WHERE warehouse = name AND pending AND call_id = ANY(${callIds})
               UNION
               SELECT call_id FROM warehouse_calls WHERE warehouse = name AND pending AND ${tombstonesBefore(openedAt)}) AS t)
            + (SELECT count(*)::int FROM warehouses w WHERE w.name = n.name AND walk_after IS NOT NULL) AS waiting,
            (SELECT coalesce(array_agg(DISTINCT date::text), '{}') FROM warehouse_calls, unnest(partitions) AS date
              WHERE warehouse = name AND call_id = ANY(${callIds}) AND date IS NOT NULL) AS dates
       FROM (SELECT unnest(${warehouses}::text[]) UNION ${concernedWarehouses}) AS n (name)`;
  return new Map(rows.map(({ warehouse, ...sent }) => [warehouse, sent]));
};
