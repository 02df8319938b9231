/** What a delivery is given on arrival. */
import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

/** Headers of a delivery that are kept: none of them is under the signature (interface §5.4). */
export interface DeliveryHeaders {
  readonly signature: string | undefined;
  readonly deliveryId: string | null;
  readonly hookId: string | null;
  readonly agent: string | null;
}

export type ReadHeaders = (headers: IncomingHttpHeaders) => DeliveryHeaders;

const longestKept = 200;

/** @param prefix such as `X-Service-` (interface §4.3). */
export const createHeaderReader = (prefix: string): ReadHeaders => {
  const base = prefix.toLowerCase();
  const names = { signature: `${base}signature`, delivery: `${base}delivery`, hookId: `${base}hook-id` };
  return (headers) => ({
    signature: single(headers[names.signature]),
    deliveryId: kept(headers[names.delivery]),
    hookId: kept(headers[names.hookId]),
    agent: kept(headers['user-agent']),
  });
};

/** A UUID (version 7) that begins with the time, so that an index over it grows at its end. */
export const newArrivalId = (at: Date): string => {
  const time = at.getTime().toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`;
};

const single = (value: string | string[] | undefined): string | undefined => {
  return Array.isArray(value) ? value.join(', ') : value;
};

const kept = (value: string | string[] | undefined): string | null => {
  return single(value)?.slice(0, longestKept) ?? null;
};
