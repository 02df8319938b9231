/** Everything of a span of time but its days: deliveries, delays, erasures, holds, restores, events. For reports. */
import { type Queryable, toTimestamp } from '../../postgres/database.ts';

/** Events that an auditor asks for; `outage` to `recovery` is the time in which a condition held. */
const shownKinds = [
  'outage',
  'recovery',
  'privacy',
  'version',
  'hold',
  'reconcile',
  'backfill',
  'replay',
  'pause',
  'resume',
];
const mostEvents = 1_000;

/** Counts by the time at which everything happened. @param range microseconds */
export const readMonth = async (db: Queryable, range: { readonly from: number; readonly to: number }) => {
  const [from, to] = [toTimestamp(range.from), toTimestamp(range.to)];
  const outcomes = await db.query<{ outcome: string; n: number }>`SELECT outcome, count(*) AS n FROM inbox
      WHERE received_at >= ${from} AND received_at < ${to} GROUP BY 1 ORDER BY 1`;
  return {
    deliveries: Object.fromEntries(outcomes.map(({ outcome, n }) => [outcome, n])),
    /** Seconds from the arrival of deliveries until a warehouse had them. */
    delay: await db.query<{ warehouse: string; deliveries: number; p50: number; p95: number }>`
        SELECT warehouse, count(*) AS deliveries, percentile_cont(0.5) WITHIN GROUP (ORDER BY s) AS p50,
               percentile_cont(0.95) WITHIN GROUP (ORDER BY s) AS p95
          FROM (SELECT warehouse, greatest(0, extract(epoch FROM visible_at - received_at))::float8 AS s
                  FROM inbox JOIN visible_deliveries USING (seq)
                 WHERE received_at >= ${from} AND received_at < ${to}) AS delays GROUP BY 1 ORDER BY 1`,
    erasures: await db.row<{ receipts: number; calls: number }>`
        SELECT count(*) AS receipts, coalesce(sum((r ->> 'erased')::int), 0) AS calls
          FROM (SELECT receipt::jsonb AS r FROM erasure_receipts) AS receipts
         WHERE r ? 'erased' AND (r ->> 'at')::timestamptz >= ${from} AND (r ->> 'at')::timestamptz < ${to}`,
    holds: await db.value<number>`SELECT count(*) FROM holds WHERE held_at < ${to}`,
    restores: await db.query<{ at: string; epoch: number; reason: string }>`
        SELECT to_char(issued_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS') AS at, epoch, reason FROM epochs
         WHERE issued_at >= ${from} AND issued_at < ${to} ORDER BY epoch`,
    events: await db.query<{ at: string; kind: string; what: string }>`
        SELECT to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS') AS at, kind, what FROM events
         WHERE at >= ${from} AND at < ${to} AND kind = ANY(${shownKinds}) ORDER BY events.at, id LIMIT ${mostEvents}`,
  };
};
