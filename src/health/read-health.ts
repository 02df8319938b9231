/**
 * The one reading of the store that page, metrics, notifications, `callsync status` and `callsync doctor` share. All of it
 * comes from counters or from one end of an index: it costs the same however many calls there are.
 */

import { dayMicros, nowMicros } from '../lib/timestamps.ts';
import type { Queryable } from '../postgres/database.ts';
import { givenUpRereads } from '../store/delivery/inbox.ts';
import { newestLoadedSql, pendingSql } from '../store/loads/loads.ts';
import { readCounters } from '../store/status/counters.ts';
import { isGood, isWithdrawn, latestVerdicts } from '../store/windows/verdicts.ts';
import { readToSql } from '../store/windows/windows.ts';
import type { WarehouseUsage } from '../warehouse/warehouse.ts';

export interface Waiting {
  readonly count: number;
  /** Seconds; null when nothing waits. */
  readonly oldestAge: number | null;
}

export interface WarehouseHealth {
  readonly name: string;
  /** Calls that the warehouse does not have in their present revision; all calls during a walk. */
  readonly pending: number;
  /** Seconds for which the oldest change has waited; a backlog has no age. Null when no change waits. */
  readonly liveOldestAge: number | null;
  /** The same for erasures. */
  readonly erasureOldestAge: number | null;
  /** Milliseconds since the epoch of the last committed load; null before the first. */
  readonly lastLoadAt: number | null;
  /** Code, message and next step of the error of the last load that has ended; null when it succeeded. */
  readonly lastError: string | null;
  /** Calls that the warehouse refuses alone, counted up to 10,000, and its words for one of them. */
  readonly refused: number;
  readonly refusal: string | null;
  /** Milliseconds since the epoch of the newest call in the warehouse; null if it has none of the newest. */
  readonly newestVisible: number | null;
  /** Calls of the loads that were committed in the last minute. */
  readonly loaded: number;
}

export type Health = Awaited<ReturnType<typeof readHealth>>;

/** Counts and ages in seconds that one statement reads. */
interface Figures {
  /** Milliseconds since the epoch, by the store's clock. */
  readonly at: number;
  readonly epoch: number;
  /** Legal holds. */
  readonly holds: number;
  readonly inboxAge: number | null;
  readonly quarantineAge: number | null;
  /** Calls that callsync reads again; counted up to 10,000. */
  readonly rereads: Waiting & { readonly unanswered: number };
  /** Windows that callsync read and could not show to be complete; counted up to 10,000. */
  readonly openProblems: number;
  /** Requests that were granted, or are already promised, within the span of the limit. */
  readonly grantedRequests: number;
  /** Deliveries of the last hour with a bad signature, since the last delivery that was let in. */
  readonly refused: { readonly count: number; readonly oldestAge: number | null; readonly newestAge: number | null };
  /** Since a worker last gave a sign of life; null before the first. */
  readonly workerAge: number | null;
  /** The last maintenance failed, and since when in seconds all have; null when it succeeded. */
  readonly maintenance: { readonly error: string; readonly age: number } | null;
  readonly flow: Flow;
}

/** Counted up to 10,000. */
interface Flow {
  /** Accepted deliveries of the last minute, and the merged ones among them. */
  readonly arrived: number;
  readonly merged: number;
  /** Refused deliveries of the last hour. */
  readonly refused: number;
  /** Since the last delivery; null before the first. */
  readonly deliveryAge: number | null;
  /** Age of the newest call in the ledger; null while there is none. */
  readonly callAge: number | null;
}

interface SyncHealth {
  /** Since the service's newest calls were last read; null before the first success. */
  readonly lag: number | null;
  /** The beginning of the oldest part that is not read, and its age. */
  readonly watermark: Date;
  readonly watermarkAge: number;
  readonly lastError: string | null;
  readonly failedAt: Date | null;
}

const countedAtMost = 10_000;
const age = (time: string): string => `extract(epoch FROM now() - ${time})::float8`;

/** Seconds since the epoch at which the oldest pending call of an urgency was marked (function `queue_position`). */
const oldestOf = (urgency: number): string => `(
    SELECT ${urgency} * 1000000000000 + 300000000000 - queue_position FROM warehouse_calls c
     WHERE c.warehouse = w.name AND pending AND queue_position >= ${urgency} * 1000000000000
       AND queue_position < ${urgency + 1} * 1000000000000
     ORDER BY queue_position DESC LIMIT 1)`;

