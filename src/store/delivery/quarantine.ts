/** Records that could not become observations, with their bytes, until somebody replays or drops them. */
import { createHash } from 'node:crypto';
import type { RejectedRecord } from '../../../schemas/observation.ts';
import { isSealed } from '../../lib/sealed.ts';
import type { Database, Queryable, Sql, Transaction } from '../../postgres/database.ts';
import { columnTypes, raw, sql, unnest } from '../../postgres/database.ts';
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
  const rows = sorted.map(({ record: { subjects, ...record }, hash }, position) => {
    const index = subjects && arrayText(subjects.hashes);
    return { ...record, hash, index, version: subjects?.version, callId: callIdIn(record.body), position };
  });
  await db.query`INSERT INTO quarantine (source, origin, reason, body, received_at, body_hash, subjects, subjects_version, call_id)
     SELECT u.source, u.origin, u.reason, u.body, "receivedAt", hash, index::bytea[], version, "callId"
       FROM ${unnest(rows, quarantinedTypes)} LEFT JOIN quarantine q ON q.source = u.source AND q.body_hash = u.hash
      ORDER BY q.id NULLS LAST, position
     ON CONFLICT (source, body_hash) DO UPDATE SET reason = excluded.reason, settled_at = NULL, state = 'open'
      WHERE quarantine.state <> 'dropped'`;
};

const quarantinedTypes = {
  ...columnTypes('text', 'source', 'origin', 'reason', 'index', 'callId'),
  ...columnTypes('bytea', 'body', 'hash'),
  ...columnTypes('int', 'version', 'position'),
  receivedAt: 'timestamptz',
};

/** The call to which a broken record seems to belong. The later outcome of that call shows whether the record is still needed. */
const callIdIn = (body: Buffer): string | null => {
  const [, id] = /"unique_id"\s*:\s*"([^"\\]+)"/.exec(body.toString('utf8', 0, 65_536)) ?? [];
  return id === undefined || id.includes('\0') ? null : id;
};

/** Entries without their bytes, newest first; 50 by default. */
export const listQuarantine = async (db: Queryable, filter: { state?: string; limit?: number } = {}) =>
  await db.query<QuarantineEntry>`SELECT id, source, origin, reason, octet_length(body) AS bytes, received_at AS "receivedAt", state
       FROM quarantine WHERE state = coalesce(${filter.state}, state) ORDER BY id DESC LIMIT ${filter.limit ?? 50}`;

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
  { after, ids, limit }: { readonly after: number; readonly ids?: readonly number[]; readonly limit: number },
): Promise<QuarantinedRecord[]> => {
  const chosen = ids === undefined ? sql`true` : sql`id = ANY(${ids})`;
  const open = sql`SELECT * FROM quarantine WHERE state = 'open' AND id > ${after} AND ${chosen} ORDER BY id LIMIT ${limit}`;
  const rows = await db.query<QuarantinedRecord['record'] & Omit<QuarantinedRecord, 'record'>>`
      SELECT q.id, q.source, q.origin, q.reason, q.body, q.received_at AS "receivedAt", i.delivery_id AS "deliveryId", q.body_hash AS "bodyHash"
       FROM (${firstBodiesSql(open, sql`id`, batchBytes)}) q
       LEFT JOIN inbox i ON i.seq = CASE WHEN q.source = 'webhook' THEN substring(q.origin FROM '^inbox:([0-9]+)$')::bigint END
      ORDER BY q.id`;
  return rows.map(({ id, deliveryId, ...record }) => ({ id, record, deliveryId }));
};

/** One entry with its bytes; undefined if the id is unknown. */
export const readQuarantine = (db: Queryable, id: number) =>
  db.row<(QuarantineEntry & { readonly body: Buffer }) | undefined>`
      SELECT id, source, origin, reason, octet_length(body) AS bytes, received_at AS "receivedAt", state, body
       FROM quarantine WHERE id = ${id}`;

/**
 * Locks those entries that are still open and have bytes. Skips entries that an erasure or another session takes
 * meanwhile.
 */
export const lockOpen = (tx: Transaction, ids: readonly number[]): Promise<readonly number[]> =>
  lockRows(tx, 'quarantine', sql`id = ANY(${ids}) AND state = 'open' AND octet_length(body) > 0`);

