import type { HttpResponse } from './http.ts';

const longestMs = 15 * 60_000;

/** Milliseconds that a response asks to wait. A date is measured on the service's clock where the response tells it. */
export const retryAfterOf = ({ headers }: Pick<HttpResponse, 'headers'>): number | undefined => {
  const serviceNow = Date.parse(headers.date ?? '');
  return readRetryAfter(headers['retry-after'], Number.isNaN(serviceNow) ? Date.now() : serviceNow);
};

/** Milliseconds that a Retry-After header asks for, in seconds or as a date; undefined when it is absent or neither. */
export const readRetryAfter = (header: string | undefined, nowMs: number): number | undefined => {
  if (header === undefined) return undefined;
  const text = header.trim();
  if (/^\d{1,9}(\.\d{1,6})?$/.test(text)) return Math.min(Number(text) * 1000, longestMs);
  if (!/[a-z]/i.test(text)) return undefined;
  const at = Date.parse(text);
  if (Number.isNaN(at)) return undefined;
  return Math.min(Math.max(0, at - nowMs), longestMs);
};
