/** The inbox's side of the merge: deliveries that wait, earlier ones with the same body, and outcomes. */

import { sourceRank } from '../../../schemas/observation.ts';
import type { Queryable, Transaction } from '../../postgres/database.ts';
import { toMicros, toTimestamp } from '../../postgres/sql-time.ts';
import { concernedWarehouses } from '../loads/warehouses.ts';

export interface PendingDelivery {
  readonly seq: number;
  readonly deliveryId: string | null;
  readonly hookId: string | null;
  readonly agent: string | null;
  /** Microseconds since the epoch. */
  readonly receivedAt: number;
  readonly body: Buffer;
  readonly bodyHash: Buffer;
}

export type DeliveryOutcome = 'accepted' | 'duplicate' | 'repeat' | 'quarantined';

export interface SettledDelivery {
  readonly seq: number;
  readonly outcome: DeliveryOutcome;
  readonly callId: string | null;
  readonly reason: string | null;
}

/** Bytes of bodies that one batch may hold. */
const batchBytes = 32 * 1024 * 1024;

/** The oldest waiting deliveries, locked; those that another transaction holds are left to it. */
export const lockPendingDeliveries = async (tx: Transaction, limit: number): Promise<PendingDelivery[]> =>
  await tx.query<PendingDelivery>(
    `SELECT seq, delivery_id AS "deliveryId", hook_id AS "hookId", agent, body, body_hash AS "bodyHash",
            ${toMicros('received_at')} AS "receivedAt"
       FROM inbox
      WHERE seq IN (SELECT seq FROM (
              SELECT seq, sum(octet_length(body)) OVER (ORDER BY seq) AS bytes, row_number() OVER (ORDER BY seq) AS position
                FROM (SELECT seq, body FROM inbox WHERE outcome = 'pending' ORDER BY seq LIMIT $1) p) q
             WHERE bytes <= $2 OR position = 1)
        AND outcome = 'pending'
      ORDER BY seq FOR UPDATE SKIP LOCKED`,
    [limit, batchBytes],
  );

/**
 * For each body hash, the delivery ids under which it was settled before. Holds the hashes until the transaction ends,
 * so that of two merges with the same body the second sees what the first made of it.
 */
export const findEarlierBodies = async (
  tx: Transaction,
  hashes: readonly Buffer[],
): Promise<ReadonlyMap<string, ReadonlySet<string | null>>> => {
  await tx.query(
    `SELECT pg_advisory_xact_lock(hashtext('callsync.body'), key)
       FROM (SELECT DISTINCT hashtext(encode(hash, 'hex')) AS key FROM unnest($1::bytea[]) AS hash ORDER BY key) k`,
    [hashes],
  );
  const rows = await tx.query<{ hash: string; ids: (string | null)[] }>(
    `SELECT encode(body_hash, 'hex') AS hash, array_agg(DISTINCT delivery_id) AS ids FROM inbox
      WHERE body_hash = ANY($1) AND outcome IN ('accepted', 'duplicate', 'repeat') GROUP BY body_hash`,
    [hashes],
  );
  return new Map(rows.map((row) => [row.hash, new Set(row.ids)]));
};

const settleSql = `UPDATE inbox i SET outcome = u.outcome, call_id = u.call_id, reason = u.reason, folded_at = now(),
            unloaded = ARRAY(${concernedWarehouses('$5')})
       FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[]) AS u(seq, outcome, call_id, reason)
      WHERE i.seq = u.seq`;

/** Records what became of deliveries; every warehouse then still has to be told, also one that only others configured. */
export const settleDeliveries = async (
  tx: Transaction,
  settled: readonly SettledDelivery[],
  warehouses: readonly string[],
): Promise<void> => {
  await tx.query(settleSql, [
    settled.map((one) => one.seq),
    settled.map((one) => one.outcome),
    settled.map((one) => one.callId),
    settled.map((one) => one.reason),
    warehouses,
  ]);
};

/** Deliveries that were quarantined and have been folded since; every warehouse is told again. */
export const settleReplayed = async (
  db: Queryable,
  replayed: readonly { readonly seq: number; readonly callId: string }[],
  warehouses: readonly string[],
): Promise<void> => {
  await db.query(
    `UPDATE inbox i SET outcome = 'accepted', call_id = u.call_id, reason = 'replayed from quarantine',
            unloaded = ARRAY(${concernedWarehouses('$3')})
       FROM unnest($1::bigint[], $2::text[]) AS u(seq, call_id) WHERE i.seq = u.seq AND i.outcome = 'quarantined'`,
    [replayed.map((one) => one.seq), replayed.map((one) => one.callId), warehouses],
  );
};

