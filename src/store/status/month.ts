/** Everything of a span of time but its days: deliveries, delays, erasures, holds, restores, events. For reports. */
import { type Queryable, sql, toMicros, toTimestamp } from '../../postgres/database.ts';
import { comparedByNone } from '../windows/verdicts.ts';

/** Events that an auditor asks for; `outage` to `recovery` is the time in which a condition held. */
const shownKinds = ['outage', 'recovery', 'privacy', 'version', 'hold', 'reconcile', 'backfill', 'quarantine'];
const mostEvents = 1_000;

/** Counts by the time at which everything happened. @param range microseconds */
export const readMonth = async (db: Queryable, range: { readonly from: number; readonly to: number }) => {
  const [from, to] = [toTimestamp(range.from), toTimestamp(range.to)];
  const outcomes = await db.query<{ outcome: string; n: number }>`
      SELECT outcome, sum(n)::bigint AS n FROM (
        SELECT outcome, count(*) AS n FROM inbox WHERE received_at >= ${from} AND received_at < ${to} GROUP BY 1
        UNION ALL SELECT outcome, deliveries FROM expired_deliveries WHERE day >= ${from} AND day < ${to}) AS counts
       GROUP BY 1 ORDER BY 1`;
  const shown = sql`at >= ${from} AND at < ${to} AND kind = ANY(${shownKinds})`;
  const receipts = sql`(SELECT receipt::jsonb AS r FROM erasure_receipts) AS receipts
         WHERE (r ->> 'at')::timestamptz >= ${from} AND (r ->> 'at')::timestamptz < ${to}`;
  return {
    deliveries: Object.fromEntries(outcomes.map(({ outcome, n }) => [outcome, n])),
    /** Seconds from the arrival of deliveries until a warehouse had them. */
    delay: await db.query<{ warehouse: string; deliveries: number; p50: number; p95: number }>`
        SELECT warehouse, count(*) AS deliveries, percentile_cont(0.5) WITHIN GROUP (ORDER BY s) AS p50,
               percentile_cont(0.95) WITHIN GROUP (ORDER BY s) AS p95
          FROM (SELECT warehouse, greatest(0, extract(epoch FROM visible_at - received_at))::float8 AS s
                  FROM inbox JOIN visible_deliveries USING (seq)
                 WHERE received_at >= ${from} AND received_at < ${to} AND outcome <> 'rejected') AS delays GROUP BY 1 ORDER BY 1`,
    erasures: await db.row<{ receipts: number; calls: number }>`
        SELECT count(*) AS receipts, coalesce(sum((r ->> 'erased')::int), 0) AS calls
          FROM ${receipts} AND r ? 'erased'`,
    holds: await db.row<{ put_on: number; taken_off: number; now: number }>`
        SELECT count(*) FILTER (WHERE r ->> 'action' = 'put on') AS put_on,
               count(*) FILTER (WHERE r ->> 'action' = 'taken off') AS taken_off, (SELECT count(*) FROM holds) AS now
          FROM ${receipts} AND r ? 'action'`,
    restores: await db.query<{ at: string; epoch: number; reason: string }>`
        SELECT to_char(issued_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS') AS at, epoch, reason FROM epochs
         WHERE issued_at >= ${from} AND issued_at < ${to} AND epoch > 1 ORDER BY epoch`,
    events: await db.query<{ at: string; kind: string; what: string }>`
        SELECT to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS') AS at, kind, what FROM events
         WHERE ${shown} ORDER BY events.at, id LIMIT ${mostEvents}`,
    events_left_out: await db.value<number>`SELECT greatest(0, count(*) - ${mostEvents}) FROM events WHERE ${shown}`,
    /** Events expire with deliveries. */
    oldest_event: await db.value<string | null>`
        SELECT to_char(min(at) AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS') FROM events`,
  };
};

/** Counts of the comparisons of a day, as `verdicts` names them. */
export const counts = ['calls_listed', 'calls_found', 'excluded', 'missing', 'different', 'healed', 'deleted'] as const;

/** Calls of the widest comparison of the day, and differences of all its comparisons: later ones find healed calls equal. */
export type DayComparisons = Readonly<Record<(typeof counts)[number], number>>;

/**
 * By warehouse, and by UTC day of the calls, in microseconds. Withdrawals compare nothing, and a window of several days
 * says something of each only if it is empty. A difference that stays is counted once, however often it is found.
 */
export const readComparisons = (db: Queryable, range: { readonly from: number; readonly to: number }) =>
  db.query<DayComparisons & { warehouse: string; day: number }>`
      WITH compared AS (
        SELECT *, missing + different - healed AS left_open FROM verdicts,
               generate_series(date_trunc('day', greatest(window_from, ${toTimestamp(range.from)}), 'UTC'), least(window_to, ${toTimestamp(range.to)}) - interval '1 microsecond', interval '24 hours') AS day
         WHERE window_to > ${toTimestamp(range.from)} AND window_from < ${toTimestamp(range.to)}
           AND day >= ${toTimestamp(range.from)} AND day < ${toTimestamp(range.to)} AND compared_by <> ${comparedByNone}
           AND (window_to <= date_trunc('day', window_from, 'UTC') + interval '24 hours' OR calls_listed + missing + different + deleted = 0)),
      counted AS (
        SELECT *, row_number() OVER (PARTITION BY warehouse, day ORDER BY least(window_to - window_from, interval '24 hours') DESC, verdict_id DESC) AS place,
               greatest(0, missing - coalesce(lag(least(missing, left_open)) OVER earlier, 0)) AS newly_missing,
               greatest(0, different - coalesce(lag(left_open - least(missing, left_open)) OVER earlier, 0)) AS newly_different
          FROM compared WINDOW earlier AS (PARTITION BY warehouse, axis, day, window_from, window_to ORDER BY verdict_id))
      SELECT warehouse, ${toMicros('day')} AS day, max(calls_listed) FILTER (WHERE place = 1) AS calls_listed,
             max(calls_found) FILTER (WHERE place = 1) AS calls_found, max(excluded) FILTER (WHERE place = 1) AS excluded,
             max(deleted) FILTER (WHERE place = 1) AS deleted, sum(newly_missing)::bigint AS missing,
             sum(newly_different)::bigint AS different, sum(healed)::bigint AS healed
        FROM counted GROUP BY 1, 2 ORDER BY 1, 2`;
