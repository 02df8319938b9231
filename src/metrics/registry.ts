/** The metrics of one process, in Prometheus form; an OpenTelemetry collector scrapes the same address. */
import { collectDefaultMetrics, Registry } from 'prom-client';

/** @param options.process also count memory, CPU and event loop of the process. */
export const createRegistry = (options: { readonly process: boolean }): Registry => {
  const registry = new Registry();
  if (options.process) collectDefaultMetrics({ register: registry });
  return registry;
};
