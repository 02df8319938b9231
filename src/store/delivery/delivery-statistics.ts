/** How calls arrived, and how many webhooks were lost. Times in microseconds. */
import { orderLength, sentStatuses } from '../../calls/fold.ts';
import { type Queryable, type Sql, sql, toMicros, toTimestamp } from '../../postgres/database.ts';

type Way = 'both' | 'pollOnly' | 'webhookOnly' | 'importOnly';

/** Counts of calls. `importOnly` = known from imports alone. */
export type DeliveryStatistics = Readonly<Record<'calls' | Way | 'missing', number>>;

/** `from` = start of the UTC day of the call's own time. */
export type DayDeliveries = DeliveryStatistics & { readonly from: number };

export type WebhookQuality = Awaited<ReturnType<typeof measureWebhooks>>;

/** Of the ledger's rows: those of which the service sends a webhook. */
export const isSent = sql`substr(fields->'status'->>2, ${orderLength + 1}) = ANY(${sentStatuses})`;

const inRange = ({ from, to }: { readonly from: number; readonly to: number }): Sql =>
  sql`call_timestamp >= ${toTimestamp(from)} AND call_timestamp < ${toTimestamp(to)} AND revision > 0 AND NOT tombstone`;

/** Counts by UTC day of the calls whose own time lies in `[from, to)`, oldest first; days without calls are absent. */
export const readDeliveryStatistics = async (db: Queryable, range: { readonly from: number; readonly to: number }) =>
  await db.query<DayDeliveries>`SELECT ${toMicros("date_trunc('day', call_timestamp)")} AS from, count(*) AS calls,
            count(*) FILTER (WHERE webhook_at IS NOT NULL AND poll_at IS NOT NULL) AS both,
            count(*) FILTER (WHERE webhook_at IS NULL AND poll_at IS NOT NULL) AS "pollOnly",
            count(*) FILTER (WHERE webhook_at IS NOT NULL AND poll_at IS NULL) AS "webhookOnly",
            count(*) FILTER (WHERE webhook_at IS NULL AND poll_at IS NULL) AS "importOnly",
            count(*) FILTER (WHERE source_deleted_at IS NOT NULL) AS missing
       FROM ledger WHERE ${inRange(range)} GROUP BY 1 ORDER BY 1`;

type Counted = Readonly<Record<'expected' | 'lost', number>>;

/**
 * Loss and lag of webhooks over qualified and void calls. Processing of these calls ended after the first delivery,
 * or after `since`, and before `until`.
 * `since` = calls that ended processing before this are not judged: no webhook was received yet.
 * `expected` = calls that should have come by webhook.
 * `lost` = the number that came only by poll.
 * `lossRate` = share of the expected calls that were lost, null when none was expected.
 * `lagP50`, `lagP95` = seconds from the end of processing to the first webhook: median and 95th percentile.
 */
export const measureWebhooks = async (
  db: Queryable,
  input: { readonly from: number; readonly to: number; readonly until: number; readonly since?: number },
) => {
  const since = input.since ?? (await firstWebhook(db));
  const measured = await db.row<Counted & Record<'lossRate' | 'lagP50' | 'lagP95', number | null>>`WITH sent AS (
       SELECT webhook_at, extract(epoch FROM webhook_at - processed_at)::float8 AS lag FROM ledger
        WHERE ${inRange(input)} AND ${isSent}
          AND coalesce(processed_at, call_timestamp) >= ${toTimestamp(since)}
          AND coalesce(processed_at, call_timestamp) < ${toTimestamp(input.until)} AND (webhook_at IS NOT NULL OR poll_at IS NOT NULL))
     SELECT count(*) AS expected, count(*) FILTER (WHERE webhook_at IS NULL) AS lost,
            avg((webhook_at IS NULL)::int)::float8 AS "lossRate",
            percentile_cont(0.5) WITHIN GROUP (ORDER BY lag) FILTER (WHERE lag >= 0) AS "lagP50",
            percentile_cont(0.95) WITHIN GROUP (ORDER BY lag) FILTER (WHERE lag >= 0) AS "lagP95" FROM sent`;
  return { since, ...measured };
};

