/** Serves the metrics of a process. */
import type { Registry } from 'prom-client';
import { CallsyncError } from '../errors.ts';
import { serveMetrics } from '../metrics/server.ts';
import type { Services } from './services/services.ts';

/**
 * Returns the address of /metrics, if this process has one.
 * @param input.portMayBeTaken several workers run on one host: all but the first go without.
 */
export const openMetrics = async (
  services: Services,
  input: { readonly registry: Registry; readonly portMayBeTaken?: boolean },
): Promise<string | undefined> => {
  const { serve, listen, port } = services.config.metrics;
  const { registry, portMayBeTaken = false } = input;
  if (serve !== 'separate') return undefined;
  try {
    const server = await serveMetrics({ registry, listen, port });
    services.defer(() => server.close());
    return server.address;
  } catch (error) {
    if (!portMayBeTaken || !(error instanceof CallsyncError)) throw error;
    services.log('metrics are not served: another process has the port', { port });
    return undefined;
  }
};
