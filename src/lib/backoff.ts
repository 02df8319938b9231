/** When to try again, wherever callsync tries again by itself. Activities are retried by Temporal instead. */
export interface BackoffRules {
  readonly baseMs: number;
  readonly maxMs: number;
}

/**
 * Milliseconds to wait, with full jitter: anything between 0 and a bound that doubles; never less than the other side
 * asked for.
 * @param attempt failures so far, from 0.
 */
export const backoffMs = (
  attempt: number,
  { baseMs, maxMs }: BackoffRules,
  retryAfterMs?: number,
  random: () => number = Math.random,
): number => {
  const bound = Math.min(maxMs, baseMs * 2 ** attempt);
  return retryAfterMs === undefined ? random() * bound : retryAfterMs + random() * Math.min(bound, baseMs);
};