/** Reads the senders, because the ledger has no index by this time, and there are few senders. */
const firstWebhook = (db: Queryable): Promise<number | null> =>
  db.value`SELECT ${toMicros('min(first_at)')} AS first FROM delivery_senders`;

/** Senders of merged deliveries, and of the first waiting ones. */
const senders = sql`SELECT * FROM delivery_senders UNION ALL (
  SELECT agent, signing_key, 1, received_at, received_at FROM inbox WHERE outcome = 'pending' ORDER BY seq LIMIT 5000)`;

/**
 * Agents of accepted deliveries, newest first; null = deliveries without the header.
 * `isNew` = the agent was first seen within a week, after others.
 */
export const listAgents = (db: Queryable) =>
  db.query<{ agent: string | null; deliveries: number; firstSeen: Date; lastSeen: Date; isNew: boolean }>`
     SELECT agent, sum(deliveries)::bigint AS deliveries, min(first_at) AS "firstSeen", max(last_at) AS "lastSeen",
            min(first_at) > now() - interval '7 days' AND min(first_at) > min(min(first_at)) OVER () AS "isNew"
       FROM (${senders}) s GROUP BY agent ORDER BY min(first_at) DESC`;

/**
 * Signing keys that verified deliveries, last used first. Operators retire a key by this list. A configured key that
 * is missing here was never used; null = unsigned.
 */
export const listKeyUsage = (db: Queryable) =>
  db.query<{ key: string | null; deliveries: number; firstUsed: Date; lastUsed: Date }>`
     SELECT signing_key AS key, sum(deliveries)::bigint AS deliveries, min(first_at) AS "firstUsed", max(last_at) AS "lastUsed"
       FROM (${senders}) s GROUP BY signing_key ORDER BY max(last_at) DESC`;

/** Newest deliveries that are looked through. */
const newest = 10_000;

/** Samples among the newest deliveries. A sample is found by its delivery id, because privacy rules key the hash of a body. */
export const createSampleStore = (db: Queryable) => ({
  /**
   * Deletes a sample, or the record of a refused one, and its record in quarantine. The sample also leaves the senders,
   * where it would be a new agent, and the counts of deliveries. Returns whether it was there.
   */
  take: async (id: string): Promise<boolean> => {
    // From the inbox first: a running merge ends before, and its other records follow.
    const samples = await db.query<{ hash: Buffer | null; agent: string | null; at: number }>`
      WITH gone AS (DELETE FROM inbox WHERE seq > (SELECT max(seq) FROM inbox) - ${newest} AND delivery_id = ${id}
                    RETURNING seq, outcome, body_hash, agent, received_at),
           uncounted AS (INSERT INTO counters SELECT 'deliveries:' || outcome, -1 FROM gone WHERE outcome <> 'pending'),
           unqueued AS (DELETE FROM unloaded_deliveries u USING gone WHERE u.seq = gone.seq)
      SELECT body_hash AS hash, agent, ${toMicros('received_at')} AS at FROM gone`;
    for (const { hash, agent, at } of samples) {
      await db.query`DELETE FROM quarantine WHERE source = 'webhook' AND body_hash = ${hash}`;
      await db.query`DELETE FROM delivery_senders WHERE deliveries = 1 AND last_at = ${toTimestamp(at)}
                        AND agent IS NOT DISTINCT FROM ${agent}`;
    }
    return samples.length > 0;
  },
  /** Bytes of the largest; null if no body is left. */
  largest: () =>
    db.value<number | null>`
      SELECT max(octet_length(body)) FROM (SELECT body FROM inbox ORDER BY seq DESC LIMIT ${newest}) AS deliveries`,
});
