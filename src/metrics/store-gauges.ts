/** What waits, what is proven and how fresh it is: read from the operational store when metrics are scraped. */
import type { Registry } from 'prom-client';
import { counterOver } from './counters.ts';
import { gaugeOver, type Labels, type Sample, type SharedReading } from './shared-reading.ts';

interface Waiting {
  readonly count: number;
  readonly oldestAge: number | null;
}

/** Ages in seconds, null = nothing waits or nothing happened yet. */
export interface WatchedStore {
  readonly calls: number;
  readonly tombstones: number;
  readonly quarantine: Waiting;
  readonly rereads: Waiting;
  readonly warehouses: readonly {
    readonly name: string;
    readonly pending: number;
    readonly liveOldestAge: number | null;
    readonly erasureOldestAge: number | null;
    readonly lastLoadAge: number | null;
    readonly newestVisible: number | null;
  }[];
  readonly sync: { readonly lag: number | null; readonly watermarkAge: number } | null;
  readonly openProblems: number;
  readonly grantedRequests: number;
}

export interface WatchedVerdicts {
  readonly warehouse: string;
  readonly unproven: number;
  readonly suspiciousEmpty: number;
}

export interface WatchedUsage {
  readonly warehouse: string;
  readonly jobs: { readonly used: number; readonly limit: number };
  readonly billedBytes: number;
}

/** Not a number is no sample. */
const known = (value: number | null, labels: Labels = {}): readonly Sample[] =>
  value === null ? [] : [[value, labels]];
const secondsNow = (): number => Date.now() / 1000;

/**
 * Registers the gauges over the store: queues, watermarks, verdicts. A gauge whose reading does not come has no sample.
 * @param rules.requestsAllowed requests of `source.limits` in its time.
 */
export const watchStore = (
  registry: Registry,
  readings: {
    readonly store: SharedReading<WatchedStore>;
    readonly verdicts: SharedReading<readonly WatchedVerdicts[]>;
  },
  rules: { readonly requestsAllowed: number },
): void => {
  const { store, verdicts } = readings;
  const gauge = (name: string, help: string, samples: (state: WatchedStore) => readonly Sample[]): void =>
    gaugeOver(registry, store, { name: `callsync_${name}`, help, samples });
  const ofWarehouses = (
    name: string,
    help: string,
    samples: (one: WatchedStore['warehouses'][number], labels: Labels) => readonly Sample[],
    labels: readonly string[] = ['warehouse'],
  ): void =>
    gaugeOver(registry, store, {
      name: `callsync_warehouse_${name}`,
      help,
      labels,
      samples: ({ warehouses }) => warehouses.flatMap((one) => samples(one, { warehouse: one.name })),
    });

  gauge('ledger_calls', 'Calls in the ledger.', ({ calls }) => [[calls]]);
  gauge('ledger_tombstones', 'Erased calls in the ledger.', ({ tombstones }) => [[tombstones]]);
  gauge('quarantine_open', 'Records that could not be read and wait for a decision.', ({ quarantine }) => [
    [quarantine.count],
  ]);
  gauge('quarantine_oldest_age_seconds', 'Age of the oldest open record in quarantine; 0 = none.', ({ quarantine }) => [
    [quarantine.oldestAge ?? 0],
  ]);
  gauge('rereads_pending', 'Calls that are to be read again from the API.', ({ rereads }) => [[rereads.count]]);
  gauge('rereads_oldest_age_seconds', 'Age of the oldest call that is to be read again; 0 = none.', ({ rereads }) => [
    [rereads.oldestAge ?? 0],
  ]);
  gauge(
    'sync_lag_seconds',
    'Time since which the newest calls of the service are not read; no backlog counts.',
    (one) => known(one.sync?.lag ?? null),
  );
  gauge('sync_watermark_age_seconds', 'Time since the end of the gapless part that is read: backlog counts.', (one) =>
    known(one.sync?.watermarkAge ?? null),
  );
  gauge('window_problems_open', 'Windows that were read and could not be shown complete.', ({ openProblems }) => [
    [openProblems],
  ]);
  gauge('source_limit_used_ratio', 'Part of the request limit that is used now, by all workers together.', (one) => [
    [one.grantedRequests / rules.requestsAllowed],
  ]);
  ofWarehouses('pending_calls', 'Calls that a warehouse does not have in their present revision.', (one, labels) => [
    [one.pending, labels],
  ]);
  ofWarehouses(
    'pending_oldest_age_seconds',
    'Age of the oldest change (live) or erasure that a warehouse does not have yet; 0 = none. A backlog has no age.',
    (one, labels) => [
      [one.liveOldestAge ?? 0, { ...labels, kind: 'live' }],
      [one.erasureOldestAge ?? 0, { ...labels, kind: 'erasure' }],
    ],
    ['warehouse', 'kind'],
  );
  ofWarehouses('last_load_timestamp_seconds', 'When a load was last committed.', (one, labels) =>
    one.lastLoadAge === null ? [] : known(secondsNow() - one.lastLoadAge, labels),
  );
  ofWarehouses('newest_call_timestamp_seconds', 'Time of the newest call that a warehouse has.', (one, labels) =>
    one.newestVisible === null ? [] : known(one.newestVisible / 1000, labels),
  );
  gaugeOver(registry, verdicts, {
    name: 'callsync_windows_unproven',
    help: 'Windows of the last days whose latest verdict is neither proven nor healed.',
    labels: ['warehouse'],
    samples: (all) => all.map(({ warehouse, unproven }) => [unproven, { warehouse }]),
  });
  gaugeOver(registry, verdicts, {
    name: 'callsync_windows_suspicious_empty',
    help: 'Windows of the last days that were too empty to be believed.',
    labels: ['warehouse'],
    samples: (all) => all.map(({ warehouse, suspiciousEmpty }) => [suspiciousEmpty, { warehouse }]),
  });
  gaugeOver(
    registry,
    { read: async () => (await store.read()) !== undefined },
    {
      name: 'callsync_store_up',
      help: '1 while the operational store answers this process, else 0.',
      samples: (up) => [[up ? 1 : 0]],
    },
  );
};

/** Quota and cost of warehouses that have such; asks the store, never the warehouse. */
export const watchUsage = (registry: Registry, usage: SharedReading<readonly WatchedUsage[]>): void => {
  const gauge = (name: string, help: string, value: (one: WatchedUsage) => number): void =>
    gaugeOver(registry, usage, {
      name: `callsync_${name}`,
      help,
      labels: ['warehouse', 'quota'],
      samples: (all) => all.map((one) => [value(one), { warehouse: one.warehouse, quota: 'load_jobs' }]),
    });
  gauge('quota_used_ratio', 'Part of a daily quota of a warehouse that is used.', ({ jobs }) => jobs.used / jobs.limit);
  gauge('quota_used', 'What is used of a daily quota of a warehouse.', ({ jobs }) => jobs.used);
  counterOver(registry, {
    name: 'callsync_warehouse_billed_bytes_total',
    help: 'Bytes that a warehouse billed for the queries of this process.',
    labels: ['warehouse'],
    samples: async () => (await usage.read())?.map((one) => [one.billedBytes, { warehouse: one.warehouse }]) ?? [],
  });
};
