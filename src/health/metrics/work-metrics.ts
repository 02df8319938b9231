/** Work of this process: folded calls, committed loads, requests to the service and to its identity provider. */
import { Counter, Histogram, type Registry } from 'prom-client';
import type { WorkObserver } from '../../pipeline/deps.ts';
import { counterOver } from './registry.ts';

interface CountedSource {
  readonly api: {
    readonly counts: {
      readonly requests: number;
      readonly retries: number;
      readonly rateLimited: number;
      readonly wireBytes: number;
      readonly waitedMs: number;
      readonly answers: ReadonlyMap<string, number>;
    };
  };
  readonly tokens: { readonly counts: { readonly requests: number; readonly failures: number } };
}

/** Registers the counters and returns the observer that counts into them. Call it once for a registry. */
export const createWorkMetrics = (registry: Registry): WorkObserver => {
  const registers = [registry];
  const folded = new Counter({
    name: 'callsync_calls_merged_total',
    help: 'Observations of calls by source and outcome: changed, unchanged, quarantined.',
    labelNames: ['origin', 'outcome'],
    registers,
  });
  // The rule that notices silent webhooks compares these two from the first scrape on.
  for (const origin of ['sync', 'inbox']) folded.inc({ origin, outcome: 'changed' }, 0);
  const loads = new Counter({
    name: 'callsync_loads_total',
    help: 'Loads into a warehouse, by outcome.',
    labelNames: ['warehouse', 'outcome'],
    registers,
  });
  const loadedCalls = new Counter({
    name: 'callsync_load_calls_total',
    help: 'Calls in committed loads.',
    labelNames: ['warehouse'],
    registers,
  });
  const loadSeconds = new Histogram({
    name: 'callsync_load_seconds',
    help: 'Time from the start of a load to its recorded commit.',
    labelNames: ['warehouse'],
    buckets: [0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300],
    registers,
  });
  return {
    folded: (batch) => {
      const origin = batch.origin.split(':', 1)[0] ?? '';
      folded.inc({ origin, outcome: 'changed' }, batch.changed);
      folded.inc({ origin, outcome: 'unchanged' }, batch.unchanged);
      folded.inc({ origin, outcome: 'quarantined' }, batch.rejected);
    },
    loaded: ({ warehouse, outcome, calls, seconds }) => {
      loads.inc({ warehouse, outcome });
      if (outcome === 'failed') return;
      loadedCalls.inc({ warehouse }, calls);
      loadSeconds.observe({ warehouse }, seconds);
    },
  };
};

/** Registers the counters of requests, answers and tokens since the start of the process. */
export const watchSource = (registry: Registry, { api, tokens }: CountedSource): void => {
  const counter = (name: string, help: string, value: () => number): void =>
    counterOver(registry, { name: `callsync_${name}`, help, samples: () => [[value()]] });
  counter('source_requests_total', 'Requests sent to the call API.', () => api.counts.requests);
  counter('source_retries_total', 'Requests to the call API that repeat a failed one.', () => api.counts.retries);
  counter('source_rate_limited_total', 'Answers 429 of the call API.', () => api.counts.rateLimited);
  counter('source_received_bytes_total', 'Bytes of answers of the call API on the wire.', () => api.counts.wireBytes);
  counter(
    'source_limit_wait_seconds_total',
    'Time that requests waited for the request limit.',
    () => api.counts.waitedMs / 1000,
  );
  counterOver(registry, {
    name: 'callsync_source_answers_total',
    help: 'Answers of the call API, by the class of their status.',
    labels: ['status'],
    samples: () => ['2', '3', '4', '5'].map((digit) => [api.counts.answers.get(digit) ?? 0, { status: `${digit}xx` }]),
  });
  counter('token_requests_total', 'Requests for an access token.', () => tokens.counts.requests);
  counter('token_failures_total', 'Requests for an access token that failed.', () => tokens.counts.failures);
};