const warehousesSql = `
  SELECT name, pending, last_error AS "lastError", (extract(epoch FROM last_load) * 1000)::float8 AS "lastLoadAt",
         extract(epoch FROM now())::float8 - live AS "liveOldestAge",
         extract(epoch FROM now())::float8 - erasure AS "erasureOldestAge",
         newest / 1000.0::float8 AS "newestVisible", loaded, refused, refusal
    FROM (SELECT w.name,
                 ${pendingSql} AS pending,
                 ${oldestOf(1)} AS live, ${oldestOf(0)} AS erasure,
                 (SELECT committed_at FROM loads l WHERE l.warehouse = w.name AND state = 'committed'
                   ORDER BY committed_at DESC LIMIT 1) AS last_load,
                 (SELECT coalesce(sum(calls), 0) FROM loads l WHERE l.warehouse = w.name AND state = 'committed'
                     AND committed_at > now() - interval '1 minute')::int AS loaded,
                 (SELECT error FROM loads l WHERE l.warehouse = w.name AND state <> 'planned' ORDER BY created_at DESC LIMIT 1) AS last_error,
                 ${newestLoadedSql} AS newest, r.refused, r.refusal
            FROM warehouses w CROSS JOIN LATERAL (
                 SELECT count(*)::int AS refused, min(refused) AS refusal
                   FROM (SELECT refused FROM warehouse_calls c WHERE c.warehouse = w.name AND refused IS NOT NULL LIMIT ${countedAtMost}) AS r) AS r
           WHERE $1::text[] IS NULL OR w.name = ANY($1)) AS figures ORDER BY name`;

const waitingRereads = `(SELECT requested_at FROM rereads WHERE NOT (${givenUpRereads}) LIMIT ${countedAtMost}) AS r`;

const figuresSql = `
  SELECT (extract(epoch FROM now()) * 1000)::float8 AS at,
         (SELECT coalesce(max(epoch), 0) FROM epochs)::int AS epoch,
         (SELECT count(*) FROM holds)::int AS holds,
         (SELECT ${age('stored_at')} FROM inbox WHERE outcome = 'pending' ORDER BY seq LIMIT 1) AS "inboxAge",
         (SELECT ${age('received_at')} FROM quarantine WHERE state = 'open' ORDER BY id LIMIT 1) AS "quarantineAge",
         (SELECT json_build_object('count', count(*), 'oldestAge', ${age('min(requested_at)')}, 'unanswered',
              (SELECT count(*) FROM (SELECT FROM rereads WHERE ${givenUpRereads} LIMIT ${countedAtMost}) AS g)) FROM ${waitingRereads}) AS rereads,
         (SELECT count(*) FROM (SELECT FROM window_problems WHERE resolved_at IS NULL LIMIT ${countedAtMost}) AS p)::int AS "openProblems",
         (SELECT count(*) FROM request_limits, unnest(slots || live_slots) AS slot
           WHERE slot > extract(epoch FROM clock_timestamp()) * 1000000 - $1::float8 * 1000)::int AS "grantedRequests",
         (SELECT json_build_object('count', count(*), 'oldestAge', ${age('min(received_at)')}, 'newestAge', ${age('max(received_at)')})
            FROM (SELECT received_at FROM inbox WHERE outcome = 'rejected' AND starts_with(reason, 'signature_')
                     AND received_at > greatest(now() - interval '1 hour',
                           (SELECT max(last_at) FROM delivery_senders),
                           (SELECT received_at FROM inbox WHERE outcome = 'pending' ORDER BY seq DESC LIMIT 1))
                   ORDER BY received_at LIMIT 1000) AS refused) AS refused,
         (SELECT ${age('updated_at')} FROM meta WHERE key = 'worker') AS "workerAge",
         (SELECT json_build_object('error', value, 'age', ${age('updated_at')}) FROM meta WHERE key = 'maintenance') AS maintenance,
         (SELECT json_build_object('arrived', count(*), 'merged', count(*) FILTER (WHERE outcome <> 'pending'),
              'refused', (SELECT count(*) FROM (SELECT FROM inbox WHERE outcome = 'rejected' AND received_at > now() - interval '1 hour' LIMIT ${countedAtMost}) AS r),
              'deliveryAge', (SELECT ${age('stored_at')} FROM inbox ORDER BY seq DESC LIMIT 1),
              'callAge', (SELECT ${age('call_timestamp')} FROM ledger WHERE call_timestamp <= now() AND NOT tombstone ORDER BY call_timestamp DESC LIMIT 1))
            FROM (SELECT outcome FROM inbox WHERE outcome <> 'rejected' AND received_at > now() - interval '1 minute' LIMIT ${countedAtMost}) AS d) AS flow`;

/**
 * @param input.warehouses names; every registered one by default. @param input.limitSpanMs length of the request limit's window.
 * @throws CallsyncError DATABASE_…
 */
