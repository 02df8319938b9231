/** The headers of a delivery that are kept (interface §4.3), and the id that it is given on arrival. */
import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

/** None of them is under the signature, which covers the body alone (interface §5.4). */
interface DeliveryHeaders {
  readonly deliveryId: string | null;
  readonly hookId: string | null;
  readonly agent: string | null;
}

interface ReceivedHeaders extends DeliveryHeaders {
  /** As it came; a repeated header arrives joined by commas. */
  readonly signature: string | undefined;
}

/** Longer values are cut: a sender must not choose how large our rows are. */
const longestKept = 200;

/** @param prefix such as `X-Service-`. Node joins repeated headers with commas, except Set-Cookie. */
export const createHeaderReader = (prefix: string): ((headers: IncomingHttpHeaders) => ReceivedHeaders) => {
  const base = prefix.toLowerCase();
  return (headers) => ({
    signature: headers[`${base}signature`]?.toString(),
    deliveryId: headers[`${base}delivery`]?.slice(0, longestKept).toString() ?? null,
    hookId: headers[`${base}hook-id`]?.slice(0, longestKept).toString() ?? null,
    agent: headers['user-agent']?.slice(0, longestKept) ?? null,
  });
};

/** A UUID (version 7) that begins with the time, so that an index over it grows at its end. */
export const newArrivalId = (at: Date): string => {
  const time = at.getTime().toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`;
};
