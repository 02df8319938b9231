import { connectWorker } from '../../temporal/connect-worker.ts';
import { startWorkers, type WorkerGroup, type WorkerRole } from '../../temporal/worker.ts';
import { activityDeps } from './activity-deps.ts';
import type { Parts } from './open-parts.ts';
import type { Services } from './services.ts';

/** Workers of this process, polling until the services are closed. Without `roles` they do everything. */
export const openWorkers = async (
  services: Services,
  parts: Parts,
  roles?: readonly WorkerRole[],
): Promise<WorkerGroup> => {
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
