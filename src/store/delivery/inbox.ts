/** The inbox's side of the merge: deliveries that wait, earlier ones with the same body, and outcomes. */

import { sourceRank } from '../../../schemas/observation.ts';
import { erasedPrefix, type Row, tableOf } from '../../../schemas/tables.ts';
import type { Database, Queryable, Transaction } from '../../postgres/database.ts';
import { toMicros, toTimestamp } from '../../postgres/sql-time.ts';
import { lockCalls } from '../ledger/ledger.ts';
import { concernedWarehouses } from '../loads/warehouses.ts';
import type { Delivery } from './inbox-writer.ts';
import { firstBodiesSql, lockRows } from './quarantine.ts';

export interface PendingDelivery extends Pick<Delivery, 'deliveryId' | 'body' | 'bodyHash'> {
  readonly seq: number;
  /** Microseconds since the epoch. */
  readonly receivedAt: number;
  /** Version of the privacy rules that the body is under; null = none, or not known. */
  readonly privacyVersion: string | null;
}

export type EarlierBodies = Awaited<ReturnType<typeof findEarlierBodies>>;

type DeliveryOutcome = 'accepted' | 'duplicate' | 'repeat' | 'quarantined';

export interface SettledDelivery {
  readonly seq: number;
  readonly outcome: DeliveryOutcome;
  readonly callId: string | null;
  readonly reason: string | null;
}

/** Bytes of bodies that one batch may hold. */
const batchBytes = 32 * 1024 * 1024;

const lockPendingSql = `SELECT seq, delivery_id AS "deliveryId", body, body_hash AS "bodyHash",
       privacy_version AS "privacyVersion",
       ${toMicros('received_at')} AS "receivedAt"
  FROM inbox
 WHERE seq = ANY(ARRAY(SELECT seq FROM (${firstBodiesSql(
   `SELECT seq, body FROM inbox WHERE outcome = 'pending' ORDER BY seq LIMIT $1`,
   'seq',
   '$2',
 )}) p))
   AND outcome = 'pending'
 ORDER BY seq FOR UPDATE SKIP LOCKED`;

/**
 * The oldest waiting deliveries, locked, with known outcomes of their bodies. Deliveries that another transaction holds
 * stay with it. The array selects them once, not again for each row.
 */
export const lockPendingDeliveries = async (tx: Transaction, limit: number) => {
  const deliveries = await tx.query<PendingDelivery>(lockPendingSql, [limit, batchBytes]);
  return { deliveries, earlier: await findEarlierBodies(tx, deliveries) };
};

/**
 * Locks their hashes until the transaction ends. Of two merges with the same body, the second then sees the outcome of
 * the first.
 */
const findEarlierBodies = async (tx: Transaction, deliveries: readonly PendingDelivery[]) => {
  if (deliveries.length === 0) return { hashes: new Set(), retries: new Set() };
  const hashes = deliveries.map(({ bodyHash }) => bodyHash);
  await tx.query(
    `SELECT pg_advisory_xact_lock(hashtext('callsync.body'), key)
       FROM (SELECT DISTINCT hashtext(encode(hash, 'hex')) AS key FROM unnest($1::bytea[]) AS hash ORDER BY key) k`,
    [hashes],
  );
  const settled = `body_hash = d.hash AND outcome IN ('accepted', 'duplicate', 'repeat')`;
  const rows = await tx.query<{ seq: number; hash: string; retry: boolean }>(
    `SELECT seq, encode(hash, 'hex') AS hash,
            EXISTS (SELECT FROM inbox WHERE ${settled} AND delivery_id = d.id) AS retry
       FROM unnest($1::bigint[], $2::bytea[], $3::text[]) AS d(seq, hash, id)
      WHERE EXISTS (SELECT FROM inbox WHERE ${settled})`,
    [deliveries.map(({ seq }) => seq), hashes, deliveries.map(({ deliveryId }) => deliveryId)],
  );
  return {
    /** Hashes (hex) of bodies that were settled before. */
    hashes: new Set(rows.map(({ hash }) => hash)),
    /** Deliveries (by `seq`) that were settled before under the same delivery id. */
    retries: new Set(rows.filter(({ retry }) => retry).map(({ seq }) => seq)),
  };
};

