/** When an observation was: the service's clock where it can be known. All times in microseconds since the epoch. */
import { parseTimestamp } from './values.ts';

/** A delivery id is taken for a time only this close to its arrival, or as close as the allowed skew where that is more. */
const deliveryTimeTolerance = 15 * 60 * 1_000_000;

/**
 * observed_at of a webhook delivery: its delivery id (a decimal number of seconds, interface §4.3) when that lies
 * within 15 minutes (or the skew, if longer) of the arrival, else the arrival; never later than the arrival plus the
 * skew. The id is not under the signature, so it orders and never authenticates.
 * @param clockSkew how far the service's clock may be ahead (`sync.clock_skew`).
 */
export const webhookObservedAt = (deliveryId: string | null, arrivedAt: number, clockSkew: number): number => {
  const seconds = deliveryId !== null && /^\d{1,12}(\.\d{1,12})?$/.test(deliveryId) ? Number(deliveryId) : Number.NaN;
  const at = Math.floor(seconds * 1_000_000);
  if (!(Math.abs(at - arrivedAt) <= Math.max(deliveryTimeTolerance, clockSkew))) return arrivedAt;
  return Math.min(at, arrivedAt + clockSkew);
};

/**
 * observed_at of an imported record: the given time, else the end of its processing, else its own timestamp. Never now:
 * an old file must not win over what was seen since. Undefined when there is none, or only ones that lie ahead.
 */
export const importObservedAt = (
  record: Readonly<Record<string, unknown>>,
  rules: {
    readonly processedField: string;
    readonly now: number;
    readonly given?: number | undefined;
    readonly clockSkew: number;
  },
): number | undefined => {
  if (rules.given !== undefined) return rules.given;
  for (const value of [record[rules.processedField], record.timestamp]) {
    const at = typeof value === 'string' ? parseTimestamp(value) : undefined;
    if (at !== undefined && at <= rules.now + rules.clockSkew) return at;
  }
  return undefined;
};
