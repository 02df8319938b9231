/** The metrics of one process, in Prometheus form; an OpenTelemetry collector scrapes the same address. */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { withinTime } from '../../lib/timing.ts';

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

/** Makes metrics that the process counts itself: `callsync_` and each name. */
export const createMetrics = (registry: Registry) => {
  const registers = [registry];
  return {
    counter: <Label extends string>(name: string, help: string, labelNames: readonly Label[] = []) =>
      new Counter<Label>({ name: `callsync_${name}`, help, labelNames, registers }),
    /** @param buckets upper bounds */
    histogram: <Label extends string>(
      name: string,
      help: string,
      buckets: number[],
      labelNames: readonly Label[] = [],
    ) => new Histogram<Label>({ name: `callsync_${name}`, help, buckets, labelNames, registers }),
  };
};

type Labels = Readonly<Record<string, string>>;
/** A figure with its labels. */
type Sample = readonly [value: number, labels: Labels];

/** A figure that is read at each scrape; null gives no series. A metric whose name ends in `_total` is a counter. */
export type Metric<T> = readonly [
  name: string,
  help: string,
  figures: (state: T) => number | null | readonly Sample[],
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
        const state = await reading.read();
        if (labelNames.length === 0) this.remove();
        else this.reset();
        for (const part of state === undefined ? [] : partsOf(state)) {
          const found = figures(part);
          for (const [value, labels] of typeof found === 'number' ? [[found, {}] as const] : (found ?? []))
            this.inc({ ...labelsOf(part), ...labels }, value);
        }
      },
    });
  }
};
