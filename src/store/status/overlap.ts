/** Webhooks compared with the list, before an installation goes live. Times are in microseconds. */
import { type Queryable, toTimestamp } from '../../postgres/database.ts';
import { isSent } from '../delivery/delivery-statistics.ts';

export type Overlap = Awaited<ReturnType<typeof measureOverlap>>;

/**
 * Compares calls whose processing ended in the range, or whose own time is in it. A webhook record has no end of
 * processing: a later delivery may belong to a later listing.
 * `webhookOnly` = came by webhook, but the list does not show them.
 * `pollOnly` = listed with a status that is sent to webhooks, but did not come by webhook.
 */
export const measureOverlap = async (db: Queryable, range: { readonly from: number; readonly to: number }) => {
  const counts = await db.row<Readonly<Record<'both' | 'webhookOnly' | 'pollOnly', number>>>`
      SELECT count(*) FILTER (WHERE webhook_at IS NOT NULL AND poll_at IS NOT NULL) AS both,
            count(*) FILTER (WHERE webhook_at IS NOT NULL AND poll_at IS NULL AND first_seen_at < ${toTimestamp(range.to)}) AS "webhookOnly",
            count(*) FILTER (WHERE webhook_at IS NULL AND poll_at IS NOT NULL AND ${isSent}) AS "pollOnly"
       FROM ledger
      WHERE revision > 0 AND NOT tombstone AND coalesce(processed_at, call_timestamp) >= ${toTimestamp(range.from)}
        AND coalesce(processed_at, call_timestamp) < ${toTimestamp(range.to)}`;
  return { ...range, ...counts };
};

/** Reasons for which deliveries were rejected since an instant, most frequent first. */
export const listRejections = async (db: Queryable, since: number): Promise<readonly string[]> =>
  await db.column<string>`SELECT reason FROM inbox WHERE outcome = 'rejected' AND reason IS NOT NULL AND received_at >= ${toTimestamp(since)}
      GROUP BY reason ORDER BY count(*) DESC LIMIT 3`;
