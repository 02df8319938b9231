/** Records that could not become observations, with their bytes, until somebody replays or drops them. */
import { createHash } from 'node:crypto';
import type { RejectedRecord } from '../../../schemas/observation.ts';
import { isSealed } from '../../lib/sealed.ts';
import type { Database, Queryable, Transaction } from '../../postgres/database.ts';
import { columnsOf, readColumn, readRow } from '../../postgres/database.ts';
import { arrayText } from '../store.ts';

interface QuarantineEntry extends Pick<RejectedRecord, 'source' | 'origin' | 'reason' | 'receivedAt'> {
  readonly id: number;
  readonly bytes: number;
  readonly state: 'open' | 'replayed' | 'dropped';
}

export interface StoredText extends RejectedRecord {
  /** Subjects of the bytes, by an index of a version; absent if unknown. */
  readonly subjects?: { readonly hashes: readonly string[]; readonly version: number };
}

/**
 * Stores rejected records. The same bytes of a source are stored once, under their first origin. A dropped record
 * stays dropped; a replayed record that fails again is open again.
 */
export const quarantineRecords = async (db: Queryable, records: readonly StoredText[]): Promise<void> => {
  const distinct = new Map<string, { record: StoredText; hash: Buffer }>();
  for (const record of records) {
    const hash = record.bodyHash ?? createHash('sha256').update(record.body).digest();
    const key = `${record.source}:${hash.toString('hex')}`;
    if (!distinct.has(key)) distinct.set(key, { record, hash });
  }
  if (distinct.size === 0) return;
  // In one order: two readers that meet the same records must not wait for each other. Stored records come in the order
  // of their ids, as other code locks them.
  const sorted = [...distinct].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => one);
  const rows = sorted.map(({ record: { subjects, ...record }, hash }) => {
    const index = subjects === undefined ? null : arrayText(subjects.hashes);
    return { ...record, hash, index, version: subjects?.version ?? null, callId: callIdIn(record.body) };
  });
  await db.query(
    `INSERT INTO quarantine (source, origin, reason, body, received_at, body_hash, subjects, subjects_version, call_id)
     SELECT u.source, u.origin, u.reason, u.body, u.received_at, u.body_hash, u.subjects::bytea[], u.version, u.call_id
       FROM unnest($1::text[], $2::text[], $3::text[], $4::bytea[], $5::timestamptz[], $6::bytea[], $7::text[], $8::int[], $9::text[])
            WITH ORDINALITY AS u(source, origin, reason, body, received_at, body_hash, subjects, version, call_id, position)
       LEFT JOIN quarantine q ON q.source = u.source AND q.body_hash = u.body_hash
      ORDER BY q.id NULLS LAST, u.position
     ON CONFLICT (source, body_hash) DO UPDATE SET reason = excluded.reason, settled_at = NULL, state = 'open'
      WHERE quarantine.state <> 'dropped'`,
    columnsOf(rows, 'source', 'origin', 'reason', 'body', 'receivedAt', 'hash', 'index', 'version', 'callId'),
  );
};

/** The call to which a broken record seems to belong. The later outcome of that call shows whether the record is still needed. */
const callIdIn = (body: Buffer): string | null => {
  const [, id] = /"unique_id"\s*:\s*"([^"\\]+)"/.exec(body.toString('utf8', 0, 65_536)) ?? [];
  return id === undefined || id.includes('\0') ? null : id;
};

/** Entries without their bytes, newest first; 50 by default. */
export const listQuarantine = async (db: Queryable, filter: { state?: string; limit?: number } = {}) =>
  await db.query<QuarantineEntry>(
    `SELECT id, source, origin, reason, octet_length(body) AS bytes, received_at AS "receivedAt", state
       FROM quarantine WHERE $1::text IS NULL OR state = $1 ORDER BY id DESC LIMIT $2`,
    [filter.state ?? null, filter.limit ?? 50],
  );

