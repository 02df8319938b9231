/** Requests to the service and to its identity provider, as their clients count them. */
import type { Registry } from 'prom-client';
import { counterOver } from './counters.ts';

export interface CountedSource {
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

/**
 * Registers the counters of requests, answers and tokens. They show what the parts counted since the process started.
 */
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
