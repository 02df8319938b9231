/** The documented limit: a number of requests per source address in any window of time, exactly, in real time. */
import type { SimulatorSettings } from '../../../schemas/simulator.ts';
import type { Counters } from '../control/stats.ts';

export class RateLimiter {
  private readonly granted = new Map<string, number[]>();
  private readonly settings: SimulatorSettings;
  private readonly counters: Counters;

  constructor(settings: SimulatorSettings, counters: Counters) {
    this.settings = settings;
    this.counters = counters;
  }

  ask(source: string) {
    const { requests, seconds } = this.settings.rateLimit;
    const now = performance.now();
    const recent = (this.granted.get(source) ?? []).filter((at) => at > now - seconds * 1_000);
    const off = requests === 0 || this.settings.staticPages;
    const granted = off || recent.length < requests;
    if (granted) recent.push(now);
    this.granted.set(source, recent);
    const { rate } = this.counters;
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
  }
}
