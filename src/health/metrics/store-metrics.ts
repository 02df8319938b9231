/** Gauges over the store and over quotas: read when metrics are scraped. A gauge whose reading does not come has no sample. */
import type { Registry } from 'prom-client';
import type { Health, ProofHealth, StepLatency, WarehouseHealth, WarehouseUsage } from '../read-health.ts';
import { counterOver, gaugeOver, type Labels, type Sample, type SharedReading, shareReading } from './registry.ts';

/** An unknown value gives no sample. */
const known = (value: number | null, labels: Labels = {}): readonly Sample[] =>
  value === null ? [] : [[value, labels]];

type Gauge<T> = readonly [
  name: string,
  help: string,
  samples: (state: T) => readonly Sample[],
  labels?: readonly string[],
];

const storeGauges: readonly Gauge<Health>[] = [
  ['ledger_calls', 'Calls in the ledger.', ({ calls }) => [[calls]]],
  ['ledger_tombstones', 'Erased calls in the ledger.', ({ tombstones }) => [[tombstones]]],
  ['quarantine_open', 'Records in quarantine that wait for a decision.', ({ quarantine }) => [[quarantine.count]]],
  [
    'quarantine_oldest_age_seconds',
    'Age of the oldest open record in quarantine; 0 = none.',
    ({ quarantine }) => [[quarantine.oldestAge ?? 0]],
  ],
  ['rereads_pending', 'Calls that callsync must read again from the API.', ({ rereads }) => [[rereads.count]]],
  [
    'rereads_oldest_age_seconds',
    'Age of the oldest call that callsync must read again; 0 = none.',
    ({ rereads }) => [[rereads.oldestAge ?? 0]],
  ],
  [
    'sync_lag_seconds',
    'Time for which the newest calls of the service have not been read; a backlog does not count.',
    ({ sync }) => known(sync?.lag ?? null),
  ],
  [
    'sync_watermark_age_seconds',
    'Age of the watermark; a backlog counts.',
    ({ sync }) => known(sync?.watermarkAge ?? null),
  ],
  [
    'window_problems_open',
    'Windows that callsync read but could not show to be complete.',
    ({ openProblems }) => [[openProblems]],
  ],
];

const warehouseGauges: readonly Gauge<WarehouseHealth>[] = [
  [
    'warehouse_pending_calls',
    'Calls that a warehouse does not have in their present revision.',
    ({ pending }) => [[pending]],
  ],
  [
    'warehouse_pending_oldest_age_seconds',
    'Age of the oldest change (live) or erasure that a warehouse does not have yet; 0 = none. A backlog has no age.',
    ({ liveOldestAge, erasureOldestAge }) => [
      [liveOldestAge ?? 0, { kind: 'live' }],
      [erasureOldestAge ?? 0, { kind: 'erasure' }],
    ],
    ['kind'],
  ],
  [
    'warehouse_last_load_timestamp_seconds',
    'Time of the last committed load.',
    ({ lastLoadAt }) => known(lastLoadAt === null ? null : lastLoadAt / 1000),
  ],
  [
    'warehouse_newest_call_timestamp_seconds',
    'Time of the newest call that a warehouse has.',
    ({ newestVisible }) => known(newestVisible === null ? null : newestVisible / 1000),
  ],
];

const proofGauges: readonly Gauge<ProofHealth>[] = [
  [
    'windows_unproven',
    'Windows of the last days whose latest verdict is neither proven nor healed.',
    ({ unproven }) => [[unproven]],
  ],
  [
    'windows_suspicious_empty',
    'Windows of the last days that are suspiciously empty.',
    ({ suspiciousEmpty }) => [[suspiciousEmpty]],
  ],
];

const latencyGauges: readonly Gauge<StepLatency>[] = [
  [
    'delivery_visible_seconds',
    'Time from the arrival of the newest deliveries to the first load of their changes; later loads do not count.',
    ({ p50, p95 }) => [...known(p50, { quantile: '0.5' }), ...known(p95, { quantile: '0.95' })],
    ['quantile'],
  ],
];

const usageGauges: readonly Gauge<WarehouseUsage>[] = [
  ['quota_used_ratio', 'Part of a daily quota of a warehouse that is used.', ({ jobs }) => [[jobs.used / jobs.limit]]],
  ['quota_used', 'Used part of a daily quota of a warehouse, as a count.', ({ jobs }) => [[jobs.used]]],
];

