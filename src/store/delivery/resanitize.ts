/** Applies other privacy rules to the bytes that deliveries and quarantine still hold. */
import { createHash } from 'node:crypto';
import type { Database } from '../../postgres/database.ts';
import { isSealed } from '../../sealed.ts';

interface Admitted {
  readonly body: Buffer;
  readonly bodyHash: Buffer;
}

interface HeldBytes extends Admitted {
  readonly id: number;
}

/** Bodies in memory at once. */
const atOnce = 50;

/** Bodies of one table, batch by batch in the order of its key, each locked while it is looked at. Returns how many changed. */
const rewriteBytes = async (
  db: Database,
  {
    table,
    key,
    version,
  }: { readonly table: 'inbox' | 'quarantine'; readonly key: 'seq' | 'id'; readonly version?: string | undefined },
  rewrite: (held: HeldBytes) => Admitted,
): Promise<number> => {
  const isOther = version === undefined ? '' : 'AND privacy_version IS DISTINCT FROM $3';
  const marks = version === undefined ? '' : ', privacy_version = $4';
  const rules = version === undefined ? [] : [version];
  let changed = 0;
  for (let after = -1; ; ) {
    const last = await db.transaction(async (tx) => {
      const rows = await tx.query<HeldBytes>(
        `SELECT ${key} AS id, body, body_hash AS "bodyHash" FROM ${table}
          WHERE body IS NOT NULL AND octet_length(body) > 0 AND ${key} > $1 ${isOther} ORDER BY ${key} LIMIT $2 FOR UPDATE`,
        [after, atOnce, ...rules],
      );
      for (const row of rows) {
        const { body, bodyHash } = rewrite(row);
        const isSame = body.equals(row.body);
        if (isSame && version === undefined) continue;
        const values = [row.id, body, bodyHash, ...rules];
        await tx.query(`UPDATE ${table} SET body = $2, body_hash = $3${marks} WHERE ${key} = $1`, values);
        if (!isSame) changed += 1;
      }
      return rows.at(-1)?.id;
    });
    if (last === undefined) return changed;
    after = last;
  }
};

/**
 * @param admit what is stored of a raw body. A body that rules have changed before keeps the hash of its raw bytes.
 * @param version of the rules: bodies that are under them are passed over, others are under them then. Without one all are looked at.
 */
export const resanitizeInbox = (db: Database, admit: (body: Buffer) => Admitted, version?: string): Promise<number> =>
  rewriteBytes(db, { table: 'inbox', key: 'seq', version }, ({ body, bodyHash }) => {
    if (isSealed(body)) return { body, bodyHash };
    const admitted = admit(body);
    const isRaw = createHash('sha256').update(body).digest().equals(bodyHash);
    return isRaw ? admitted : { body: admitted.body, bodyHash };
  });

/** @param seal what is kept of bytes that could not be read. Their hash stays, by which they are known again. */
export const sealQuarantine = (db: Database, seal: (body: Buffer) => Buffer): Promise<number> =>
  rewriteBytes(db, { table: 'quarantine', key: 'id' }, ({ body, bodyHash }) => ({ body: seal(body), bodyHash }));
