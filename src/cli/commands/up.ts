import type { Command } from 'commander';
import { createRegistry } from '../../metrics/registry.ts';
import { type CommonOptions, print, untilStopped, withCommonOptions, withServices } from '../command.ts';
import { openOperations } from '../open-operations.ts';
import { openPage } from '../open-page.ts';
import { openReceiverBesideWorkers } from '../open-receiver.ts';
import { psqlLine } from '../psql-line.ts';
import { ensureConfiguredSchedules } from '../services/ensure-schedules.ts';
import { openNotifications } from '../services/open-notifications.ts';
import { openParts } from '../services/open-parts.ts';
import { openWorkers } from '../services/open-workers.ts';
import type { SpoolDepth } from '../services/read-page.ts';
import { readVersion } from '../version.ts';

export const addUp = (command: Command): void => {
  withCommonOptions(command)
    .option('--no-schedules', 'do not start continuous sync; what waits is still merged and loaded')
    .addHelpText('after', '\nExamples:\n  callsync up --config callsync.yaml')
    .action((options: CommonOptions & { schedules: boolean }) =>
      withServices(options, async (services) => {
        const { stopped } = untilStopped();
        const registry = createRegistry({ ...services.config.operations, version: readVersion() });
        const parts = await openParts(services, registry);
        const workers = await openWorkers(services, parts, { registry });
        let address: string | undefined;
        let ready = () => true;
        let readSpool: (() => SpoolDepth) | undefined;
        if (services.config.webhook.enabled) {
          const receiver = await openReceiverBesideWorkers(services, parts, { registry, logLevel: options.logLevel });
          address = `${receiver.address}${services.config.webhook.path}`;
          ready = receiver.ready;
          readSpool = () => receiver.status().spool;
        }
        openNotifications(services, parts);
        const operations = await openOperations(services, {
          registry,
          ready,
          page: openPage(services, parts, readSpool),
        });
        await ensureConfiguredSchedules(services, parts.temporal, options.schedules ? 'all' : 'sweep');
        const addresses = {
          webhook: address,
          operations,
          postgres: psqlLine(services.config, parts.store.url),
          temporal: parts.temporal.address,
          ui: parts.temporal.uiUrl,
        };
        print(
          options,
          addresses,
          Object.entries(addresses)
            .filter(([, value]) => value !== undefined)
            .map(([name, value]) => `${name.padEnd(10)} ${value}`)
            .join('\n'),
        );
        services.say('Running; Ctrl-C stops after finishing what is under way.');
        await Promise.race([stopped, workers.finished]);
      }),
    );
};
