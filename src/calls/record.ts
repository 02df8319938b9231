/** Call and time of a record. All times in microseconds since the epoch. */
import { maxCallIdLength } from '../../schemas/call.ts';
import { isObject } from '../lib/parse-json.ts';
import { parseTimestamp } from '../lib/timestamps.ts';
import { cleanText } from './fold.ts';

type Identified = { readonly callId: string; readonly record: Record<string, unknown> } | { readonly reason: string };

/** A delivery id is taken for a time only this close to its arrival, or as close as the allowed skew where that is more. */
const deliveryTimeTolerance = 15 * 60 * 1_000_000;

/** A number below this one counts something else than seconds since 1970. */
const earliestDeliveryTime = Date.UTC(2000, 0) * 1_000;

/** The identity of a record, or why it has none and belongs in quarantine. */
export const identifyRecord = (record: unknown): Identified => {
  if (!isObject(record)) return { reason: 'not a JSON object' };
  const id = record.unique_id;
  if (id === undefined) return { reason: 'unique_id is absent' };
  if (typeof id !== 'string')
    return { reason: `unique_id is ${id === null ? 'null' : `of type ${typeof id}`}, not text` };
  if (id.trim() === '') return { reason: 'unique_id is empty' };
  if (id.length > maxCallIdLength) return { reason: `unique_id is longer than ${maxCallIdLength} characters` };
  if (cleanText(id) !== id) return { reason: 'unique_id has characters that cannot be stored' };
  return { callId: id, record };
};

/**
 * observed_at of a webhook delivery: its delivery id (a decimal number of seconds, interface §4.3), up to the arrival
 * plus the skew. If the id is before 2000, or ahead by more than 15 minutes (or the skew, if longer), the arrival
 * counts. An old id keeps its time, so that a late delivery replaces nothing newer. The id is not under the signature,
 * so it orders and never authenticates.
 * @param clockSkew how far the service's clock may be ahead (`sync.clock_skew`).
 * `isLate` = the delivery says that it is older than any delay explains: it may have been captured, and the API is to
 * be asked.
 */
export const webhookObservedAt = (deliveryId: string | null, arrivedAt: number, clockSkew: number) => {
  const seconds = deliveryId !== null && /^\d{1,12}(\.\d{1,12})?$/.test(deliveryId) ? Number(deliveryId) : Number.NaN;
  const at = Math.floor(seconds * 1_000_000);
  const tolerance = Math.max(deliveryTimeTolerance, clockSkew);
  if (!(at >= earliestDeliveryTime && at <= arrivedAt + tolerance)) return { observedAt: arrivedAt, isLate: false };
  return { observedAt: Math.min(at, arrivedAt + clockSkew), isLate: at < arrivedAt - tolerance };
};

/**
 * observed_at of an imported record: the given time, else the end of its processing, else its own timestamp. Never the
 * present, because an old file must not replace newer values. Undefined if there is no time, or only future ones.
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
    const at = parseTimestamp(value);
    if (at !== undefined && at <= rules.now + rules.clockSkew) return at;
  }
  return undefined;
};