/** Gauges over the parts of one reading: `callsync_` and each name. @param labelsOf those of a part, the same names for each. */
const watch = <T, P>(
  registry: Registry,
  reading: SharedReading<T>,
  gauges: readonly Gauge<P>[],
  partsOf: (state: T) => readonly P[],
  labelsOf?: (part: P) => Labels,
): void => {
  for (const [name, help, samples, more = []] of gauges)
    gaugeOver(registry, reading, {
      name: `callsync_${name}`,
      help,
      ...(labelsOf && { labels: [...Object.keys(labelsOf({} as P)), ...more] }),
      samples: (state) =>
        partsOf(state).flatMap((part) =>
          samples(part).map(([value, labels]): Sample => [value, { ...labelsOf?.(part), ...labels }]),
        ),
    });
};

export interface StoreReadings {
  readonly health: SharedReading<Health>;
  readonly proofs: SharedReading<readonly ProofHealth[]>;
  readonly latency: SharedReading<readonly StepLatency[]>;
}

/**
 * Registers the gauges over the store: queues, watermarks, verdicts.
 * @param rules.requestsAllowed requests of `source.limits` in its time.
 */
export const watchStore = (
  registry: Registry,
  { health, proofs, latency }: StoreReadings,
  rules: { readonly requestsAllowed: number },
): void => {
  const limit: Gauge<Health> = [
    'source_limit_used_ratio',
    'Used part of the request limit, of all workers together.',
    ({ grantedRequests }) => [[grantedRequests / rules.requestsAllowed]],
  ];
  watch(registry, health, [...storeGauges, limit], (state) => [state]);
  watch(
    registry,
    health,
    warehouseGauges,
    ({ warehouses }) => warehouses,
    ({ name }) => ({ warehouse: name }),
  );
  watch(
    registry,
    proofs,
    proofGauges,
    (all) => all,
    ({ warehouse }) => ({ warehouse }),
  );
  watch(
    registry,
    latency,
    latencyGauges,
    (all) => all.filter(({ warehouse }) => warehouse !== null),
    ({ warehouse }) => ({ warehouse: warehouse ?? '' }),
  );
  const up: Gauge<boolean> = [
    'store_up',
    '1 while the store answers this process, else 0.',
    (isUp) => [[isUp ? 1 : 0]],
  ];
  watch(registry, { read: async () => (await health.read()) !== undefined }, [up], (isUp) => [isUp]);
};

/** Quota and cost of warehouses with limits. Asks the store, never the warehouse. */
export const watchUsage = (registry: Registry, usage: SharedReading<readonly WarehouseUsage[]>): void => {
  watch(
    registry,
    usage,
    usageGauges,
    (all) => all,
    ({ warehouse }) => ({ warehouse, quota: 'load_jobs' }),
  );
  counterOver(registry, {
    name: 'callsync_warehouse_billed_bytes_total',
    help: 'Bytes that a warehouse billed for the queries of this process.',
    labels: ['warehouse'],
    samples: async () => (await usage.read())?.map((one) => [one.billedBytes, { warehouse: one.warehouse }]) ?? [],
  });
};

type InboxState = { readonly pending: number; readonly oldestReceivedAt: Date | null };
const inboxGauges: readonly Gauge<InboxState>[] = [
  ['inbox_pending', 'Deliveries in the inbox that are not folded yet.', ({ pending }) => [[pending]]],
  [
    'inbox_oldest_age_seconds',
    'Age of the oldest delivery that is not folded yet; 0 = none waits.',
    ({ oldestReceivedAt: oldest }) => [[oldest === null ? 0 : Math.max(0, (Date.now() - oldest.getTime()) / 1_000)]],
  ],
];

/**
 * Depth of the inbox and age of its oldest delivery, by the receiver's own connections. While the store does not answer, both
 * gauges have no value. An answer is reused for `cacheMs`.
 */
export const watchInbox = (options: { registry: Registry; read: () => Promise<InboxState>; cacheMs?: number }): void =>
  watch(options.registry, shareReading(options.read, options), inboxGauges, (state) => [state]);