const settleSql = `WITH settled AS (
       UPDATE inbox i SET outcome = u.outcome, call_id = CASE WHEN l.tombstone THEN u.erased ELSE u.call_id END, reason = u.reason,
              revision = CASE WHEN u.outcome = 'accepted' AND u.call_id = ANY($6) THEN l.revision END,
              folded_at = now(), body = CASE WHEN u.outcome = 'accepted' AND l.tombstone IS NOT TRUE THEN i.body END
         FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[]) AS u(seq, outcome, call_id, reason, erased)
         LEFT JOIN ledger l ON l.call_id = u.call_id
        WHERE i.seq = u.seq RETURNING i.agent, i.signing_key, i.received_at)
     INSERT INTO delivery_senders SELECT agent, signing_key, count(*), min(received_at), max(received_at) FROM settled
      GROUP BY agent, signing_key`;

/**
 * Records the outcome of deliveries. Every registered warehouse still needs the outcome. Deliveries of `changed` calls
 * get the revision that they made. A body is stored once: with the folded delivery, or in quarantine. Deliveries of an
 * erased call have no body, and a keyed hash replaces the call id.
 */
export const settleDeliveries = async (
  tx: Transaction,
  settled: readonly SettledDelivery[],
  changed: readonly string[],
  keyOf: KeyOf,
): Promise<void> => {
  const seqs = settled.map((one) => one.seq);
  await tx.query(settleSql, [
    seqs,
    settled.map((one) => one.outcome),
    settled.map((one) => one.callId),
    settled.map((one) => one.reason),
    settled.map(({ callId }) => callId && erasedPrefix + keyOf(callId)),
    changed,
  ]);
  await tx.query(queueSql, [seqs]);
};

/** Keyed hash of a call id. */
type KeyOf = (callId: string) => string;

const queueSql = `INSERT INTO unloaded_deliveries (warehouse, rejected, seq)
     SELECT c.warehouse, false, seq FROM (${concernedWarehouses}) AS c, unnest($1::bigint[]) AS seq ORDER BY 1, 3
     ON CONFLICT DO NOTHING`;

/**
 * Settles quarantined deliveries that were folded since, and all with the same body; warehouses get their rows again. Locks calls
 * before deliveries, as erasures do, so that nobody erases a call meanwhile.
 */
export const settleReplayed = async (
  store: Database,
  replayed: readonly { readonly bodyHash: Buffer; readonly callId: string }[],
  keyOf: KeyOf,
): Promise<void> =>
  await store.transaction(async (tx) => {
    const ids = replayed.map(({ callId }) => callId);
    const erased = await lockCalls(tx, ids);
    const hashes = replayed.map(({ bodyHash }) => bodyHash);
    const settled = await lockRows(tx, 'inbox', `body_hash = ANY($1) AND outcome = 'quarantined'`, hashes);
    await tx.query(
      `UPDATE inbox i SET outcome = 'accepted', call_id = u.call_id, reason = 'replayed from quarantine'
         FROM unnest($1::bytea[], $2::text[]) AS u(hash, call_id)
        WHERE i.body_hash = u.hash AND i.seq = ANY($3)`,
      [hashes, ids.map((id) => (erased.has(id) ? erasedPrefix + keyOf(id) : id)), settled],
    );
    await tx.query(queueSql, [settled]);
  });

/** Asks for calls to be read again from the API, whose answer decides; not for erased ones. */
export const requestRereads = async (db: Queryable, callIds: readonly string[], reason: string): Promise<void> => {
  if (callIds.length === 0) return;
  const sql = `INSERT INTO rereads (call_id, reason) SELECT DISTINCT id COLLATE "C", $2 FROM unnest($1::text[]) AS id
      WHERE NOT EXISTS (SELECT FROM ledger l WHERE l.call_id = id AND l.tombstone) ORDER BY 1
     ON CONFLICT (call_id) DO UPDATE SET reason = excluded.reason, requested_at = clock_timestamp(), attempts = 0`;
  await db.query(sql, [callIds, reason]);
};

export interface Reread {
  readonly callId: string;
  /** Microseconds since the epoch. */
  readonly requestedAt: number;
}

/** Failed attempts after which callsync no longer asks for a call. */
const rereadAttempts = 10;

/** SQL of the requests that were given up. */
export const givenUpRereads = `attempts >= ${rereadAttempts}`;