export interface QuarantinedRecord {
  readonly id: number;
  readonly record: RejectedRecord & { readonly bodyHash: Buffer };
  /** Of the delivery that first brought it, as long as that is kept. */
  readonly deliveryId: string | null;
}

/** Bytes of bodies that one batch may hold. */
const batchBytes = 16 * 1024 * 1024;

/** The next open entries after an id, in order, with their bytes: bounded in number and size. */
export const readOpenBatch = async (
  db: Queryable,
  input: { readonly after: number; readonly ids?: readonly number[] | undefined; readonly limit: number },
): Promise<QuarantinedRecord[]> => {
  const rows = await db.query<QuarantinedRecord['record'] & Omit<QuarantinedRecord, 'record'>>(
    `SELECT q.id, q.source, q.origin, q.reason, q.body, q.received_at AS "receivedAt", i.delivery_id AS "deliveryId", q.body_hash AS "bodyHash"
       FROM (${firstBodiesSql(
         `SELECT * FROM quarantine
           WHERE state = 'open' AND id > $1 AND ($2::bigint[] IS NULL OR id = ANY($2)) ORDER BY id LIMIT $3`,
         'id',
         '$4',
       )}) q
       LEFT JOIN inbox i ON i.seq = CASE WHEN q.source = 'webhook' THEN substring(q.origin FROM '^inbox:([0-9]+)$')::bigint END
      ORDER BY q.id`,
    [input.after, input.ids ?? null, input.limit, batchBytes],
  );
  return rows.map(({ id, deliveryId, ...record }) => ({ id, record, deliveryId }));
};

/** One entry with its bytes; undefined if the id is unknown. */
export const readQuarantine = (db: Queryable, id: number) =>
  readRow<(QuarantineEntry & { readonly body: Buffer }) | undefined>(
    db,
    `SELECT id, source, origin, reason, octet_length(body) AS bytes, received_at AS "receivedAt", state, body
       FROM quarantine WHERE id = $1`,
    [id],
  );

/**
 * Locks those entries that are still open and have bytes. Skips entries that an erasure or another session takes
 * meanwhile.
 */
export const lockOpen = (tx: Transaction, ids: readonly number[]): Promise<readonly number[]> =>
  lockRows(tx, 'quarantine', `id = ANY($1) AND state = 'open' AND octet_length(body) > 0`, ids);

/** Marks entries as replayed or dropped; returns how many were open. */
export const settleQuarantine = (db: Database, ids: readonly number[], state: 'replayed' | 'dropped') =>
  db.transaction(async (tx) => {
    const open = await lockRows(tx, 'quarantine', `id = ANY($1) AND state = 'open'`, ids);
    await tx.query('UPDATE quarantine SET state = $2, settled_at = now() WHERE id = ANY($1)', [open, state]);
    return open.length;
  });

/**
 * Limits rows, in the order of a key, to a sum of bytes of their bodies; the first row always comes.
 * @param rows SELECT of `body`, the key and other columns; its number of rows is bounded, because all bodies are
 * measured
 * @param bytes the sum, as SQL.
 */
export const firstBodiesSql = (rows: string, key: 'id' | 'seq', bytes: string): string =>
  `SELECT * FROM (SELECT *, sum(octet_length(body)) OVER (ORDER BY ${key}) AS bytes, row_number() OVER (ORDER BY ${key}) AS position
                    FROM (${rows}) r) m WHERE bytes <= ${bytes} OR position = 1`;

const keys = { inbox: 'seq', quarantine: 'id', websocket_frames: 'id' } as const;

/**
 * Locks rows in the order of their keys. An UPDATE locks rows in any order, so two updates of the same rows can
 * deadlock.
 * @param where condition on the table's columns; `$1` holds `values`.
 */
export const lockRows = async (tx: Transaction, table: keyof typeof keys, where: string, values: readonly unknown[]) =>
  await readColumn<number>(
    tx,
    `SELECT ${keys[table]} AS key FROM ${table} WHERE ${where} ORDER BY ${keys[table]} FOR UPDATE`,
    [values],
  );

