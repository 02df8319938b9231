/** What the receiver counts. */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

export type RefusalReason = 'overload' | 'too_large' | 'incomplete' | 'not_durable' | 'closing';

export interface WebhookMetrics {
  accepted(landed: 'inbox' | 'spool', key: string | null): void;
  /** Let in by nobody: address or signature. */
  rejected(reason: string): void;
  /** Not taken for want of room or time, or because it was cut off. */
  refused(reason: RefusalReason): void;
  /** Called by the merge: the retry of a delivery, or its body under another id. */
  duplicate(outcome: 'duplicate' | 'repeat', count?: number): void;
  /** Seconds from the head of a request to its answer. */
  answered(seconds: number): void;
  drained(count: number): void;
  wakeFailed(): void;
  /** Rejections that were counted only, because the minute's rows were used up. */
  rejectionsUnrecorded(count: number): void;
  /** Asked at every scrape. */
  watch(read: () => { inflightBytes: number; spoolRecords: number; spoolBytes: number; storeUsable: boolean }): void;
}

const answerBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10];

export const createWebhookMetrics = (registry: Registry): WebhookMetrics => {
  const registers = [registry];
  const counter = <Label extends string>(name: string, help: string, labelNames: readonly Label[] = []) =>
    new Counter<Label>({ name: `callsync_webhook_${name}`, help, labelNames, registers });

  const accepted = counter('accepted_total', 'Deliveries answered 2XX, by where they were made durable.', ['landed']);
  const keyUsed = counter('key_used_total', 'Deliveries by the key that verified them; empty = unsigned.', ['key']);
  const rejected = counter('rejected_total', 'Deliveries that were not let in, by reason.', ['reason']);
  const refused = counter('refused_total', 'Deliveries that were not taken for want of room or time.', ['reason']);
  const duplicates = counter('duplicates_total', 'Deliveries seen before, as found by the inbox merge.', ['outcome']);
  const spooled = counter('spooled_total', 'Deliveries written to the spool because the store was away or slow.');
  const drained = counter('drained_total', 'Deliveries brought from the spool to the inbox.');
  const wakeFailures = counter('wake_failures_total', 'Failed attempts to wake the inbox merge.');
  const unrecorded = counter('rejected_unrecorded_total', 'Rejected deliveries that were counted but not recorded.');
  const answer = new Histogram({
    name: 'callsync_webhook_answer_seconds',
    help: 'Time from the head of a delivery to its answer.',
    buckets: answerBuckets,
    registers,
  });

  return {
    accepted(landed, key) {
      accepted.inc({ landed });
      keyUsed.inc({ key: key ?? '' });
      if (landed === 'spool') spooled.inc();
    },
    rejected: (reason) => rejected.inc({ reason }),
    refused: (reason) => refused.inc({ reason }),
    duplicate: (outcome, count = 1) => duplicates.inc({ outcome }, count),
    answered: (seconds) => answer.observe(seconds),
    drained: (count) => drained.inc(count),
    wakeFailed: () => wakeFailures.inc(),
    rejectionsUnrecorded: (count) => unrecorded.inc(count),
    watch(read) {
      const gauge = (name: string, help: string, value: (state: ReturnType<typeof read>) => number) =>
        new Gauge({
          name: `callsync_${name}`,
          help,
          registers,
          collect() {
            this.set(value(read()));
          },
        });
      gauge('webhook_inflight_bytes', 'Bytes of deliveries held in memory.', (state) => state.inflightBytes);
      gauge('spool_records', 'Deliveries that wait in the spool.', (state) => state.spoolRecords);
      gauge('spool_bytes', 'Size of the spool.', (state) => state.spoolBytes);
      gauge('webhook_store_usable', '1 while deliveries go to the inbox, 0 while they go to the spool.', (state) =>
        state.storeUsable ? 1 : 0,
      );
    },
  };
};