export const readHealth = async (
  db: Queryable,
  input: { readonly warehouses?: readonly string[]; readonly limitSpanMs?: number } = {},
) => {
  // The watermark first: calls read up to it are in the ledger by then, and so in the pending counts that follow.
  const [sync] = await db.query<SyncHealth>(
    `SELECT ${readToSql} AS watermark, greatest(0, ${age(readToSql)}) AS "watermarkAge", last_error AS "lastError", failed_at AS "failedAt",
            CASE WHEN seen_to IS NOT NULL THEN greatest(0, ${age('seen_to')}) END AS lag FROM watermarks w WHERE name = 'sync'`,
  );
  const counters = await readCounters(db);
  const counted = (name: string): number => counters.get(name) ?? 0;
  const [row] = (await db.query<Figures>(figuresSql, [input.limitSpanMs ?? 0])) as [Figures];
  const warehouses = await db.query<WarehouseHealth>(warehousesSql, [input.warehouses ?? null]);
  const { inboxAge, quarantineAge, ...figures } = row;
  const outcomes: Record<string, number> = {};
  for (const [name, count] of counters)
    if (name.startsWith('deliveries:') && count !== 0) outcomes[name.slice('deliveries:'.length)] = count;
  return {
    ...figures,
    calls: counted('calls'),
    tombstones: counted('tombstones'),
    /** Utterances that privacy rules ever replaced unread. */
    unread: counted('unread'),
    inbox: { count: counted('deliveries:pending'), oldestAge: inboxAge, outcomes },
    quarantine: { count: counted('quarantine:open'), oldestAge: quarantineAge },
    warehouses,
    /** Null before continuous sync has begun. */
    sync: sync ?? null,
  };
};

/** A worker is alive: `workerAge` counts from here on. */
export const beat = async (db: Queryable): Promise<void> => {
  await db.query(
    `INSERT INTO meta (key, value) VALUES ('worker', 'true') ON CONFLICT (key) DO UPDATE SET updated_at = now()`,
  );
};

export type ProofHealth = Awaited<ReturnType<typeof readProofs>>[number];

/** Verdicts on each warehouse that are not good, of windows that began within `days`. Reads each of them, so call it seldom. */
export const readProofs = async (db: Queryable, input: { warehouses: readonly string[]; days: number }) => {
  const now = nowMicros();
  const latest = await latestVerdicts(db, { from: now - input.days * dayMicros, to: now });
  return input.warehouses.map((warehouse) => {
    const bad = latest.filter((one) => one.warehouse === warehouse && !isGood(one));
    const unproven = bad.filter(({ outcome }) => outcome === 'unproven').length;
    const withdrawn = bad.filter(isWithdrawn);
    const waiting = withdrawn.filter(({ compared_at: at }) => at <= now - 60_000_000).length;
    return {
      warehouse,
      unproven,
      /** Of these, proofs that ended within the last minute, because calls were sent again, cut or erased: a comparison follows. */
      withdrawn: withdrawn.length - waiting,
      /** Of these, proofs that ended earlier, and whose comparison still waits. */
      waiting,
      suspiciousEmpty: bad.length - unproven,
      /** Seconds since the first of these verdicts; null when there is none. */
      oldestAge: bad.length === 0 ? null : (now - Math.min(...bad.map(({ compared_at: at }) => at))) / 1_000_000,
    };
  });
};

/** Usage of a warehouse with quotas, by its name. */
export type NamedUsage = WarehouseUsage & { readonly warehouse: string };

export interface StepLatency {
  /** Warehouse in which deliveries became visible; null for the ledger. */
  readonly warehouse: string | null;
  /** Deliveries that were measured. */
  readonly calls: number;
  /** Seconds; null when none was measured. */
  readonly p50: number | null;
  readonly p95: number | null;
}

const percentiles = (value: string): string =>
  `count(${value})::int AS calls, percentile_cont(0.5) WITHIN GROUP (ORDER BY ${value}) AS p50,
   percentile_cont(0.95) WITHIN GROUP (ORDER BY ${value}) AS p95`;

/**
 * Seconds from the arrival of the newest deliveries to the ledger, and to the first load of their changes in each
 * warehouse. Deliveries without changes do not count, nor do later loads, such as after a restore.
 */
export const measureLatency = async (db: Queryable, warehouses: readonly string[]): Promise<StepLatency[]> =>
  await db.query<StepLatency>(
    `WITH newest AS (
       SELECT seq, received_at, folded_at FROM inbox WHERE outcome = 'accepted' AND folded_at IS NOT NULL ORDER BY seq DESC LIMIT 1000),
     latency AS (
       SELECT NULL AS warehouse, greatest(0, extract(epoch FROM folded_at - received_at))::float8 AS s FROM newest
       UNION ALL
       SELECT warehouse, greatest(0, extract(epoch FROM visible_at - received_at))::float8
         FROM visible_deliveries JOIN newest USING (seq) WHERE warehouse = ANY($1))
     SELECT warehouse, ${percentiles('s')}
       FROM latency GROUP BY warehouse ORDER BY warehouse NULLS FIRST`,
    [warehouses],
  );
