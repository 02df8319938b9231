/** Counters and gauges of the receiver. No label holds anything that a sender chooses. */
import { Counter, Histogram, type Registry } from 'prom-client';
import { gaugeOver } from './registry.ts';

export type WebhookMetrics = ReturnType<typeof createWebhookMetrics>;

/** Values of the receiver's gauges, read at every scrape. */
interface ReceiverGauges {
  readonly inflightBytes: number;
  readonly spool: {
    readonly records: number;
    readonly bytes: number;
    readonly parked: number;
    readonly oldest: Date | undefined;
  };
  readonly storeUsable: boolean;
}

/** Registers the counters, the histogram and the gauges of one receiver. Call it once for a registry. */
export const createWebhookMetrics = (registry: Registry) => {
  const registers = [registry];
  const counter = <Label extends string>(name: string, help: string, labelNames: readonly Label[] = []) =>
    new Counter<Label>({ name: `callsync_webhook_${name}`, help, labelNames, registers });
  const accepted = counter(
    'accepted_total',
    'Deliveries that got 2XX. `stored_in` is inbox or spool; an empty `key` means unsigned.',
    ['stored_in', 'key'],
  );
  // From the first scrape on: the rule that notices silence needs a series that does not grow.
  accepted.inc({ stored_in: 'inbox', key: '' }, 0);
  return {
    accepted,
    /** Refused deliveries, by address or signature. */
    rejected: counter('rejected_total', 'Deliveries that got 403, by reason.', ['reason']),
    refused: counter('refused_total', 'Deliveries that the receiver did not store, for lack of room or time.', [
      'reason',
    ]),
    connectionsDropped: counter('connections_dropped_total', 'Connections closed to make room for others.'),
    drained: counter('drained_total', 'Deliveries brought from the spool to the inbox.'),
    wakeFailures: counter('wake_failures_total', 'Failed attempts to wake the inbox merge.'),
    unrecorded: counter('rejected_unrecorded_total', 'Rejected deliveries that were counted but not recorded.'),
    answerSeconds: new Histogram({
      name: 'callsync_webhook_request_duration_seconds',
      help: 'Time from the head of a delivery to its answer.',
      buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10],
      registers,
    }),
    watch: (read: () => ReceiverGauges): void => {
      const reading = { read: async () => read() };
      const gauge = (name: string, help: string, value: (state: ReceiverGauges) => number): void =>
        gaugeOver(registry, reading, { name: `callsync_${name}`, help, samples: (state) => [[value(state)]] });
      gauge('webhook_inflight_bytes', 'Bytes of deliveries held in memory.', (state) => state.inflightBytes);
      gauge('spool_records', 'Deliveries that wait in the spool.', ({ spool }) => spool.records);
      gauge('spool_bytes', 'Size of the spool.', ({ spool }) => spool.bytes);
      gauge(
        'spool_parked_records',
        'Deliveries in the spool that the store refuses; a restart of the receiver tries them again.',
        ({ spool }) => spool.parked,
      );
      gauge(
        'spool_oldest_age_seconds',
        'Age of the oldest delivery that waits in the spool; 0 = none waits.',
        ({ spool }) => (spool.oldest === undefined ? 0 : Math.max(0, (Date.now() - spool.oldest.getTime()) / 1_000)),
      );
      gauge('webhook_store_usable', '1 while deliveries go to the inbox, 0 while they go to the spool.', (state) =>
        state.storeUsable ? 1 : 0,
      );
    },
  };
};
