/** The inbox's side of the merge: deliveries that wait, earlier ones with the same body, and outcomes. */

import { sourceRank } from '../../../schemas/observation.ts';
import { erasedPrefix, type Row, tableOf } from '../../../schemas/tables.ts';
import type { Database, Queryable, Transaction } from '../../postgres/database.ts';
import { raw, sql, toMicros, toTimestamp, unnest } from '../../postgres/database.ts';
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

export interface SettledDelivery {
  readonly seq: number;
  readonly outcome: 'accepted' | 'duplicate' | 'repeat' | 'quarantined';
  readonly callId: string | null;
  readonly reason: string | null;
}

/** Bytes of bodies that one batch may hold. */
const batchBytes = 32 * 1024 * 1024;

/**
 * The oldest waiting deliveries, locked, with known outcomes of their bodies. Deliveries that another transaction holds
 * stay with it. The array selects them once, not again for each row. A delivery without its body holds up no other.
 */
export const lockPendingDeliveries = async (tx: Transaction, limit: number) => {
  const waiting = sql`SELECT seq, body FROM inbox WHERE outcome = 'pending' ORDER BY seq LIMIT ${limit}`;
  const deliveries = await tx.query<PendingDelivery>`
      SELECT seq, delivery_id AS "deliveryId", coalesce(body, '') AS body, coalesce(body_hash, '') AS "bodyHash",
            privacy_version AS "privacyVersion", ${toMicros('received_at')} AS "receivedAt"
       FROM inbox WHERE seq = ANY(ARRAY(SELECT seq FROM (${firstBodiesSql(waiting, sql`seq`, batchBytes)}) p))
        AND outcome = 'pending' ORDER BY seq FOR UPDATE SKIP LOCKED`;
  return { deliveries, earlier: await findEarlierBodies(tx, deliveries) };
};

/**
 * Locks their hashes until the transaction ends. Of two merges with the same body, the second then sees the outcome of
 * the first. A delivery that was folded before comes back because its call has lost its document.
 */
const findEarlierBodies = async (tx: Transaction, deliveries: readonly PendingDelivery[]) => {
  if (deliveries.length === 0) return { hashes: new Set(), retries: new Set() };
  const hashes = deliveries.map(({ bodyHash }) => bodyHash);
  await tx.query`SELECT pg_advisory_xact_lock(hashtext('callsync.body'), key)
       FROM (SELECT DISTINCT hashtext(encode(hash, 'hex')) AS key FROM unnest(${hashes}::bytea[]) AS hash ORDER BY key) k`;
  const settled = sql`body_hash = u."bodyHash" AND outcome IN ('accepted', 'duplicate', 'repeat')`;
  const rows = await tx.query<{ seq: number; hash: string; retry: boolean }>`
      SELECT seq, encode("bodyHash", 'hex') AS hash, EXISTS (SELECT FROM inbox WHERE ${settled} AND delivery_id = "deliveryId") AS retry
       FROM ${unnest(deliveries, { seq: 'bigint', bodyHash: 'bytea', deliveryId: 'text' })}
      WHERE EXISTS (SELECT FROM inbox WHERE ${settled}) AND NOT EXISTS (SELECT FROM inbox i WHERE i.seq = u.seq AND i.folded_at IS NOT NULL)`;
  return {
    /** Hashes (hex) of bodies that were settled before. */
    hashes: new Set(rows.map(({ hash }) => hash)),
    /** Deliveries (by `seq`) that were settled before under the same delivery id. */
    retries: new Set(rows.filter(({ retry }) => retry).map(({ seq }) => seq)),
  };
};

/**
 * Records the outcome of deliveries. Every registered warehouse still needs the outcome. Deliveries of `changed` calls
 * get the revision that they made. A body is stored once: with the folded delivery, or in quarantine. Deliveries of an
 * erased call have no body, and a keyed hash replaces the call id. Deliveries that are folded again count once.
 */
