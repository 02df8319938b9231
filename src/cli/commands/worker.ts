import { type Command, Option } from 'commander';
import { createRegistry } from '../../metrics/registry.ts';
import { ensureSchedules } from '../../temporal/schedules.ts';
import type { WorkerRole } from '../../temporal/worker.ts';
import { type CommonOptions, print, untilStopped, withCommonOptions, withServices } from '../command.ts';
import { openMetrics } from '../open-metrics.ts';
import { activityDeps } from '../services/activity-deps.ts';
import { openSource } from '../services/open-source.ts';
import { openStoreService } from '../services/open-store.ts';
import { openTemporal, openWorkers } from '../services/open-temporal.ts';
import { openWarehouses } from '../services/open-warehouses.ts';

export const addWorker = (command: Command): void => {
  withCommonOptions(command)
    .addOption(
      new Option('--roles <roles...>', 'what it polls for')
        .choices(['workflows', 'read', 'load'])
        .default(['workflows', 'read', 'load']),
    )
    .option('--schedules', 'also start continuous sync: create its schedules, or bring them up to date')
    .addHelpText('after', '\nExamples:\n  callsync worker --config callsync.yaml --roles read load')
    .action((options: CommonOptions & { roles: WorkerRole[]; schedules?: boolean }) =>
      withServices(options, async (services) => {
        const { stopped } = untilStopped();
        const store = await openStoreService(services);
        const targets = await openWarehouses(services, store);
        const source = openSource(services, store);
        const temporal = await openTemporal(services);
        const deps = activityDeps(services, { store, targets, source });
        const workers = await openWorkers(services, temporal, deps, options.roles);
        const { config } = services;
        if (options.schedules) await ensureSchedules(temporal.client, config.temporal.task_queue, config.sync);
        const registry = createRegistry(config.metrics);
        const metrics = await openMetrics(services, { registry, portMayBeTaken: true });
        print(
          options,
          { worker: options.roles, temporal: temporal.address, metrics },
          `worker    ${options.roles.join(', ')} on ${temporal.address}`,
        );
        await Promise.race([stopped, workers.finished]);
      }),
    );
};
