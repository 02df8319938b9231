/** Prometheus metrics as an OTLP/HTTP JSON export request (opentelemetry-proto, metrics v1). */
import type { MetricObjectWithValues, MetricValue } from 'prom-client';

type Sample = MetricValue<string> & { readonly metricName?: string };
type Labels = Readonly<Record<string, string | number | undefined>>;

/** @param since start of the cumulative series; times in nanoseconds since the epoch, as text. */
export const toOtlp = (options: {
  metrics: readonly MetricObjectWithValues<MetricValue<string>>[];
  attributes: Readonly<Record<string, string>>;
  since: string;
  now: string;
}): object => {
  const { metrics, attributes, since, now } = options;
  const times = { startTimeUnixNano: since, timeUnixNano: now };
  return {
    resourceMetrics: [
      {
        resource: { attributes: toAttributes(attributes) },
        scopeMetrics: [{ scope: { name: 'callsync' }, metrics: metrics.map((metric) => toMetric(metric, times)) }],
      },
    ],
  };
};

interface Times {
  readonly startTimeUnixNano: string;
  readonly timeUnixNano: string;
}

/** OTLP's AGGREGATION_TEMPORALITY_CUMULATIVE. */
const cumulative = 2;

const toMetric = (metric: MetricObjectWithValues<MetricValue<string>>, times: Times): object => {
  const head = { name: metric.name, description: metric.help };
  // prom-client declares an enum but hands out its names.
  const type = String(metric.type);
  if (type === 'histogram') {
    const dataPoints = bySeries(metric.values).map((samples) => toHistogramPoint(metric.name, samples, times));
    return { ...head, histogram: { aggregationTemporality: cumulative, dataPoints } };
  }
  const dataPoints = metric.values.map((sample) => ({
    ...times,
    asDouble: sample.value,
    attributes: toAttributes(sample.labels),
  }));
  if (type === 'counter') {
    return { ...head, sum: { aggregationTemporality: cumulative, isMonotonic: true, dataPoints } };
  }
  return { ...head, gauge: { dataPoints } };
};

const toHistogramPoint = (name: string, samples: readonly Sample[], times: Times): object => {
  const bounds: number[] = [];
  const counts: number[] = [];
  let below = 0;
  let sum = 0;
  let count = 0;
  for (const sample of samples) {
    if (sample.metricName === `${name}_sum`) sum = sample.value;
    else if (sample.metricName === `${name}_count`) count = sample.value;
    else {
      // Prometheus counts up to each bound, OTLP between bounds.
      counts.push(sample.value - below);
      below = sample.value;
      if (sample.labels.le !== '+Inf') bounds.push(Number(sample.labels.le));
    }
  }
  return {
    ...times,
    count: String(count),
    sum,
    bucketCounts: counts.map(String),
    explicitBounds: bounds,
    attributes: toAttributes(withoutBound(samples[0]?.labels ?? {})),
  };
};

const bySeries = (values: readonly Sample[]): readonly Sample[][] => {
  const series = new Map<string, Sample[]>();
  for (const sample of values) {
    const key = JSON.stringify(withoutBound(sample.labels));
    const samples = series.get(key);
    if (samples) samples.push(sample);
    else series.set(key, [sample]);
  }
  return [...series.values()];
};

const withoutBound = ({ le: _le, ...labels }: Labels): Labels => {
  return labels;
};

const toAttributes = (labels: Labels): object[] => {
  return Object.entries(labels).map(([key, value]) => ({ key, value: { stringValue: String(value ?? '') } }));
};