export const settleDeliveries = async (
  tx: Transaction,
  settled: readonly SettledDelivery[],
  changed: readonly string[],
  keyOf: KeyOf,
): Promise<void> => {
  const types = { seq: 'bigint', outcome: 'text', callId: 'text', reason: 'text' } as const;
  const seqs = settled.map(({ seq }) => seq);
  // With the list beside the join, the server reads each page of the index once, and not once for each delivery.
  const erased = await tx.query<{ seq: number; callId: string }>`WITH settled AS (
       UPDATE inbox i SET outcome = u.outcome, call_id = CASE WHEN l.tombstone IS NOT TRUE THEN "callId" END, reason = u.reason,
              revision = CASE WHEN u.outcome = 'accepted' AND "callId" = ANY(${changed}) THEN l.revision END,
              folded_at = coalesce(i.folded_at, now()), body = CASE WHEN u.outcome = 'accepted' AND l.tombstone IS NOT TRUE THEN i.body END
         FROM ${unnest(settled, types)} LEFT JOIN ledger l ON l.call_id = "callId"
        WHERE i.seq = u.seq AND i.seq = ANY(${seqs})
       RETURNING i.seq, i.agent, i.signing_key, i.received_at, i.spooled, "callId", l.tombstone, i.folded_at = now() AS fresh),
     spool AS (INSERT INTO events (kind, what) SELECT 'spool', count(*) FROM settled WHERE spooled AND fresh HAVING count(*) > 0),
     queued AS (${queueSettled}),
     senders AS (INSERT INTO delivery_senders SELECT agent, signing_key, count(*), min(received_at), max(received_at)
                   FROM settled WHERE fresh GROUP BY agent, signing_key)
     SELECT seq, "callId" FROM settled WHERE tombstone`;
  if (erased.length === 0) return;
  const named = erased.map(({ seq, callId }) => ({ seq, callId: erasedPrefix + keyOf(callId) }));
  await tx.query`UPDATE inbox i SET call_id = "callId" FROM ${unnest(named, { seq: 'bigint', callId: 'text' })} WHERE i.seq = u.seq`;
};

type Replayed = { readonly bodyHash: Buffer; readonly callId: string };

/** Keyed hash of a call id. */
type KeyOf = (callId: string) => string;

/** SQL: every registered warehouse gets the rows of the deliveries in `settled`. */
export const queueSettled = sql`INSERT INTO unloaded_deliveries (warehouse, rejected, seq)
  SELECT c.warehouse, false, seq FROM (${concernedWarehouses}) AS c, settled ORDER BY 1, 3 ON CONFLICT DO NOTHING`;

/**
 * Settles quarantined deliveries that were folded since, and all with the same body; warehouses get their rows again. Locks calls
 * before deliveries, as erasures do, so that nobody erases a call meanwhile.
 */
export const settleReplayed = async (store: Database, replayed: readonly Replayed[], keyOf: KeyOf): Promise<void> =>
  await store.transaction(async (tx) => {
    const ids = replayed.map(({ callId }) => callId);
    const erased = await lockCalls(tx, ids);
    const named = replayed.map((one) =>
      erased.has(one.callId) ? { ...one, callId: erasedPrefix + keyOf(one.callId) } : one,
    );
    const hashes = replayed.map(({ bodyHash }) => bodyHash);
    const settled = await lockRows(tx, 'inbox', sql`body_hash = ANY(${hashes}) AND outcome = 'quarantined'`);
    await tx.query`WITH settled AS (
         UPDATE inbox i SET outcome = 'accepted', call_id = "callId", reason = 'replayed from quarantine'
           FROM ${unnest(named, { bodyHash: 'bytea', callId: 'text' })}
          WHERE body_hash = "bodyHash" AND seq = ANY(${settled}) RETURNING seq) ${queueSettled}`;
  });

/** Asks for calls to be read again from the API, whose answer decides; not for erased ones. */
export const requestRereads = async (db: Queryable, callIds: readonly string[], reason: string): Promise<void> => {
  if (callIds.length === 0) return;
  await db.query`INSERT INTO rereads (call_id, reason) SELECT DISTINCT id COLLATE "C", ${reason} FROM unnest(${callIds}::text[]) AS id
      WHERE NOT EXISTS (SELECT FROM ledger l WHERE l.call_id = id AND l.tombstone) ORDER BY 1
     ON CONFLICT (call_id) DO UPDATE SET reason = excluded.reason, requested_at = clock_timestamp(), attempts = 0`;
};

/** `requestedAt` = microseconds since the epoch. */
export type Reread = { readonly callId: string; readonly requestedAt: number };

