/** How long the last deliveries took, from arrival to the ledger and from there to each warehouse. */
import type { Queryable } from '../../postgres/database.ts';

export interface StepLatency {
  readonly step: string;
  /** Deliveries that were measured. */
  readonly calls: number;
  /** Seconds; null when none was measured. */
  readonly p50: number | null;
  readonly p95: number | null;
}

const deliveries = 1_000;
const percentiles = (value: string): string =>
  `count(${value})::int AS calls, percentile_cont(0.5) WITHIN GROUP (ORDER BY ${value}) AS p50,
   percentile_cont(0.95) WITHIN GROUP (ORDER BY ${value}) AS p95`;

/**
 * Of the newest deliveries. A call that was loaded again after a later change counts with that load, so times to a
 * warehouse are upper bounds.
 */
export const measureLatency = async (db: Queryable, warehouses: readonly string[]): Promise<StepLatency[]> => {
  const newest = `WITH newest AS (SELECT call_id, received_at, folded_at FROM inbox
                                   WHERE outcome = 'accepted' AND folded_at IS NOT NULL ORDER BY seq DESC LIMIT ${deliveries})`;
  const steps = await db.query<StepLatency>(
    `${newest}, latency AS (SELECT greatest(0, extract(epoch FROM folded_at - received_at))::float8 AS s FROM newest)
     SELECT 'Arrival to ledger' AS step, ${percentiles('s')} FROM latency`,
  );
  const visible = await db.query<StepLatency>(
    `${newest}, latency AS (
       SELECT w.name, extract(epoch FROM c.applied_at - n.received_at)::float8 AS s
         FROM unnest($1::text[]) AS w(name) CROSS JOIN newest n
         JOIN warehouse_calls c ON c.warehouse = w.name AND c.call_id = n.call_id AND c.applied_at >= n.folded_at)
     SELECT 'Arrival to visible in ' || name AS step, ${percentiles('s')} FROM latency GROUP BY name ORDER BY name`,
    [warehouses],
  );
  return [...steps, ...visible].filter(({ calls }) => calls > 0);
};