/**
 * The calls to be read again, those with fewest attempts first, then the oldest requests. Requests that were given up are
 * left out.
 */
export const listRereads = async (db: Queryable, limit: number): Promise<Reread[]> =>
  await db.query<Reread>(
    `SELECT call_id AS "callId", ${toMicros('requested_at')} AS "requestedAt"
       FROM rereads WHERE NOT (${givenUpRereads}) ORDER BY attempts, requested_at LIMIT $1`,
    [limit],
  );

/**
 * Ends answered requests, counts vain attempts, and abandons requests that cannot be asked. A request that was renewed
 * since its listing stays, because the answer may be older. Rows are locked in the order of all other writers.
 */
export const settleRereads = async (
  db: Queryable,
  found: Partial<Record<'done' | 'missed' | 'unaskable', readonly Reread[]>>,
): Promise<void> => {
  const listed = `SELECT r.call_id FROM rereads r JOIN unnest($1::text[], $2::bigint[]) AS u(call_id, requested_at)
                      ON r.call_id = u.call_id AND ${toMicros('r.requested_at')} = u.requested_at
                   ORDER BY r.call_id FOR UPDATE OF r`;
  for (const [kind, action] of [
    ['done', 'DELETE FROM rereads'],
    ['missed', 'UPDATE rereads SET attempts = attempts + 1'],
    ['unaskable', `UPDATE rereads SET attempts = ${rereadAttempts}`],
  ] as const) {
    const requests = found[kind] ?? [];
    if (requests.length === 0) continue;
    await db.query(`${action} WHERE call_id = ANY(ARRAY(${listed}))`, [
      requests.map((one) => one.callId),
      requests.map((one) => one.requestedAt),
    ]);
  }
};

/** Ends abandoned requests that the list has answered since, later than the request by more than the clock skew. */
export const forgetAnswered = (db: Queryable): Promise<unknown> =>
  db.query(
    `DELETE FROM rereads r USING ledger l
      WHERE ${givenUpRereads} AND l.call_id = r.call_id AND (l.fields->'unique_id'->>1)::int = $1
        AND ${toTimestamp("(l.fields->'unique_id'->>0)")} > r.requested_at + interval '15 minutes'`,
    [sourceRank.poll],
  );

/**
 * Rows of the warehouse table `deliveries` that a warehouse does not have yet. Rejected ones come
 * last: they ride along with others, and no load is made for them.
 */
export const unloadedDeliveries = async (db: Queryable, warehouse: string, limit: number): Promise<Row[]> =>
  await db.query(
    `SELECT ${deliveryColumns.map(deliveryValue).join(', ')}
       FROM (SELECT seq, rejected FROM unloaded_deliveries WHERE warehouse = $1 ORDER BY rejected, seq LIMIT $2) u
       JOIN inbox USING (seq) LEFT JOIN (SELECT seq, visible_at FROM visible_deliveries WHERE warehouse = $1) v USING (seq)
      ORDER BY rejected, seq`,
    [warehouse, limit],
  );

const deliveryColumns = tableOf('deliveries').columns.map(({ name }) => name);

const deliveryValue = (name: string): string => {
  if (name.endsWith('_at')) return `${toMicros(name)} AS ${name}`;
  return name === 'arrival_id' ? `coalesce(arrival_id::text, 'seq:' || seq) AS ${name}` : name;
};

/** True if a row of the warehouse table is a rejected delivery. Rejected deliveries start no commit. */
export const isRejectedRow = ({ outcome }: Row): boolean => outcome === 'rejected';

/** Removes rows that a warehouse has from its queue; a row that changed meanwhile (its call was erased) stays. */
export const markDeliveriesLoaded = (db: Queryable, warehouse: string, rows: readonly Row[]): Promise<unknown> =>
  db.query(
    `DELETE FROM unloaded_deliveries d USING unnest($2::bigint[], $3::text[], $4::text[]) AS u(seq, outcome, call_id), inbox i
      WHERE d.warehouse = $1 AND d.seq = u.seq AND i.seq = u.seq
        AND i.outcome = u.outcome AND i.call_id IS NOT DISTINCT FROM u.call_id`,
    [warehouse, ...['seq', 'outcome', 'call_id'].map((name) => rows.map((row) => row[name]))],
  );