/** Failed attempts after which callsync no longer asks for a call. */
const rereadAttempts = 10;

/** SQL of the requests that were given up. */
export const givenUpRereads = raw(`attempts >= ${rereadAttempts}`);

/**
 * The calls to be read again, those with fewest attempts first, then the oldest requests. Requests that were given up are
 * left out.
 */
export const listRereads = async (db: Queryable, limit: number): Promise<Reread[]> =>
  await db.query<Reread>`SELECT call_id AS "callId", ${toMicros('requested_at')} AS "requestedAt"
       FROM rereads WHERE NOT (${givenUpRereads}) ORDER BY attempts, requested_at LIMIT ${limit}`;

type AnsweredRereads = Partial<Record<'done' | 'missed' | 'unaskable', readonly Reread[]>>;

/**
 * Ends answered requests, counts vain attempts, and abandons requests that cannot be asked. A request that was renewed
 * since its listing stays, because the answer may be older. Rows are locked in the order of all other writers.
 */
export const settleRereads = async (db: Queryable, found: AnsweredRereads): Promise<void> => {
  for (const [kind, action] of [
    ['done', sql`DELETE FROM rereads`],
    ['missed', sql`UPDATE rereads SET attempts = attempts + 1`],
    ['unaskable', sql`UPDATE rereads SET attempts = ${rereadAttempts}`],
  ] as const)
    await db.query`${action} WHERE call_id = ANY(ARRAY(
        SELECT r.call_id FROM rereads r JOIN ${unnest(found[kind] ?? [], { callId: 'text', requestedAt: 'bigint' })}
            ON r.call_id = "callId" AND ${toMicros('r.requested_at')} IS NOT DISTINCT FROM "requestedAt" ORDER BY r.call_id FOR UPDATE OF r))`;
};

/** Ends abandoned requests that the list has answered since, later than the request by more than the clock skew. */
export const forgetAnswered = (db: Queryable): Promise<unknown> =>
  db.query`DELETE FROM rereads r USING ledger l
      WHERE ${givenUpRereads} AND l.call_id = r.call_id
        AND coalesce(to_jsonb(l.confirmed_rank), l.fields->'unique_id'->1) = to_jsonb(${sourceRank.poll}::int)
        AND coalesce(l.confirmed_at, ${toTimestamp(`jsonb_path_query_first(l.fields, '$.unique_id[0] ? (@.type() == "number")')`)}) > r.requested_at + interval '15 minutes'`;

/**
 * Rows of the warehouse table `deliveries` that a warehouse does not have yet. Rejected ones come
 * last: they ride along with others, and no load is made for them. The server looks up each row, as with `rowOfCall`.
 */
export const unloadedDeliveries = async (db: Queryable, warehouse: string, limit: number): Promise<Row[]> =>
  await db.query`SELECT ${raw(deliveryColumns.map(deliveryValue).join(', '))}
       FROM (SELECT seq AS place, rejected FROM unloaded_deliveries WHERE warehouse = ${warehouse} ORDER BY rejected, seq LIMIT ${limit}) u
      CROSS JOIN LATERAL (SELECT * FROM inbox WHERE seq = place LIMIT 1) i
       LEFT JOIN LATERAL (SELECT visible_at FROM visible_deliveries WHERE warehouse = ${warehouse} AND seq = place LIMIT 1) v ON true
      ORDER BY rejected, seq`;

const deliveryColumns = tableOf('deliveries').columns.map(({ name }) => name);

const deliveryValue = (name: string): string => {
  if (name.endsWith('_at')) return `${toMicros(name)} AS ${name}`;
  return name === 'arrival_id' ? `coalesce(arrival_id::text, 'seq:' || seq) AS ${name}` : name;
};

/** Removes rows that a warehouse has from its queue; a row that changed meanwhile (its call was erased) stays. */
export const markDeliveriesLoaded = (db: Queryable, warehouse: string, rows: readonly Row[]): Promise<unknown> =>
  db.query`DELETE FROM unloaded_deliveries d USING ${unnest(rows, { seq: 'bigint', outcome: 'text', call_id: 'text' })}, inbox i
      WHERE d.warehouse = ${warehouse} AND d.seq = u.seq AND i.seq = u.seq
        AND i.outcome = u.outcome AND i.call_id IS NOT DISTINCT FROM u.call_id`;
