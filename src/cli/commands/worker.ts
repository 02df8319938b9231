import { type Command, Option } from 'commander';
import { createRegistry } from '../../metrics/registry.ts';
import { triggerSweep } from '../../temporal/schedules.ts';
import { type WorkerRole, workerRoles } from '../../temporal/worker.ts';
import { type CommonOptions, print, untilStopped, withCommonOptions, withServices } from '../command.ts';
import { openOperations } from '../open-operations.ts';
import { openPage } from '../open-page.ts';
import { ensureConfiguredSchedules } from '../services/ensure-schedules.ts';
import { openNotifications } from '../services/open-notifications.ts';
import { openParts } from '../services/open-parts.ts';
import { openWorkers } from '../services/open-workers.ts';
import { readVersion } from '../version.ts';

export const addWorker = (command: Command): void => {
  withCommonOptions(command)
    .addOption(new Option('--roles <roles...>', 'what it polls for').choices(workerRoles).default([...workerRoles]))
    .option('--schedules', 'also start continuous sync: create its schedules, or bring them up to date')
    .addHelpText('after', '\nExamples:\n  callsync worker --config callsync.yaml --roles read load')
    .action((options: CommonOptions & { roles: WorkerRole[]; schedules?: boolean }) =>
      withServices(options, async (services) => {
        const { config } = services;
        const { stopped } = untilStopped();
        const registry = createRegistry({ ...config.operations, version: readVersion() });
        const parts = await openParts(services, registry);
        const workers = await openWorkers(services, parts, { roles: options.roles, registry });
        const { temporal } = parts;
        if (options.schedules) await ensureConfiguredSchedules(services, temporal);
        else await triggerSweep(temporal.client, config.temporal.task_queue);
        openNotifications(services, parts);
        const operations = await openOperations(services, {
          registry,
          ready: () => true,
          portMayBeTaken: true,
          page: openPage(services, parts),
        });
        print(
          options,
          { worker: options.roles, temporal: temporal.address, operations },
          `worker    ${options.roles.join(', ')} on ${temporal.address}`,
        );
        await Promise.race([stopped, workers.finished]);
      }),
    );
};
