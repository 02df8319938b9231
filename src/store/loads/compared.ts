/** Known loads of a warehouse, for a comparison with the warehouse itself. */
import { dayMicros } from '../../lib/timestamps.ts';
import { type Queryable, sql, type Transaction, toMicros, toTimestamp } from '../../postgres/database.ts';
import { requestWalk } from './warehouses.ts';

/** The store's clock, in microseconds. */
export const readClock = (db: Queryable): Promise<number> => db.value`SELECT ${toMicros('clock_timestamp()')} AS now`;

/** When the loads of a warehouse were last compared, in microseconds; undefined = never. */
export const lastComparison = async (db: Queryable, warehouse: string): Promise<number | undefined> =>
  (await db.value<number | null>`
        SELECT ${toMicros('compared_at')} AS at FROM warehouses WHERE name = ${warehouse}`) ?? undefined;

/** A comparison costs queries of the warehouses, which some of them bill: one in ten minutes. */
export const isComparisonDue = (db: Queryable, warehouses: readonly string[]): Promise<boolean> =>
  db.has`SELECT 1 FROM unnest(${warehouses}::text[]) AS n (name) LEFT JOIN warehouses w USING (name)
      WHERE w.compared_at > now() - interval '10 minutes' IS NOT TRUE LIMIT 1`;

/** Records when a comparison began, in microseconds of `readClock`. */
export const noteComparison = (db: Queryable, warehouse: string, at: number): Promise<unknown> =>
  db.query`UPDATE warehouses SET compared_at = ${toTimestamp(at)} WHERE name = ${warehouse}`;

/** Whether a warehouse is known to have a call that is no tombstone and need not be sent again. */
export const hasLoadedCalls = (db: Queryable, warehouse: string): Promise<boolean> =>
  db.has`SELECT 1 FROM warehouse_calls JOIN ledger l USING (call_id)
      WHERE warehouse = ${warehouse} AND applied_revision > 0 AND applied_epoch > 0 AND l.revision > 0 AND NOT l.tombstone LIMIT 1`;

/**
 * `limit` committed loads, newest first, from `skip` on, and as many more as were committed since a time in microseconds.
 * `plannedAt` = microseconds: no call was applied by it before.
 */
export const listCommitted = (
  db: Queryable,
  warehouse: string,
  { skip = 0, limit, since }: { readonly skip?: number; readonly limit: number; readonly since?: number },
) =>
  db.query<{ loadId: string; plannedAt: number }>`
     SELECT load_id AS "loadId", ${toMicros('created_at')} AS "plannedAt" FROM loads
      WHERE warehouse = ${warehouse} AND state = 'committed' ORDER BY committed_at DESC, load_id OFFSET ${skip}
      LIMIT ${limit}::bigint + (SELECT count(*) FROM loads WHERE warehouse = ${warehouse} AND state = 'committed'
                                   AND committed_at >= ${toTimestamp(since ?? null)})`;

/** Load ids that the ledger does not know. Without any call, it knows none that had calls: somebody emptied it. */
export const unknownLoads = (db: Queryable, loadIds: readonly string[]): Promise<string[]> =>
  db.column`SELECT id FROM unnest(${loadIds}::text[]) AS id WHERE NOT EXISTS (SELECT FROM loads WHERE load_id = id AND (calls = 0 OR EXISTS (SELECT FROM ledger)))`;

/** Log rows may be loaded long after their creation; rows of a lost load are searched this far back. */
const longestWait = 7 * dayMicros;

/**
 * Has everything sent again that a warehouse was sent since it lost loads: it was restored from a backup, or lost. Calls
 * by a walk; deliveries, of erased calls however old, and verdicts at once, which replace their rows where those are still there.
 * The loads no longer count as committed.
 * @param lost.since when the oldest of them was planned, in microseconds
 */
export const sendAgain = async (
  tx: Transaction,
  warehouse: string,
  { since, loadIds }: { readonly since: number; readonly loadIds: readonly string[] },
): Promise<void> => {
  await tx.query`UPDATE loads SET state = 'failed', error = 'LOST' WHERE load_id = ANY(${loadIds})`;
  // If all is lost, rows of `calls` may be there whose other rows are not.
  await requestWalk(tx, { warehouse, since, rewrite: since === 0 });
  const from = toTimestamp(Math.max(0, since - longestWait));
  // Each by an index of its own.
  for (const which of [sql`received_at >= ${from}`, sql`reason = 'erased'`])
    await tx.query`INSERT INTO unloaded_deliveries (warehouse, rejected, seq)
       SELECT ${warehouse}, outcome = 'rejected', seq FROM inbox WHERE outcome <> 'pending' AND ${which} ON CONFLICT DO NOTHING`;
  await tx.query`UPDATE verdicts SET loaded = false WHERE warehouse = ${warehouse} AND compared_at >= ${from}`;
};
