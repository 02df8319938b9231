/** The metrics of one process, in Prometheus form; an OpenTelemetry collector scrapes the same address. */
import { collectDefaultMetrics, Registry } from 'prom-client';

/** @param options.process_metrics also count memory, CPU and event loop of the process. */
export const createRegistry = (options: { readonly process_metrics: boolean }): Registry => {
  const registry = new Registry();
  if (options.process_metrics) collectDefaultMetrics({ register: registry });
  return registry;
};
