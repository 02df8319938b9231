/** Work of this process: folded calls, committed loads, requests to the service and to its identity provider. */
import type { Registry } from 'prom-client';
import type { WorkObserver } from '../../pipeline/deps.ts';
import { createMetrics, type Metric, watch } from './registry.ts';

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
  const { counter, histogram } = createMetrics(registry);
  const folded = counter(
    'calls_merged_total',
    'Observations of calls by source and outcome: changed, unchanged, quarantined.',
    ['origin', 'outcome'],
  );
  // The rule that notices silent webhooks compares these two from the first scrape on.
  for (const origin of ['sync', 'inbox']) folded.inc({ origin, outcome: 'changed' }, 0);
  const loads = counter('loads_total', 'Loads into a warehouse, by outcome.', ['warehouse', 'outcome']);
  const loadedCalls = counter('load_calls_total', 'Calls in committed loads.', ['warehouse']);
  const buckets = [0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300];
  const duration = 'Time from the start of a load to its recorded commit.';
  const loadSeconds = histogram('load_seconds', duration, buckets, ['warehouse']);
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

const sourceCounters: readonly Metric<CountedSource>[] = [
  ['source_requests_total', 'Requests sent to the call API.', ({ api }) => api.counts.requests],
  ['source_retries_total', 'Requests to the call API that repeat a failed one.', ({ api }) => api.counts.retries],
  ['source_rate_limited_total', 'Answers 429 of the call API.', ({ api }) => api.counts.rateLimited],
  ['source_received_bytes_total', 'Bytes of answers of the call API on the wire.', ({ api }) => api.counts.wireBytes],
  [
    'source_limit_wait_seconds_total',
    'Time that requests waited for the request limit.',
    ({ api }) => api.counts.waitedMs / 1000,
  ],
  [
    'source_answers_total',
    'Answers of the call API, by the class of their status.',
    ({ api }) => ['2', '3', '4', '5'].map((digit) => [api.counts.answers.get(digit) ?? 0, { status: `${digit}xx` }]),
    ['status'],
  ],
  ['token_requests_total', 'Requests for an access token.', ({ tokens }) => tokens.counts.requests],
  ['token_failures_total', 'Requests for an access token that failed.', ({ tokens }) => tokens.counts.failures],
];

/** Registers the counters of requests, answers and tokens since the start of the process. */
export const watchSource = (registry: Registry, source: CountedSource): void =>
  watch(registry, { read: async () => source }, sourceCounters);
