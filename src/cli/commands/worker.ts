import { openPage, openParts } from '../../app/open-operations.ts';
import { openWorkers } from '../../app/open-workers.ts';
import { openOperations } from '../../app/operations-port.ts';
import { requireKeyFile, withServices } from '../../app/services.ts';
import { keepSchedules } from '../../app/temporal.ts';
import { triggerSweep } from '../../temporal/schedules.ts';
import { workerRoles } from '../../temporal/worker.ts';
import { acceptSource, choice, flag, leaf } from '../shell/define.ts';
import { lines, print, untilStopped } from '../shell/output.ts';

export default leaf({
  options: {
    roles: choice('--roles <roles...>', `kinds of work to poll for (default: ${workerRoles.join(', ')})`, workerRoles),
    schedules: flag('--schedules', 'also start continuous sync: create or update its schedules'),
    acceptSource,
  },
  examples: ['callsync worker --config callsync.yaml --roles read load'],
  within: withServices,
  run: async (options, services) => {
    const { config } = services;
    const { roles = workerRoles } = options;
    requireKeyFile(config);
    const { stopped } = untilStopped();
    const parts = await openParts(services, options);
    const { registry, temporal } = parts;
    const workers = await openWorkers(services, parts, roles);
    if (options.schedules) await keepSchedules(services, temporal);
    else await triggerSweep(temporal.client, temporal.prefix);
    const page = openPage(services, parts);
    // Several workers may run on one host.
    const operations = await openOperations(services, { registry, ready: () => true, orAnyPort: true, page });
    const worker = `worker     ${roles.join(', ')} on ${temporal.address}`;
    const served = operations && `operations ${operations}`;
    print(options, { worker: roles, temporal: temporal.address, operations }, lines(worker, served));
    await stopped(workers.finished);
  },
});
