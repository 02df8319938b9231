/** Counters and gauges of the receiver. No label holds anything that a sender chooses. */
import type { Registry } from 'prom-client';
import { createMetrics, type Metric, watch } from './registry.ts';

export type WebhookMetrics = ReturnType<typeof createWebhookMetrics>;

/** Values of the receiver's gauges, read at every scrape. */
interface ReceiverGauges {
  readonly inflightBytes: number;
  readonly spool: Readonly<Record<'records' | 'bytes' | 'parked', number>> & { readonly oldest: Date | undefined };
  readonly storeUsable: boolean;
}

/** Registers the counters, the histogram and the gauges of one receiver. Call it once for a registry. */
export const createWebhookMetrics = (registry: Registry) => {
  const { counter: ofProcess, histogram } = createMetrics(registry);
  const counter: typeof ofProcess = (name, ...more) => ofProcess(`webhook_${name}`, ...more);
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
    refused: counter('refused_total', 'Requests that were not stored: no room, no time, another path.', ['reason']),
    connectionsDropped: counter('connections_dropped_total', 'Connections closed to make room for others.'),
    drained: counter('drained_total', 'Deliveries brought from the spool to the inbox.'),
    wakeFailures: counter('wake_failures_total', 'Failed attempts to wake the inbox merge.'),
    unrecorded: counter('rejected_unrecorded_total', 'Rejected deliveries that were counted but not recorded.'),
    answerSeconds: histogram(
      'webhook_request_duration_seconds',
      'Time from the head of a delivery to its answer.',
      [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10],
    ),
    watch: (read: () => ReceiverGauges): void => watch(registry, async () => read(), gauges),
  };
};

const gauges: readonly Metric<ReceiverGauges>[] = [
  ['webhook_inflight_bytes', 'Bytes of deliveries held in memory.', 'inflightBytes'],
  ['spool_records', 'Deliveries that wait in the spool.', ({ spool }) => spool.records],
  ['spool_bytes', 'Size of the spool.', ({ spool }) => spool.bytes],
  [
    'spool_parked_records',
    'Deliveries in the spool that the store refuses; a restart of the receiver tries them again.',
    ({ spool }) => spool.parked,
  ],
  [
    'spool_oldest_age_seconds',
    'Age of the oldest delivery that waits in the spool; 0 = none waits.',
    ({ spool }) => (spool.oldest === undefined ? 0 : Math.max(0, (Date.now() - spool.oldest.getTime()) / 1_000)),
  ],
  [
    'webhook_store_usable',
    '1 while deliveries go to the inbox, 0 while they go to the spool.',
    ({ storeUsable }) => Number(storeUsable),
  ],
];
