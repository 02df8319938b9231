import { type Command, Option } from 'commander';
import { createRegistry } from '../../health/metrics/registry.ts';
import { triggerSweep } from '../../temporal/schedules.ts';
import { type WorkerRole, workerRoles } from '../../temporal/worker.ts';
import { ensureConfiguredSchedules } from '../parts/ensure-schedules.ts';
import { requireKeyFile } from '../parts/open-keys.ts';
import { openOperations, openPage } from '../parts/open-operations.ts';
import { openParts } from '../parts/open-parts.ts';
import { withAcceptSource } from '../parts/open-source.ts';
import { openWorkers } from '../parts/open-workers.ts';
import { type CommonOptions, print, untilStopped, withCommonOptions, withServices } from '../shell/command.ts';
import { readVersion } from '../shell/version.ts';

export const addWorker = (command: Command): void => {
  withAcceptSource(withCommonOptions(command))
    .addOption(new Option('--roles <roles...>', 'what it polls for').choices(workerRoles).default([...workerRoles]))
    .option('--schedules', 'also start continuous sync: create its schedules, or bring them up to date')
    .addHelpText('after', '\nExamples:\n  callsync worker --config callsync.yaml --roles read load')
    .action((options: CommonOptions & { roles: WorkerRole[]; schedules?: boolean; acceptSource?: boolean }) =>
      withServices(options, async (services) => {
        const { config } = services;
        requireKeyFile(config);
        const { stopped } = untilStopped();
        const registry = createRegistry({ ...config.operations, version: readVersion() });
        const parts = await openParts(services, registry, options);
        const workers = await openWorkers(services, parts, { roles: options.roles, registry });
        const { temporal } = parts;
        if (options.schedules) await ensureConfiguredSchedules(services, temporal);
        else await triggerSweep(temporal.client, config.temporal.task_queue);
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
