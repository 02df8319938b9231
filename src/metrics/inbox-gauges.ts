/** Depth of the inbox and age of its oldest delivery, read from the store when metrics are scraped. */
import { Gauge, type Registry } from 'prom-client';

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
  const { registry, read, cacheMs = 5_000 } = options;
  let cached: { at: number; state: Promise<InboxState | undefined> } | undefined;
  const gauge = (name: string, help: string, value: (state: InboxState) => number) =>
    new Gauge({
      name,
      help,
      registers: [registry],
      async collect() {
        if (cached === undefined || performance.now() - cached.at > cacheMs) {
          cached = { at: performance.now(), state: read().catch(() => undefined) };
        }
        const state = await cached.state;
        if (state === undefined) this.remove();
        else this.set(value(state));
      },
    });
  gauge('callsync_inbox_pending', 'Deliveries in the inbox that are not folded yet.', (state) => state.pending);
  gauge('callsync_inbox_oldest_age_seconds', 'Age of the oldest delivery that is not folded yet.', (state) =>
    state.oldestReceivedAt === null ? 0 : Math.max(0, (Date.now() - state.oldestReceivedAt.getTime()) / 1_000),
  );
};
