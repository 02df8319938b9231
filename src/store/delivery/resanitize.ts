/** Applies other privacy rules to the bytes that deliveries and quarantine still hold. */
import { createHash } from 'node:crypto';
import { isSealed } from '../../lib/sealed.ts';
import type { Database } from '../../postgres/database.ts';

interface Admitted {
  readonly body: Buffer;
  readonly bodyHash: Buffer;
}

interface HeldBytes extends Admitted {
  readonly id: number;
}

/** Bodies in memory at once. */
const atOnce = 50;

/** Over the bytes of one table. Where it knows the rules of each, the last parameter is their version. */
interface Statements {
  /** Keys after a key, at most so many, in their order. */
  readonly list: string;
  /** Some of them, as they are now. */
  readonly read: string;
  /** By key: bytes and their hash. */
  readonly write: string;
}

const inboxBodies: Statements = {
  list: `SELECT seq AS id FROM inbox
          WHERE octet_length(body) > 0 AND seq > $1 AND ($3::text IS NULL OR privacy_version IS DISTINCT FROM $3)
          ORDER BY seq LIMIT $2`,
  read: `SELECT seq AS id, body, body_hash AS "bodyHash" FROM inbox
          WHERE octet_length(body) > 0 AND seq = ANY($1) AND ($2::text IS NULL OR privacy_version IS DISTINCT FROM $2)
          ORDER BY seq FOR UPDATE`,
  write: 'UPDATE inbox SET body = $2, body_hash = $3, privacy_version = coalesce($4, privacy_version) WHERE seq = $1',
};
const quarantinedBytes: Statements = {
  list: 'SELECT id FROM quarantine WHERE octet_length(body) > 0 AND id > $1 ORDER BY id LIMIT $2',
  read: `SELECT id, body, body_hash AS "bodyHash" FROM quarantine
          WHERE octet_length(body) > 0 AND id = ANY($1) ORDER BY id FOR UPDATE`,
  write: 'UPDATE quarantine SET body = $2, body_hash = $3, call_id = NULL WHERE id = $1',
};

/**
 * Batch by batch, each locked while it is looked at. What others have is waited for afterwards, row by row: who merges it may wait for a
 * call whose erasure waits for a row of the batch. Returns how many changed.
 */
const rewriteBytes = async (
  db: Database,
  { list, read, write }: Statements,
  /** The version of the rules, where the statements ask for it; with one, what did not change is marked too. */
  rules: readonly [] | readonly [string | null],
  rewrite: (held: HeldBytes) => Admitted,
): Promise<number> => {
  let changed = 0;
  /** Returns those that it has looked at. */
  const rewriteRows = (ids: readonly number[], wait: '' | ' SKIP LOCKED'): Promise<ReadonlySet<number>> =>
    db.transaction(async (tx) => {
      const rows = await tx.query<HeldBytes>(`${read}${wait}`, [ids, ...rules]);
      for (const row of rows) {
        const { body, bodyHash } = rewrite(row);
        const isSame = body.equals(row.body);
        if (isSame && (rules[0] ?? null) === null) continue;
        await tx.query(write, [row.id, body, bodyHash, ...rules]);
        if (!isSame) changed += 1;
      }
      return new Set(rows.map(({ id }) => id));
    });
  for (let after: number | undefined = -1; after !== undefined; ) {
    const ids: readonly number[] = (await db.query<{ id: number }>(list, [after, atOnce, ...rules])).map(
      ({ id }) => id,
    );
    const seen = ids.length === 0 ? new Set() : await rewriteRows(ids, ' SKIP LOCKED');
    for (const id of ids) if (!seen.has(id)) await rewriteRows([id], '');
    after = ids.at(-1);
  }
  return changed;
};

/**
 * @param admit what is stored of a raw body. A body that rules have changed before keeps the hash of its raw bytes.
 * @param version of the rules: bodies that are under them are passed over, others are under them then. Without one all are looked at.
 */
export const resanitizeInbox = (db: Database, admit: (body: Buffer) => Admitted, version?: string): Promise<number> =>
  rewriteBytes(db, inboxBodies, [version ?? null], ({ body, bodyHash }) => {
    if (isSealed(body)) return { body, bodyHash };
    const admitted = admit(body);
    const isRaw = createHash('sha256').update(body).digest().equals(bodyHash);
    return isRaw ? admitted : { body: admitted.body, bodyHash };
  });

/** @param seal what is kept of bytes that could not be read. Their hash stays, by which they are known again. */
export const sealQuarantine = (db: Database, seal: (body: Buffer) => Buffer): Promise<number> =>
  rewriteBytes(db, quarantinedBytes, [], ({ body, bodyHash }) => ({ body: seal(body), bodyHash }));
