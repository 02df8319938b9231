import type { Command } from 'commander';
import { createRegistry } from '../../health/metrics/registry.ts';
import type { Receiver } from '../../webhook/server/receiver.ts';
import { ensureConfiguredSchedules } from '../parts/ensure-schedules.ts';
import { openOperations, openPage } from '../parts/open-operations.ts';
import { openParts } from '../parts/open-parts.ts';
import { openReceiverBesideWorkers } from '../parts/open-receiver.ts';
import { withAcceptSource } from '../parts/open-source.ts';
import { openWorkers } from '../parts/open-workers.ts';
import { psqlLine } from '../parts/psql-line.ts';
import { type CommonOptions, print, untilStopped, withCommonOptions, withServices } from '../shell/command.ts';
import { readVersion } from '../shell/version.ts';

export const addUp = (command: Command): void => {
  withAcceptSource(withCommonOptions(command))
    .option('--no-schedules', 'do not start continuous sync; what waits is still merged and loaded')
    .addHelpText('after', '\nExamples:\n  callsync up --config callsync.yaml')
    .action((options: CommonOptions & { schedules: boolean; acceptSource?: boolean }) =>
      withServices(options, async (services) => {
        const { stopped } = untilStopped();
        const registry = createRegistry({ ...services.config.operations, version: readVersion() });
        const parts = await openParts(services, registry, options);
        const workers = await openWorkers(services, parts, { registry });
        let address: string | undefined;
        let ready = () => true;
        let receiver: Receiver | undefined;
        if (services.config.webhook.enabled) {
          receiver = await openReceiverBesideWorkers(services, parts, { registry, logLevel: options.logLevel });
          address = `${receiver.address}${services.config.webhook.path}`;
          ready = receiver.ready;
        }
        const operations = await openOperations(services, {
          registry,
          ready,
          page: openPage(services, parts, receiver),
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
