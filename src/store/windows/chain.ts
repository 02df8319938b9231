/**
 * Chains of signed entries. Without the keys, a writer of the store cannot change an entry unnoticed. A file outside
 * the store has the newest entry of each chain, which reveals a cut tail.
 */
import { createHash, createHmac, createPrivateKey, createPublicKey, hkdfSync, type KeyObject, sign } from 'node:crypto';
import { mkdir, readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { transient } from '../../lib/errors.ts';
import { passable, replaceFile } from '../../lib/new-folder.ts';
import { type Database, lockName, type Transaction } from '../../postgres/database.ts';

/** Bytes before the 32 bytes of an Ed25519 key in its DER form (RFC 8410). */
const derPrefix = Buffer.from('302e020100300506032b657004220420', 'hex');

/** From the secret, so that an installation has no other to keep. */
const openKeyOf = (secret: Buffer): KeyObject => {
  const seed = Buffer.from(hkdfSync('sha256', secret, '', 'callsync receipts', 32));
  return createPrivateKey({ key: Buffer.concat([derPrefix, seed]), format: 'der', type: 'pkcs8' });
};

export type ProofKeys = ReturnType<typeof createProofKeys>;

/**
 * @param current at least 16 random bytes, as the former ones, which only verify.
 */
export const createProofKeys = (current: Buffer, ...former: readonly Buffer[]) => {
  const byId = new Map([current, ...former].map((secret) => [keyIdOf(secret), secret]));
  const by = (signed: (secret: Buffer, text: string) => Buffer) => (keyId: string, text: string) => {
    const secret = byId.get(keyId);
    return secret && signed(secret, text).toString('hex');
  };
  return {
    /** Id of the key that signs new entries. */
    currentId: keyIdOf(current),
    /** HMAC-SHA-256 (hex) of a text; undefined for the id of a key that is not configured. */
    sign: by((secret, text) => createHmac('sha256', secret).update(text).digest()),
    /** Ed25519 signature (hex) of a text, which anyone with the public key can check; undefined as for `sign`. */
    signOpenly: by((secret, text) => sign(null, Buffer.from(text), openKeyOf(secret))),
    /** The public key of `signOpenly` under the current key, as PEM. */
    publicKey: createPublicKey(openKeyOf(current)).export({ format: 'pem', type: 'spki' }).toString(),
  };
};

/** The first 16 hex digits of the key's SHA-256: tells keys apart and gives none away. */
const keyIdOf = (secret: Buffer): string => createHash('sha256').update(secret).digest('hex').slice(0, 16);

/** A restored ledger begins a new chain, under its new epoch. */
type ChainHead = Readonly<Record<'warehouse' | 'digest', string> & Record<'ledger_epoch' | 'verdict_id', number>>;

/** The heads in the file; none where there is no file. @throws CallsyncError PROOF_HEADS */
export const readChainHeads = async (path: string): Promise<readonly ChainHead[]> => {
  try {
    const heads: unknown = JSON.parse(await readFile(path, 'utf8'));
    return Array.isArray(heads) ? heads.filter(isHead) : [];
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return [];
    throw transient('PROOF_HEADS', `The heads of the proof chain cannot be read: ${path}.`, {
      hint: 'Restore the file from a backup, or remove it; the heads in the warehouses stay.',
      cause,
    });
  }
};

/**
 * Replaces earlier heads of a warehouse, unless the file has a later one of this epoch; of several hosts one at a time. A head that
 * is gone from its chain stays: a new one would hide that the end was cut. @throws CallsyncError PROOF_HEADS
 */
export const recordChainHead = (db: Database, path: string, head: ChainHead): Promise<void> =>
  db.transaction(async (tx) => {
    await lockName(tx, 'callsync.chain_heads');
    const { warehouse, ledger_epoch, verdict_id, digest } = head;
    const heads = await readChainHeads(path);
    const isOwn = (one: ChainHead) => one.warehouse === warehouse && one.verdict_id <= verdict_id;
    if (heads.some((one) => one.warehouse === warehouse && one.ledger_epoch === ledger_epoch && !isOwn(one))) return;
    const ids = heads.filter(isOwn).map((one) => one.verdict_id);
    const followed = await tx.column<string>`SELECT digest FROM verdicts WHERE verdict_id = ANY(${ids})
        UNION SELECT digest FROM erasure_receipts WHERE receipt_id = ANY(${ids})
        UNION SELECT value #>> '{}' FROM meta WHERE starts_with(key, 'verdicts_after:')`;
    const others = heads.filter((one) => !isOwn(one) || !followed.includes(one.digest));
    const next = [...others, { warehouse, ledger_epoch, verdict_id, digest }];
    const text = `${JSON.stringify(next, null, 1)}\n`;
    try {
      await mkdir(dirname(path), passable);
      await replaceFile(path, text);
      if ((await readFile(path, 'utf8')) !== text) throw new Error('Another process has replaced the file.');
    } catch (cause) {
      throw transient('PROOF_HEADS', `The head of the proof chain cannot be written: ${path}.`, {
        hint: 'Let the user that runs callsync write the folder.',
        cause,
      });
    }
  });

const isHead = (value: unknown): value is ChainHead => {
  const head = value as Partial<ChainHead> | null;
  return typeof head?.warehouse === 'string' && typeof head.verdict_id === 'number' && typeof head.digest === 'string';
};

export type ChainCheck = Awaited<ReturnType<typeof checkChain>>;

export interface ChainEntry {
  readonly id: number;
  readonly previous: string | null;
  readonly digest: string;
  /** As recomputed; undefined where its key is not configured. */
  readonly expected: string | undefined;
}

/** Checks the digests of a chain, oldest first. */
export const checkChain = async (
  heads: readonly ChainHead[],
  name: string,
  entries: AsyncIterable<ChainEntry> | Iterable<ChainEntry>,
  /** Digest of the last entry that has expired. */
  expired: string | null,
) => {
  const broken: number[] = [];
  let count = 0;
  let head = expired;
  const unseen = new Map(heads.filter((one) => one.warehouse === name).map((one) => [one.digest, one]));
  for await (const { id, previous, digest, expected } of entries) {
    count += 1;
    if (previous !== head || expected !== digest) broken.push(id);
    head = digest;
    unseen.delete(digest);
  }
  return { warehouse: name, verdicts: count, broken, cut: [...unseen.values()], head };
};

/** Writers of a chain, and withdrawals of its proof, hold this lock until the end of the transaction. */
export const lockChain = (tx: Transaction, warehouse: string): Promise<unknown> =>
  lockName(tx, `callsync.verdicts:${warehouse}`);
