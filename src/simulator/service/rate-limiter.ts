/** The documented limit: a number of requests per source address in any window of time, exactly, in real time. */
import type { SimulatorSettings } from '../../../schemas/simulator.ts';
import type { Counters } from '../control/stats.ts';

export type RateLimiter = ReturnType<typeof createRateLimiter>;

/** Counts the requests of each address, and refuses those above the limit. */
export const createRateLimiter = (settings: SimulatorSettings, { rate }: Pick<Counters, 'rate'>) => {
  const grantedTo = new Map<string, number[]>();
  return (source: string) => {
    const { requests, seconds } = settings.rateLimit;
    const now = performance.now();
    const recent = (grantedTo.get(source) ?? []).filter((at) => at > now - seconds * 1_000);
    const off = requests === 0 || settings.staticPages;
    const granted = off || recent.length < requests;
    if (granted) recent.push(now);
    grantedTo.set(source, recent);
    if (granted) {
      rate.granted++;
      rate.windowMax = Math.max(rate.windowMax, recent.length);
    } else rate.refused++;
    const decisive = recent.at(-requests);
    return {
      granted,
      remaining: Math.max(0, requests - recent.length),
      /** Milliseconds until the next request would be granted. */
      waitMs: decisive === undefined || off ? 0 : Math.max(0, decisive + seconds * 1_000 - now),
    };
  };
};
