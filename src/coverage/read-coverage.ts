/** Coverage of a range, read from the operational store: neither the service nor a warehouse is asked. */
import type { Queryable } from '../postgres/database.ts';
import { measureWebhooks, readDeliveryStatistics, readRanges } from '../store/delivery/delivery-statistics.ts';
import { latestVerdicts } from '../store/windows/verdicts.ts';
import { buildCoverage, type Coverage } from './coverage.ts';

/** A delivery and its one retry have had their chance after this. */
const deliveryTime = 120_000_000;

/**
 * @param input.range microseconds, by the calls' own time. @param input.now microseconds; ends the range.
 * @param input.webhooksSince judges webhooks from here on instead of from the first one ever received.
 */
export const readCoverage = async (
  db: Queryable,
  input: {
    readonly range: { readonly from: number; readonly to: number };
    readonly warehouses: readonly string[];
    readonly now: number;
    readonly webhooksSince?: number;
  },
): Promise<Coverage> => {
  const range = { from: input.range.from, to: Math.max(input.range.from, Math.min(input.range.to, input.now)) };
  return buildCoverage({
    ...range,
    warehouses: input.warehouses,
    read: await readRanges(db, range),
    verdicts: await latestVerdicts(db, range),
    deliveries: await readDeliveryStatistics(db, range),
    webhooks: await measureWebhooks(db, {
      ...range,
      until: input.now - deliveryTime,
      since: input.webhooksSince,
    }),
  });
};