/** Marks entries as replayed or dropped; returns how many were open. */
export const settleQuarantine = (db: Database, ids: readonly number[], state: 'replayed' | 'dropped') =>
  db.transaction(async (tx) => {
    const open = await lockRows(tx, 'quarantine', sql`id = ANY(${ids}) AND state = 'open'`);
    await tx.query`UPDATE quarantine SET state = ${state}, settled_at = now() WHERE id = ANY(${open})`;
    return open.length;
  });

/**
 * Limits rows, in the order of a key, to a sum of bytes of their bodies; the first row always comes.
 * @param rows SELECT of `body`, the key and other columns; its number of rows is bounded, because all bodies are
 * measured
 */
export const firstBodiesSql = (rows: Sql, key: Sql, bytes: number): Sql =>
  sql`SELECT * FROM (SELECT *, sum(octet_length(body)) OVER (ORDER BY ${key}) AS bytes, row_number() OVER (ORDER BY ${key}) AS position
                    FROM (${rows}) r) m WHERE bytes <= ${bytes} OR position = 1`;

const keys = { inbox: sql`seq`, quarantine: sql`id`, websocket_frames: sql`id` };

/**
 * Locks rows in the order of their keys. An UPDATE locks rows in any order, so two updates of the same rows can
 * deadlock.
 * @param where condition on the table's columns.
 */
export const lockRows = async (tx: Transaction, table: keyof typeof keys, where: Sql) =>
  await tx.column<number>`SELECT ${keys[table]} AS key FROM ${raw(table)} WHERE ${where} ORDER BY ${keys[table]} FOR UPDATE`;

type StoredFrame = { readonly session: string; readonly receivedAt: Date; readonly binary: boolean; body: Buffer };

/**
 * Stores one frame with its bytes as they came. `session` is one run of `callsync frames`, and the number of the
 * connection within it.
 */
export const storeFrame = async (db: Queryable, { session, receivedAt, binary, body }: StoredFrame): Promise<void> => {
  await db.query`INSERT INTO websocket_frames (session, received_at, is_binary, body) VALUES (${session}, ${receivedAt}, ${binary}, ${body})`;
};

type Admitted = { readonly body: Buffer; readonly bodyHash: Buffer };

type Rewrite = (held: Admitted) => Admitted;

/**
 * Works row by row: several locked rows can deadlock with an erasure that holds a call. With a version, marks
 * unchanged rows too. Returns the number of changed rows.
 */
const rewriteBytes = async (db: Database, table: 'inbox' | 'quarantine', rewrite: Rewrite, version?: string) => {
  const [name, key] = [raw(table), keys[table]];
  const held = sql`octet_length(body) > 0 AND ${version === undefined ? sql`true` : sql`privacy_version IS DISTINCT FROM ${version}`}`;
  const noted = table === 'inbox' ? sql`privacy_version = coalesce(${version}, privacy_version)` : sql`call_id = NULL`;
  let changed = 0;
  for (const one of await db.column<number>`SELECT ${key} FROM ${name} WHERE ${held} ORDER BY ${key}`) {
    const isChanged = await db.transaction(async (tx) => {
      const before = await tx.row<Admitted | undefined>`
          SELECT body, body_hash AS "bodyHash" FROM ${name} WHERE ${key} = ${one} AND ${held} FOR UPDATE`;
      if (before === undefined) return false;
      const { body, bodyHash } = rewrite(before);
      const isSame = body.equals(before.body);
      if (!isSame || version !== undefined)
        await tx.query`UPDATE ${name} SET body = ${body}, body_hash = ${bodyHash}, ${noted} WHERE ${key} = ${one}`;
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
  rewriteBytes(
    db,
    'inbox',
    ({ body, bodyHash }) => {
      if (isSealed(body)) return { body, bodyHash };
      const admitted = admit(body);
      const isRaw = createHash('sha256').update(body).digest().equals(bodyHash);
      return isRaw ? admitted : { body: admitted.body, bodyHash };
    },
    version,
  );

/** @param seal makes the stored form of unreadable bytes; their hash stays, to recognise them again */
export const sealQuarantine = (db: Database, seal: (body: Buffer) => Buffer): Promise<number> =>
  rewriteBytes(db, 'quarantine', ({ body, bodyHash }) => ({ body: seal(body), bodyHash }));
