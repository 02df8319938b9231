/** The metrics of one process, in Prometheus form; an OpenTelemetry collector scrapes the same address. */
import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import { withinTime } from '../../lib/backoff.ts';

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

/** One reading for many gauges: a scrape asks the store once, however many gauges show parts of the answer. */
export interface SharedReading<T> {
  /** The last answer, if it is younger than `cacheMs`; undefined if none came within `deadlineMs`. */
  read(): Promise<T | undefined>;
}

/**
 * Answers from the last reading while it is young enough. A reading that fails or is late reads as undefined, never as an
 * error.
 */
export const shareReading = <T>(
  read: () => Promise<T>,
  { cacheMs = 5_000, deadlineMs = 3_000 }: { readonly cacheMs?: number; readonly deadlineMs?: number } = {},
): SharedReading<T> => {
  let cached: { readonly at: number; readonly answer: Promise<T | undefined> } | undefined;
  return {
    read: () => {
      if (cached === undefined || performance.now() - cached.at > cacheMs) {
        const answer = withinTime(read(), deadlineMs, () => new Error('too late')).catch(() => undefined);
        cached = { at: performance.now(), answer };
      }
      return cached.answer;
    },
  };
};

export type Labels = Readonly<Record<string, string>>;
/** A figure with its labels; without any, the one series of the gauge. */
export type Sample = readonly [value: number, labels?: Labels];

/** A gauge over a shared reading; it has no series while there is no reading. */
export const gaugeOver = <T>(
  registry: Registry,
  reading: SharedReading<T>,
  gauge: {
    readonly name: string;
    readonly help: string;
    readonly labels?: readonly string[];
    readonly samples: (state: T) => readonly Sample[];
  },
): void => {
  new Gauge({
    name: gauge.name,
    help: gauge.help,
    labelNames: [...(gauge.labels ?? [])],
    registers: [registry],
    async collect() {
      const state = await reading.read();
      if (gauge.labels === undefined) this.remove();
      else this.reset();
      for (const [value, labels = {}] of state === undefined ? [] : gauge.samples(state))
        this.set({ ...labels }, value);
    },
  });
};

/** A counter of growing totals, which it reads at each scrape. */
export const counterOver = (
  registry: Registry,
  counter: {
    readonly name: string;
    readonly help: string;
    readonly labels?: readonly string[];
    readonly samples: () => readonly Sample[] | Promise<readonly Sample[]>;
  },
): void => {
  new Counter({
    name: counter.name,
    help: counter.help,
    labelNames: [...(counter.labels ?? [])],
    registers: [registry],
    async collect() {
      this.reset();
      for (const [value, labels = {}] of await counter.samples()) this.inc({ ...labels }, value);
    },
  });
};
