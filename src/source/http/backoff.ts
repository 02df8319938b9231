/** When to try again. */
export interface BackoffRules {
  readonly baseMs: number;
  readonly maxMs: number;
}

/** Full jitter: anything between 0 and the doubling bound; never sooner than the other side asked for. */
export const backoffMs = (
  attempt: number,
  rules: BackoffRules,
  retryAfterMs?: number,
  random: () => number = Math.random,
): number => {
  const bound = Math.min(rules.maxMs, rules.baseMs * 2 ** attempt);
  return retryAfterMs === undefined ? random() * bound : retryAfterMs + random() * Math.min(bound, rules.baseMs);
};

const longestRetryAfterMs = 15 * 60_000;

/** Milliseconds that a Retry-After header asks for, in seconds or as a date; undefined when it is absent or neither. */
export const readRetryAfter = (header: string | undefined, nowMs: number): number | undefined => {
  if (header === undefined) return undefined;
  const text = header.trim();
  if (/^\d{1,9}(\.\d{1,6})?$/.test(text)) return Math.min(Number(text) * 1000, longestRetryAfterMs);
  if (!/[a-z]/i.test(text)) return undefined;
  const at = Date.parse(text);
  if (Number.isNaN(at)) return undefined;
  return Math.min(Math.max(0, at - nowMs), longestRetryAfterMs);
};