interface StoredFrame {
  /** One run of `callsync frames`, and the number of the connection within it. */
  readonly session: string;
  readonly receivedAt: Date;
  readonly binary: boolean;
  readonly body: Buffer;
}

/** Stores one frame with its bytes as they came. */
export const storeFrame = async (db: Queryable, { session, receivedAt, binary, body }: StoredFrame): Promise<void> => {
  const sql = 'INSERT INTO websocket_frames (session, received_at, is_binary, body) VALUES ($1, $2, $3, $4)';
  await db.query(sql, [session, receivedAt, binary, body]);
};

type Admitted = { readonly body: Buffer; readonly bodyHash: Buffer };

/** Statements on the stored bytes of a table: keys in order, bytes of a key, update. `version` is that of the rules. */
const heldBytes = {
  inbox: {
    keys: `SELECT seq FROM inbox WHERE octet_length(body) > 0 AND ($1::text IS NULL OR privacy_version IS DISTINCT FROM $1) ORDER BY seq`,
    read: `SELECT body, body_hash AS "bodyHash" FROM inbox
            WHERE seq = $1 AND octet_length(body) > 0 AND ($2::text IS NULL OR privacy_version IS DISTINCT FROM $2) FOR UPDATE`,
    write: 'UPDATE inbox SET body = $2, body_hash = $3, privacy_version = coalesce($4, privacy_version) WHERE seq = $1',
  },
  quarantine: {
    keys: 'SELECT id FROM quarantine WHERE octet_length(body) > 0 AND $1::text IS NULL ORDER BY id',
    read: `SELECT body, body_hash AS "bodyHash" FROM quarantine
            WHERE id = $1 AND octet_length(body) > 0 AND $2::text IS NULL FOR UPDATE`,
    write: 'UPDATE quarantine SET body = $2, body_hash = $3, call_id = NULL WHERE id = $1 AND $4::text IS NULL',
  },
} as const;

/**
 * Works row by row: several locked rows can deadlock with an erasure that holds a call. With a version, marks
 * unchanged rows too. Returns the number of changed rows.
 */
const rewriteBytes = async (
  db: Database,
  { keys, read, write }: (typeof heldBytes)[keyof typeof heldBytes],
  version: string | null,
  rewrite: (held: Admitted) => Admitted,
): Promise<number> => {
  let changed = 0;
  for (const key of await readColumn<number>(db, keys, [version])) {
    const isChanged = await db.transaction(async (tx) => {
      const [held] = await tx.query<Admitted>(read, [key, version]);
      if (held === undefined) return false;
      const { body, bodyHash } = rewrite(held);
      const isSame = body.equals(held.body);
      if (!isSame || version !== null) await tx.query(write, [key, body, bodyHash, version]);
      return !isSame;
    });
    changed += Number(isChanged);
  }
  return changed;
};

/**
 * @param admit makes the stored form of a raw body; a body that rules changed before keeps the hash of its raw bytes
 * @param version of the rules: bodies that are under them are passed over, others are under them then. Without one all
 * are looked at.
 */
export const resanitizeInbox = (db: Database, admit: (body: Buffer) => Admitted, version?: string): Promise<number> =>
  rewriteBytes(db, heldBytes.inbox, version ?? null, ({ body, bodyHash }) => {
    if (isSealed(body)) return { body, bodyHash };
    const admitted = admit(body);
    const isRaw = createHash('sha256').update(body).digest().equals(bodyHash);
    return isRaw ? admitted : { body: admitted.body, bodyHash };
  });

/** @param seal makes the stored form of unreadable bytes; their hash stays, to recognise them again */
export const sealQuarantine = (db: Database, seal: (body: Buffer) => Buffer): Promise<number> =>
  rewriteBytes(db, heldBytes.quarantine, null, ({ body, bodyHash }) => ({ body: seal(body), bodyHash }));
