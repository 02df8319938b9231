/** The metrics of one process, in Prometheus form; an OpenTelemetry collector scrapes the same address. */
import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';

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
    help: 'Always 1; the labels say what runs.',
    labelNames: ['version', 'node'],
    registers: [registry],
  }).set({ version: options.version, node: process.versions.node }, 1);
  if (options.process_metrics) {
    collectDefaultMetrics({ register: registry });
    for (const name of misnamed) registry.removeSingleMetric(name);
  }
  return registry;
};
