/** The metrics of one process, in Prometheus form; an OpenTelemetry collector scrapes the same address. */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { withinTime } from '../../lib/timing.ts';
import type { ReadDeps, WorkObserver } from '../../pipeline/deps.ts';
import type { Health, NamedUsage, ProofHealth, StepLatency, WarehouseHealth } from '../read-health.ts';

/** Gauges that prom-client names like counters, which Prometheus' own check refuses; their parts by type stay. */
const misnamed = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total'];

/**
 * @param options.process_metrics also count memory, CPU and event loop of the process.
 * @param options.version of callsync.
 */
export const createRegistry = (options: { readonly process_metrics: boolean; readonly version: string }): Registry => {
  const registry = new Registry();
  new Gauge({
    name: 'callsync_build_info',
    help: 'Always 1; the labels have the version.',
    labelNames: ['version', 'node'],
    registers: [registry],
  }).set({ version: options.version, node: process.versions.node }, 1);
  if (options.process_metrics) {
    collectDefaultMetrics({ register: registry });
    for (const name of misnamed) registry.removeSingleMetric(name);
  }
  return registry;
};

/**
 * One reading for many gauges: a scrape asks the store once, however many gauges show parts of the answer. Undefined where
 * there is no answer.
 */
export type SharedReading<T> = () => Promise<T | undefined>;

/**
 * Answers from the last reading while it is younger than `cacheMs`. A reading that fails, or takes longer than `deadlineMs`,
 * reads as undefined, never as an error.
 */
export const shareReading = <T>(
  read: () => Promise<T>,
  { cacheMs = 5_000, deadlineMs = 3_000 }: { readonly cacheMs?: number; readonly deadlineMs?: number } = {},
): SharedReading<T> => {
  let cached: { readonly at: number; readonly answer: Promise<T | undefined> } | undefined;
  return () => {
    if (cached === undefined || performance.now() - cached.at > cacheMs) {
      const answer = withinTime(read(), deadlineMs, () => new Error('too late')).catch(() => undefined);
      cached = { at: performance.now(), answer };
    }
    return cached.answer;
  };
};

/** Makes metrics that the process counts itself: `callsync_` and each name. */
export const createMetrics = (registry: Registry) => {
  const registers = [registry];
  return {
    counter: <Label extends string>(name: string, help: string, labelNames: readonly Label[] = []) =>
      new Counter<Label>({ name: `callsync_${name}`, help, labelNames, registers }),
    /** @param buckets upper bounds */
    histogram: <Label extends string>(name: string, help: string, buckets: number[], labels: readonly Label[] = []) =>
      new Histogram<Label>({ name: `callsync_${name}`, help, buckets, labelNames: labels, registers }),
  };
};

type Labels = Readonly<Record<string, string>>;
/** A figure with its labels. */
type Sample = readonly [value: number | null, labels: Labels];

/**
 * A figure that is read at each scrape, or its name in the state; null gives no series. A metric whose name ends in `_total` is a
 * counter.
 */
export type Metric<T> = readonly [
  name: string,
  help: string,
  figures:
    | { [K in keyof T]: T[K] extends number ? K : never }[keyof T]
    | ((state: T) => number | null | readonly Sample[]),
  labels?: readonly string[],
];

/**
 * Metrics over the parts of one reading: `callsync_` and each name. A metric has no series while there is no reading.
 * @param labelsOf those of a part, the same names for each.
 */
export const watch = <T, P = T>(
  registry: Registry,
  reading: SharedReading<T>,
  metrics: readonly Metric<P>[],
  partsOf: (state: T) => readonly P[] = (state) => [state as never],
  labelsOf: (part: P) => Labels = () => ({}),
): void => {
  for (const [name, help, figures, more = []] of metrics) {
    const labelNames = [...Object.keys(labelsOf({} as P)), ...more];
    new (name.endsWith('_total') ? Counter : Gauge)({
      name: `callsync_${name}`,
      help,
      labelNames,
      registers: [registry],
      async collect(this: Pick<Gauge, 'inc' | 'remove' | 'reset'>) {
        const state = await reading();
        if (labelNames.length === 0) this.remove();
        else this.reset();
        for (const part of state === undefined ? [] : partsOf(state)) {
          const found = typeof figures === 'function' ? figures(part) : (part[figures] as number);
          const samples: readonly Sample[] = typeof found === 'object' && found !== null ? found : [[found, {}]];
          for (const [value, labels] of samples) if (value !== null) this.inc({ ...labelsOf(part), ...labels }, value);
        }
      },
    });
  }
};

// Gauges over the store and over quotas: read when metrics are scraped. A gauge whose reading does not come has no sample.

const toSeconds = (milliseconds: number | null): number | null => milliseconds && milliseconds / 1000;

const storeGauges: readonly Metric<Health>[] = [
  ['ledger_calls', 'Calls in the ledger.', 'calls'],
  ['ledger_tombstones', 'Erased calls in the ledger.', 'tombstones'],
  ['unread_utterances_total', 'Utterances that privacy rules replaced by [unread].', 'unread'],
  ['quarantine_open', 'Records in quarantine that wait for a decision.', ({ quarantine }) => quarantine.count],
  [
    'quarantine_oldest_age_seconds',
    'Age of the oldest open record in quarantine; 0 = none.',
    ({ quarantine }) => quarantine.oldestAge ?? 0,
  ],
  ['rereads_pending', 'Calls that callsync must read again from the API.', ({ rereads }) => rereads.count],
  [
    'rereads_oldest_age_seconds',
    'Age of the oldest call that callsync must read again; 0 = none.',
    ({ rereads }) => rereads.oldestAge ?? 0,
  ],
  [
    'sync_lag_seconds',
    'Time for which the newest calls of the service have not been read; a backlog does not count.',
    ({ sync }) => sync?.lag ?? null,
  ],
  ['sync_watermark_age_seconds', 'Age of the watermark; a backlog counts.', ({ sync }) => sync?.watermarkAge ?? null],
  ['window_problems_open', 'Windows that callsync read but could not show to be complete.', 'openProblems'],
];

