/** Depth of the inbox and age of its oldest delivery, read from the store when metrics are scraped. */
import type { Registry } from 'prom-client';
import { gaugeOver, shareReading } from './shared-reading.ts';

export interface InboxState {
  readonly pending: number;
  readonly oldestReceivedAt: Date | null;
}

/** While the store does not answer, both gauges have no value. An answer is reused for `cacheMs`. */
export const watchInbox = (options: {
  registry: Registry;
  read: () => Promise<InboxState>;
  cacheMs?: number;
}): void => {
  const reading = shareReading(options.read, options);
  gaugeOver(options.registry, reading, {
    name: 'callsync_inbox_pending',
    help: 'Deliveries in the inbox that are not folded yet.',
    samples: ({ pending }) => [[pending]],
  });
  gaugeOver(options.registry, reading, {
    name: 'callsync_inbox_oldest_age_seconds',
    help: 'Age of the oldest delivery that is not folded yet; 0 = none waits.',
    samples: ({ oldestReceivedAt }) => [
      [oldestReceivedAt === null ? 0 : Math.max(0, (Date.now() - oldestReceivedAt.getTime()) / 1_000)],
    ],
  });
};
