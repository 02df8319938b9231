import type { Registry } from 'prom-client';
import { mergeTemporalMetrics } from '../../metrics/temporal-metrics.ts';
import { connectWorker } from '../../temporal/connect-worker.ts';
import { installRuntime, startWorkers, type WorkerGroup, type WorkerRole } from '../../temporal/worker.ts';
import { activityDeps } from './activity-deps.ts';
import type { Parts } from './open-parts.ts';
import type { Services } from './services.ts';

interface WorkerOptions {
  /** Without it they do everything. */
  readonly roles?: readonly WorkerRole[] | undefined;
  /** Where the SDK's own metrics go; without it the SDK counts nothing. */
  readonly registry?: Registry | undefined;
}

/** Workers of this process, polling until the services are closed. */
export const openWorkers = async (
  services: Services,
  parts: Parts,
  { roles, registry }: WorkerOptions = {},
): Promise<WorkerGroup> => {
  installRuntime(
    (level, message) => services.log(message, { level }),
    registry &&
      ((buffer) => {
        const merged = mergeTemporalMetrics(registry, () => buffer.retrieveUpdates());
        services.defer(async () => merged.stop());
      }),
  );
  const connection = await connectWorker(services.config.temporal, parts.temporal.address);
  services.defer(() => connection.close());
  const workers = await startWorkers({
    connection,
    config: services.config.temporal,
    deps: activityDeps(services, parts),
    roles,
  });
  services.defer(() => workers.stop());
  return workers;
};
