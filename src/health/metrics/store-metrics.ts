/** Gauges over the store and over quotas: read when metrics are scraped. A gauge whose reading does not come has no sample. */
import type { Registry } from 'prom-client';
import type { Health, ProofHealth, StepLatency, WarehouseHealth, WarehouseUsage } from '../read-health.ts';
import { type Metric, type SharedReading, shareReading, watch } from './registry.ts';

const toSeconds = (milliseconds: number | null): number | null => milliseconds && milliseconds / 1000;

const storeGauges: readonly Metric<Health>[] = [
  ['ledger_calls', 'Calls in the ledger.', ({ calls }) => calls],
  ['ledger_tombstones', 'Erased calls in the ledger.', ({ tombstones }) => tombstones],
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
  [
    'window_problems_open',
    'Windows that callsync read but could not show to be complete.',
    ({ openProblems }) => openProblems,
  ],
];

const warehouseGauges: readonly Metric<WarehouseHealth>[] = [
  [
    'warehouse_pending_calls',
    'Calls that a warehouse does not have in their present revision.',
    ({ pending }) => pending,
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
    ({ unproven }) => unproven,
  ],
  [
    'windows_suspicious_empty',
    'Windows of the last three months that are suspiciously empty.',
    ({ suspiciousEmpty }) => suspiciousEmpty,
  ],
];

const latencyGauges: readonly Metric<StepLatency>[] = [
  [
    'delivery_visible_seconds',
    'Time from the arrival of the newest deliveries to the first load of their changes; later loads do not count.',
    ({ p50, p95 }) =>
      p50 === null || p95 === null
        ? null
        : [
            [p50, { quantile: '0.5' }],
            [p95, { quantile: '0.95' }],
          ],
    ['quantile'],
  ],
];

const usageMetrics: readonly Metric<WarehouseUsage>[] = [
  ['quota_used_ratio', 'Part of a daily quota of a warehouse that is used.', ({ jobs }) => jobs.used / jobs.limit],
  ['quota_used', 'Used part of a daily quota of a warehouse, as a count.', ({ jobs }) => jobs.used],
];
const billedBytes: Metric<WarehouseUsage> = [
  'warehouse_billed_bytes_total',
  'Bytes that a warehouse billed for the queries of this process.',
  (usage) => usage.billedBytes,
];

export interface StoreReadings {
  readonly health: SharedReading<Health>;
  readonly proofs: SharedReading<readonly ProofHealth[]>;
  readonly latency: SharedReading<readonly StepLatency[]>;
}

type OfWarehouse = { readonly warehouse: string | null };
const labelsOf = ({ warehouse }: OfWarehouse) => ({ warehouse: warehouse ?? '' });
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
  watch(registry, { read: async () => (await health.read()) !== undefined }, [
    ['store_up', '1 while the store answers this process, else 0.', Number],
  ]);
};

/** Quota and cost of warehouses with limits. Asks the store, never the warehouse. */
export const watchUsage = (registry: Registry, usage: SharedReading<readonly WarehouseUsage[]>): void => {
  watch(registry, usage, usageMetrics, allOf, (one) => ({ ...labelsOf(one), quota: 'load_jobs' }));
  watch(registry, usage, [billedBytes], allOf, labelsOf);
};

type InboxState = { readonly pending: number; readonly oldestReceivedAt: Date | null };
const inboxGauges: readonly Metric<InboxState>[] = [
  ['inbox_pending', 'Deliveries in the inbox that are not folded yet.', ({ pending }) => pending],
  [
    'inbox_oldest_age_seconds',
    'Age of the oldest delivery that is not folded yet; 0 = none waits.',
    ({ oldestReceivedAt: oldest }) => (oldest === null ? 0 : Math.max(0, (Date.now() - oldest.getTime()) / 1_000)),
  ],
];

/**
 * Depth of the inbox and age of its oldest delivery, by the receiver's own connections. While the store does not answer, both
 * gauges have no value. An answer is reused for `cacheMs`.
 */
export const watchInbox = (options: { registry: Registry; read: () => Promise<InboxState>; cacheMs?: number }): void =>
  watch(options.registry, shareReading(options.read, options), inboxGauges);
