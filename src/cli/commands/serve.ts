import type { Command } from 'commander';
import { createRegistry } from '../../health/metrics/registry.ts';
import { openSecret } from '../../lib/secret.ts';
import { requireKeyFile } from '../parts/open-keys.ts';
import { openOperations } from '../parts/open-operations.ts';
import { openReceiver } from '../parts/open-receiver.ts';
import { openStoreService } from '../parts/open-store.ts';
import { type CommonOptions, print, untilStopped, withCommonOptions, withReceiverServices } from '../shell/command.ts';
import { createLogger } from '../shell/log.ts';
import { readVersion } from '../shell/version.ts';

export const addServe = (command: Command): void => {
  withCommonOptions(command)
    .addHelpText('after', '\nExamples:\n  callsync serve --config callsync.yaml')
    .action((options: CommonOptions) =>
      withReceiverServices(options, async (services) => {
        requireKeyFile(services.config);
        const { stopped } = untilStopped();
        const { store } = services.config;
        const configured = openSecret({ key: 'store.url', value: store.url, file: store.url_file });
        const storeUrl = configured?.read ?? (await openStoreService(services)).url;
        const registry = createRegistry({ ...services.config.operations, version: readVersion() });
        const receiver = await openReceiver(services, {
          storeUrl,
          registry,
          log: createLogger(options.logLevel),
        });
        const address = `${receiver.address}${services.config.webhook.path}`;
        const operations = await openOperations(services, { registry, ready: receiver.ready });
        print(options, { webhook: address, operations }, `webhook   ${address}`);
        await stopped;
      }),
    );
};
