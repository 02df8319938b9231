/**
 * Fingerprints of the keys that a store is used with. A process with another key would make tokens, seals, receipts and
 * tombstones that no other process knows: it is refused.
 */
import { terminal } from '../lib/errors.ts';
import { fingerprintOf } from '../lib/keyed-hash.ts';
import type { Database, Queryable } from '../postgres/database.ts';

export interface StoreKey {
  /** Its configuration key; of a key of tokens with its id behind it. */
  readonly name: string;
  readonly file: string;
  readonly bytes: Buffer;
  /** Keys before it: a store that was used with one of them takes this one as the next. */
  readonly former: readonly Buffer[];
  /** Of the error. */
  readonly code: 'PRIVACY_KEY' | 'PROOF_KEY' | 'SEAL_KEY' | 'TOMBSTONE_KEY';
}

/** Compares, and notes keys that are new. @throws CallsyncError as `StoreKey.code` has it */
export const joinKeys = (store: Database, keys: readonly StoreKey[]): Promise<void> =>
  store.transaction(async (tx) => {
    if ((await compareKeys(tx, keys)).length === 0) return;
    // Of two processes that start at once with different keys, one is refused.
    await tx.query(`SELECT pg_advisory_xact_lock(hashtext('callsync.token_keys'))`);
    const fresh = await compareKeys(tx, keys);
    await tx.query(
      'INSERT INTO token_keys (key_id, fingerprint) SELECT * FROM unnest($1::text[], $2::text[]) ON CONFLICT DO NOTHING',
      [fresh.map(({ name }) => name), fresh.map(({ bytes }) => fingerprintOf(bytes))],
    );
  });

/** @returns the keys that the store does not know yet. @throws CallsyncError as `StoreKey.code` has it */
export const compareKeys = async (db: Queryable, keys: readonly StoreKey[]): Promise<readonly StoreKey[]> => {
  const rows = await db.query<{ id: string; fingerprint: string }>(
    'SELECT key_id AS id, fingerprint FROM callsync.token_keys WHERE key_id = ANY($1)',
    [keys.map(({ name }) => name)],
  );
  return keys.filter(({ name, bytes, former, file, code }) => {
    const known = new Set(rows.flatMap(({ id, fingerprint }) => (id === name ? [fingerprint] : [])));
    if (known.has(fingerprintOf(bytes))) return false;
    if (known.size === 0 || former.some((one) => known.has(fingerprintOf(one)))) return true;
    throw terminal(code, `The key in ${file} (${name}) is not the one that this store is used with.`, {
      hint: `Replace ${file} by a copy of that file from a host whose workers run. After a change of the key, name the key before it as a former one.`,
    });
  });
};