/** Asks for calls to be read again from the API, whose answer decides. */
export const requestRereads = async (db: Queryable, callIds: readonly string[], reason: string): Promise<void> => {
  if (callIds.length === 0) return;
  await db.query(
    `INSERT INTO rereads (call_id, reason) SELECT DISTINCT id COLLATE "C", $2 FROM unnest($1::text[]) AS id ORDER BY 1
     ON CONFLICT (call_id) DO UPDATE SET reason = excluded.reason, requested_at = clock_timestamp(), attempts = 0`,
    [callIds, reason],
  );
};

export interface Reread {
  readonly callId: string;
  /** Microseconds since the epoch. */
  readonly requestedAt: number;
}

/** After this many vain attempts a call is no longer asked for. */
const rereadAttempts = 10;

/** SQL of the requests that were given up. */
export const givenUpRereads = `attempts >= ${rereadAttempts}`;

export const listRereads = async (db: Queryable, limit: number): Promise<Reread[]> =>
  await db.query<Reread>(
    `SELECT call_id AS "callId", ${toMicros('requested_at')} AS "requestedAt"
       FROM rereads WHERE NOT (${givenUpRereads}) ORDER BY attempts, requested_at LIMIT $1`,
    [limit],
  );

/** Ends requests that were met. One that was made again since it was listed stays: the answer may be older than it. */
export const settleRereads = async (
  db: Queryable,
  done: readonly Reread[],
  failed: readonly Reread[],
): Promise<void> => {
  await db.query(
    `DELETE FROM rereads r USING unnest($1::text[], $2::bigint[]) AS u(call_id, requested_at)
      WHERE r.call_id = u.call_id AND ${toMicros('r.requested_at')} = u.requested_at`,
    [done.map((one) => one.callId), done.map((one) => one.requestedAt)],
  );
  await db.query('UPDATE rereads SET attempts = attempts + 1 WHERE call_id = ANY($1)', [
    failed.map((one) => one.callId),
  ]);
};

/**
 * Ends requests that were given up and have been answered since by a reading of the list, later than the request by more
 * than two clocks may differ.
 */
export const forgetAnswered = async (db: Queryable): Promise<void> => {
  await db.query(
    `DELETE FROM rereads r USING ledger l
      WHERE ${givenUpRereads} AND l.call_id = r.call_id AND (l.fields->'unique_id'->>1)::int = $1
        AND ${toTimestamp("(l.fields->'unique_id'->>0)")} > r.requested_at + interval '15 minutes'`,
    [sourceRank.poll],
  );
};

/** Rows of the warehouse table `deliveries` that a warehouse does not have yet, in its column order. */
export const unloadedDeliveries = async (
  db: Queryable,
  warehouse: string,
  limit: number,
): Promise<(readonly unknown[])[]> => {
  const rows = await db.query<{ row: unknown[] } & Record<string, unknown>>(
    `SELECT seq, delivery_id, hook_id, agent, ${toMicros('received_at')} AS received_at,
            signing_key, call_id, outcome, reason
       FROM inbox WHERE unloaded @> ARRAY[$1] AND unloaded <> '{}' ORDER BY seq LIMIT $2`,
    [warehouse, limit],
  );
  return rows.map((row) => [
    row.seq,
    row.delivery_id,
    row.hook_id,
    row.agent,
    row.received_at,
    row.signing_key,
    row.call_id,
    row.outcome,
    row.reason,
  ]);
};

export const markDeliveriesLoaded = async (
  db: Queryable,
  warehouse: string,
  seqs: readonly number[],
): Promise<void> => {
  await db.query('UPDATE inbox SET unloaded = array_remove(unloaded, $1) WHERE seq = ANY($2)', [warehouse, seqs]);
};

/** Deletes the bodies of settled deliveries after `days`; what they were stays. Returns how many. */
export const expireBodies = async (db: Queryable, days: number): Promise<number> => {
  const [row] = await db.query<{ n: number }>(
    `WITH expired AS (
       UPDATE inbox SET body = NULL WHERE body IS NOT NULL AND outcome <> 'pending'
          AND received_at < now() - make_interval(secs => $1 * 86400) RETURNING 1)
     SELECT count(*) AS n FROM expired`,
    [days],
  );
  return row?.n ?? 0;
};
