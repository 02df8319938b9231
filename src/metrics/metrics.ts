/** The metrics of one process. */
import { Counter, collectDefaultMetrics, Registry } from 'prom-client';
import { createWebhookMetrics, type WebhookMetrics } from './webhook-metrics.ts';

export interface Metrics {
  readonly registry: Registry;
  readonly webhook: WebhookMetrics;
  /** Observations that reached the ledger's door, by source. */
  arrived(source: 'webhook' | 'poll' | 'import', count: number): void;
}

/** @param options.process also count memory, CPU and event loop of the process. */
export const createMetrics = (options: { process?: boolean } = {}): Metrics => {
  const registry = new Registry();
  if (options.process) collectDefaultMetrics({ register: registry });
  const arrivals = new Counter({
    name: 'callsync_arrivals_total',
    help: 'Observations of calls, by source.',
    labelNames: ['source'],
    registers: [registry],
  });
  return {
    registry,
    webhook: createWebhookMetrics(registry),
    arrived: (source, count) => arrivals.inc({ source }, count),
  };
};
