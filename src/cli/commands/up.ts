import { openPage, openParts } from '../../app/open-operations.ts';
import { openReceiver } from '../../app/open-receiver.ts';
import { openWorkers } from '../../app/open-workers.ts';
import { openOperations } from '../../app/operations-port.ts';
import { psqlLine, withServices } from '../../app/services.ts';
import { keepSchedules } from '../../app/temporal.ts';
import { acceptSource, flag, leaf } from '../shell/define.ts';
import { lines, print, untilStopped } from '../shell/output.ts';

export default leaf({
  options: {
    acceptSource,
    schedules: flag('--no-schedules', 'do not start continuous sync; waiting calls are still merged and loaded'),
  },
  examples: ['callsync up --config callsync.yaml'],
  within: withServices,
  run: async (options, services) => {
    const { signal, stopped } = untilStopped();
    // Closed last.
    services.defer(async () => signal.aborted && services.say('Stopped.'));
    const { webhook } = services.config;
    const parts = await openParts(services, options);
    const { registry, store, temporal } = parts;
    const workers = await openWorkers(services, parts);
    const toReceive = { storeUrl: store.url, registry, logLevel: options.logLevel };
    const receiver = webhook.enabled ? await openReceiver(services, toReceive) : undefined;
    const page = openPage(services, parts, receiver);
    const address = await openOperations(services, { registry, ready: receiver?.ready ?? (() => true), page });
    await keepSchedules(services, temporal, options.schedules === false ? 'sweep' : 'all');
    const addresses = {
      webhook: receiver && `${receiver.address}${webhook.path}`,
      operations: address,
      postgres: psqlLine(services.config, store.url),
      temporal: temporal.address,
      ui: temporal.uiUrl,
    };
    const shown = Object.entries(addresses).map(([name, value]) => value && `${name.padEnd(10)} ${value}`);
    print(options, addresses, lines(...shown));
    services.say('Running. Ctrl-C finishes the work in progress, then stops.');
    if ((await stopped(workers.finished)) !== 'SIGINT') await receiver?.withdraw();
  },
});
