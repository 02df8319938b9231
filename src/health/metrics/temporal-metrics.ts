/** The metrics of Temporal's SDK, which counts in native code: its updates are applied to metrics of this process. */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { repeatEvery } from '../../lib/timing.ts';

/** As the SDK's buffer returns them: counters as increments, all others as values. */
interface SdkUpdate {
  readonly metric: {
    readonly name: string;
    readonly kind: 'counter' | 'gauge' | 'histogram' | 'up-down-counter';
    readonly unit?: string;
    readonly description?: string;
  };
  readonly value: number;
  readonly attributes: Readonly<Record<string, string | number | boolean>>;
}

/** Labels that are kept. Everything else is left out: no id of a workflow or a call may become a series. */
const labelNames =
  'namespace task_queue workflow_type activity_type worker_type poller_type operation status_code failure_reason eager'.split(
    ' ',
  );
const drainEveryMs = 1_000;

type Apply = (labels: Record<string, string>, value: number) => void;

/**
 * Applies updates once a second; a buffer that nobody empties drops them.
 * @param retrieve returns the values since its last call, and forgets them
 * @returns ends it, with a last look
 */
export const mergeTemporalMetrics = (registry: Registry, retrieve: () => Iterable<SdkUpdate>) => {
  const known = new Map<string, Apply>();
  const drain = (): void => {
    for (const { metric, value, attributes } of retrieve()) {
      let apply = known.get(metric.name);
      if (apply === undefined) {
        apply = create(registry, metric);
        known.set(metric.name, apply);
      }
      const labels: Record<string, string> = {};
      for (const name of labelNames) if (attributes[name] !== undefined) labels[name] = String(attributes[name]);
      apply(labels, value);
    }
  };
  const stop = repeatEvery(drainEveryMs, async () => drain());
  return () => stop().then(drain);
};

const create = (registry: Registry, { name, kind, unit, description }: SdkUpdate['metric']): Apply => {
  const help = description || `${name} of Temporal's SDK.`;
  const options = { help, labelNames, registers: [registry] };
  if (kind === 'counter') {
    const counter = new Counter({ ...options, name: endingIn(name, '_total') });
    return (labels, value) => counter.inc(labels, value);
  }
  if (kind === 'histogram') {
    const isTime = unit === 's';
    const buckets = isTime ? [0.01, 0.03, 0.1, 0.3, 1, 3, 10, 60, 600] : [1, 10, 100, 1_000];
    const histogram = new Histogram({ ...options, buckets, name: isTime ? endingIn(name, '_seconds') : name });
    return (labels, value) => histogram.observe(labels, value);
  }
  const gauge = new Gauge({ ...options, name });
  return kind === 'gauge' ? (labels, value) => gauge.set(labels, value) : (labels, value) => gauge.inc(labels, value);
};

const endingIn = (name: string, ending: string): string => (name.endsWith(ending) ? name : `${name}${ending}`);
