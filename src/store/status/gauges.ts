/**
 * What metrics and the status page show of the store. Everything comes from counters or from one end of an index, so
 * that it costs the same however many calls there are.
 */
import type { Queryable } from '../../postgres/database.ts';
import { readCounters } from '../counters.ts';
import { givenUpRereads } from '../delivery/inbox.ts';

export interface StoreGauges {
  readonly calls: number;
  readonly tombstones: number;
  readonly inbox: Waiting;
  readonly quarantine: Waiting;
  /** Calls to be read again; counted up to `countedAtMost`. */
  readonly rereads: Waiting;
  readonly warehouses: readonly WarehouseGauges[];
  readonly sync: SyncGauges | null;
  /** Windows that were read and could not be shown complete. */
  readonly openProblems: number;
  /** Requests that were granted, or are already promised, within the span of the limit. */
  readonly grantedRequests: number;
  /** Seconds since a delivery was last let in and folded; null = none yet. */
  readonly lastDeliveryAge: number | null;
}

export interface Waiting {
  readonly count: number;
  /** Seconds; null when nothing waits. */
  readonly oldestAge: number | null;
}

export interface WarehouseGauges {
  readonly name: string;
  readonly pending: number;
  /** Seconds for which the oldest change waits that is not of a backlog; null when none does. */
  readonly liveOldestAge: number | null;
  /** The same of erasures. */
  readonly erasureOldestAge: number | null;
  /** Seconds since the last committed load; null = none yet. */
  readonly lastLoadAge: number | null;
  /** Code of what the last load failed with; null when it did not. */
  readonly lastError: string | null;
  /** Milliseconds since the epoch: time of the newest call that the warehouse has; null = none. */
  readonly newestVisible: number | null;
}

export interface SyncGauges {
  /** Seconds since what the service had is read up to; null while it never was. */
  readonly lag: number | null;
  /** Seconds since the watermark: the oldest part that is not read. */
  readonly watermarkAge: number;
  readonly lastError: string | null;
}

const countedAtMost = 10_000;
/** Of the newest calls, this many are searched for one that a warehouse has. */
const lookedThrough = 1_000;
const age = (time: string): string => `extract(epoch FROM now() - ${time})::float8`;

/** Seconds since the oldest pending call of an urgency was marked (`queue_position` of the store's migrations). */
const oldestOf = (urgency: number): string => `(
    SELECT ${urgency} * 1000000000000 + 300000000000 - queue_position FROM warehouse_calls c
     WHERE c.warehouse = w.name AND pending AND queue_position >= ${urgency} * 1000000000000
       AND queue_position < ${urgency + 1} * 1000000000000
     ORDER BY queue_position DESC LIMIT 1)`;

const warehousesSql = `
  SELECT name, pending, last_error AS "lastError", ${age('last_load')} AS "lastLoadAge",
         extract(epoch FROM now())::float8 - live AS "liveOldestAge",
         extract(epoch FROM now())::float8 - erasure AS "erasureOldestAge",
         (extract(epoch FROM newest) * 1000)::float8 AS "newestVisible"
    FROM (SELECT w.name,
                 greatest((SELECT coalesce(sum(value) FILTER (WHERE c.name = 'pending:' || w.name), 0) FROM counters c),
                          CASE WHEN walk_after IS NULL THEN 0
                               ELSE (SELECT sum(value) FROM counters c WHERE c.name IN ('calls', 'tombstones')) END)::bigint AS pending,
                 ${oldestOf(1)} AS live, ${oldestOf(0)} AS erasure,
                 (SELECT committed_at FROM loads l WHERE l.warehouse = w.name AND state = 'committed'
                   ORDER BY committed_at DESC LIMIT 1) AS last_load,
                 (SELECT error FROM loads l WHERE l.warehouse = w.name ORDER BY created_at DESC LIMIT 1) AS last_error,
                 (SELECT n.call_timestamp
                    FROM (SELECT call_id, call_timestamp FROM ledger WHERE call_timestamp <= now() AND NOT tombstone
                           ORDER BY call_timestamp DESC LIMIT ${lookedThrough}) AS n
                    JOIN warehouse_calls c ON c.warehouse = w.name AND c.call_id = n.call_id AND c.applied_revision > 0
                   ORDER BY n.call_timestamp DESC LIMIT 1) AS newest
            FROM warehouses w WHERE w.name = ANY($1)) AS figures ORDER BY name`;