const warehouseGauges: readonly Metric<WarehouseHealth>[] = [
  ['warehouse_pending_calls', 'Calls that a warehouse does not have in their present revision.', 'pending'],
  [
    'warehouse_pending_oldest_age_seconds',
    'Age of the oldest change (live) or erasure that a warehouse does not have yet; 0 = none. A backlog has no age.',
    ({ liveOldestAge, erasureOldestAge }) => [
      [liveOldestAge ?? 0, { kind: 'live' }],
      [erasureOldestAge ?? 0, { kind: 'erasure' }],
    ],
    ['kind'],
  ],
  ['warehouse_last_load_timestamp_seconds', 'Time of the last committed load.', (one) => toSeconds(one.lastLoadAt)],
  [
    'warehouse_newest_call_timestamp_seconds',
    'Time of the newest call that a warehouse has.',
    (one) => toSeconds(one.newestVisible),
  ],
];

const proofGauges: readonly Metric<ProofHealth>[] = [
  [
    'windows_unproven',
    'Windows of the last three months whose latest verdict is neither proven nor healed.',
    'unproven',
  ],
  ['windows_suspicious_empty', 'Windows of the last three months that are suspiciously empty.', 'suspiciousEmpty'],
];

const latencyGauges: readonly Metric<StepLatency>[] = [
  [
    'delivery_visible_seconds',
    'Time from the arrival of the newest deliveries to the first load of their changes; later loads do not count.',
    ({ p50, p95 }) => [
      [p50, { percentile: '50' }],
      [p95, { percentile: '95' }],
    ],
    ['percentile'],
  ],
];

const usageMetrics: readonly Metric<NamedUsage>[] = [
  ['quota_used_ratio', 'Part of a daily quota of a warehouse that is used.', ({ jobs }) => jobs.used / jobs.limit],
  ['quota_used', 'Used part of a daily quota of a warehouse, as a count.', ({ jobs }) => jobs.used],
];
const costMetrics: readonly Metric<NamedUsage>[] = [
  ['warehouse_billed_bytes_total', 'Bytes that a warehouse billed for the queries of this process.', 'billedBytes'],
];

interface StoreReadings {
  readonly health: SharedReading<Health>;
  readonly proofs: SharedReading<readonly ProofHealth[]>;
  readonly latency: SharedReading<readonly StepLatency[]>;
}

const labelsOf = ({ warehouse }: { readonly warehouse: string | null }) => ({ warehouse: warehouse ?? '' });
const allOf = <T>(all: readonly T[]): readonly T[] => all;

/**
 * Registers the gauges over the store: queues, watermarks, verdicts.
 * @param rules.requestsAllowed requests of `source.limits` in its time.
 */
export const watchStore = (
  registry: Registry,
  { health, proofs, latency }: StoreReadings,
  rules: { readonly requestsAllowed: number },
): void => {
  const limit: Metric<Health> = [
    'source_limit_used_ratio',
    'Used part of the request limit, of all workers together.',
    ({ grantedRequests }) => grantedRequests / rules.requestsAllowed,
  ];
  const named = ({ name }: WarehouseHealth) => ({ warehouse: name });
  const measured = (all: readonly StepLatency[]) => all.filter(({ warehouse }) => warehouse !== null);
  watch(registry, health, [...storeGauges, limit]);
  watch(registry, health, warehouseGauges, ({ warehouses }) => warehouses, named);
  watch(registry, proofs, proofGauges, allOf, labelsOf);
  watch(registry, latency, latencyGauges, measured, labelsOf);
  const isUp = async () => (await health()) !== undefined;
  watch(registry, isUp, [['store_up', '1 while the store answers this process, else 0.', Number]]);
};

/** Quota and cost of warehouses with limits. Asks the store, never the warehouse. */
export const watchUsage = (registry: Registry, usage: SharedReading<readonly NamedUsage[]>): void => {
  watch(registry, usage, usageMetrics, allOf, (one) => ({ ...labelsOf(one), quota: 'load_jobs' }));
  watch(registry, usage, costMetrics, allOf, labelsOf);
};

/** @param oldestAge in seconds, by the clock of the store */
type InboxState = { readonly pending: number; readonly oldestAge: number };
const inboxGauges: readonly Metric<InboxState>[] = [
  ['inbox_pending', 'Deliveries in the inbox that are not folded yet.', 'pending'],
  ['inbox_oldest_age_seconds', 'Age of the oldest delivery that is not folded yet; 0 = none waits.', 'oldestAge'],
];

/**
 * Depth of the inbox and age of its oldest delivery, by the receiver's own connections. While the store does not answer, both
 * gauges have no value. An answer is reused for `cacheMs`.
 */
export const watchInbox = (options: { registry: Registry; read: () => Promise<InboxState>; cacheMs?: number }): void =>
  watch(options.registry, shareReading(options.read, options), inboxGauges);

// Work of this process: folded calls, committed loads, requests to the service and to its identity provider.

type CountedSource = Pick<ReadDeps['source'], 'api' | 'tokens'>;

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
  ['source_received_bytes_total', 'Bytes of answers of the call API, decoded.', ({ api }) => api.counts.bodyBytes],
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
  watch(registry, async () => source, sourceCounters);