/**
 * @param input.warehouses names of the configured ones. @param input.limitSpanMs length of the request limit's window.
 * @throws CallsyncError DATABASE_…
 */
export const readStoreGauges = async (
  db: Queryable,
  input: { readonly warehouses: readonly string[]; readonly limitSpanMs: number },
): Promise<StoreGauges> => {
  const counters = await readCounters(db);
  const [row] = await db.query<{
    inbox: number | null;
    quarantine: number | null;
    rereads: number;
    reread: number | null;
    problems: number;
    granted: number;
    delivered: number | null;
  }>(
    `SELECT (SELECT ${age('received_at')} FROM inbox WHERE outcome = 'pending' ORDER BY seq LIMIT 1) AS inbox,
            (SELECT ${age('received_at')} FROM quarantine WHERE state = 'open' ORDER BY id LIMIT 1) AS quarantine,
            (SELECT count(*) FROM (SELECT FROM rereads WHERE NOT (${givenUpRereads}) LIMIT ${countedAtMost}) AS counted)::int AS rereads,
            (SELECT ${age('min(requested_at)')} FROM (SELECT requested_at FROM rereads WHERE NOT (${givenUpRereads})
                                                       LIMIT ${countedAtMost}) AS counted) AS reread,
            (SELECT count(*) FROM (SELECT FROM window_problems WHERE resolved_at IS NULL LIMIT ${countedAtMost}) AS counted)::int AS problems,
            (SELECT count(*) FROM request_limits, unnest(slots || live_slots) AS slot
              WHERE slot > extract(epoch FROM clock_timestamp()) * 1000000 - $1::float8 * 1000)::int AS granted,
            (SELECT ${age('max(last_at)')} FROM delivery_senders) AS delivered`,
    [input.limitSpanMs],
  );
  const waiting = (count: number, oldestAge: number | null | undefined): Waiting => ({
    count,
    oldestAge: oldestAge ?? null,
  });
  return {
    calls: counters.get('calls') ?? 0,
    tombstones: counters.get('tombstones') ?? 0,
    inbox: waiting(counters.get('deliveries:pending') ?? 0, row?.inbox),
    quarantine: waiting(counters.get('quarantine:open') ?? 0, row?.quarantine),
    rereads: waiting(row?.rereads ?? 0, row?.reread),
    warehouses: await db.query<WarehouseGauges>(warehousesSql, [input.warehouses]),
    sync: await readSync(db),
    openProblems: row?.problems ?? 0,
    grantedRequests: row?.granted ?? 0,
    lastDeliveryAge: row?.delivered ?? null,
  };
};

const readSync = async (db: Queryable): Promise<SyncGauges | null> => {
  const [row] = await db.query<SyncGauges>(
    `SELECT CASE WHEN seen_to IS NOT NULL THEN greatest(0, ${age('seen_to')}) END AS lag,
            greatest(0, ${age('watermark')}) AS "watermarkAge", last_error AS "lastError" FROM watermarks WHERE name = 'sync'`,
  );
  return row ?? null;
};

export interface VerdictGauges {
  readonly warehouse: string;
  /** Windows whose latest verdict is not good. */
  readonly unproven: number;
  readonly suspiciousEmpty: number;
}

/** Of windows that began within `days`; reads an index entry a verdict, so ask seldom. */
export const readVerdictGauges = async (
  db: Queryable,
  input: { readonly warehouses: readonly string[]; readonly days: number },
): Promise<VerdictGauges[]> =>
  await db.query<VerdictGauges>(
    `SELECT name AS warehouse, count(*) FILTER (WHERE outcome = 'unproven')::int AS unproven,
            count(*) FILTER (WHERE outcome = 'suspicious_empty')::int AS "suspiciousEmpty"
       FROM unnest($1::text[]) AS name LEFT JOIN (
            SELECT DISTINCT ON (warehouse, axis, window_from, window_to) warehouse, outcome FROM verdicts
             WHERE warehouse = ANY($1) AND window_from > now() - make_interval(days => $2)
             ORDER BY warehouse, axis, window_from, window_to, verdict_id DESC) AS latest ON latest.warehouse = name
      GROUP BY name ORDER BY name`,
    [input.warehouses, input.days],
  );
