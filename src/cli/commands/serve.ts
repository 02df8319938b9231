import type { Command } from 'commander';
import type { ReceiverConfig } from '../../../schemas/config.ts';
import { createRegistry } from '../../metrics/registry.ts';
import { openSecret } from '../../secret.ts';
import { connectClient } from '../../temporal/connect.ts';
import { wakeMergeInbox } from '../../temporal/workflow-client.ts';
import { type CommonOptions, print, untilStopped, withCommonOptions, withReceiverServices } from '../command.ts';
import { createLogger } from '../log.ts';
import { openOperations } from '../open-operations.ts';
import { openReceiver } from '../open-receiver.ts';
import { openStoreService } from '../services/open-store.ts';
import { openTemporal, type TemporalService } from '../services/open-temporal.ts';
import type { Services } from '../services/services.ts';
import { readVersion } from '../version.ts';

const open = (services: Services<ReceiverConfig>): Promise<Pick<TemporalService, 'client'>> => {
  const { temporal } = services.config;
  return temporal.address === undefined ? openTemporal(services) : connectClient(temporal, temporal.address);
};

/** Temporal may be away: the inbox waits and a sweep finds it, so each wake-up connects anew until one succeeds. */
const createWake = (services: Services<ReceiverConfig>): (() => Promise<void>) => {
  let opening: ReturnType<typeof open> | undefined;
  return async () => {
    opening ??= open(services);
    try {
      await wakeMergeInbox((await opening).client, services.config.temporal.task_queue);
    } catch (error) {
      // The development server may be gone for good, and come back elsewhere.
      opening = undefined;
      throw error;
    }
  };
};

export const addServe = (command: Command): void => {
  withCommonOptions(command)
    .addHelpText('after', '\nExamples:\n  callsync serve --config callsync.yaml')
    .action((options: CommonOptions) =>
      withReceiverServices(options, async (services) => {
        const { stopped } = untilStopped();
        const { store } = services.config;
        const configured = openSecret({ key: 'store.url', value: store.url, file: store.url_file });
        const storeUrl = configured?.read ?? (await openStoreService(services)).url;
        const registry = createRegistry({ ...services.config.operations, version: readVersion() });
        const receiver = await openReceiver(services, {
          storeUrl,
          registry,
          wake: createWake(services),
          log: createLogger(options.logLevel),
        });
        const address = `${receiver.address}${services.config.webhook.path}`;
        const operations = await openOperations(services, { registry, ready: receiver.ready });
        print(options, { webhook: address, operations }, `webhook   ${address}`);
        await stopped;
      }),
    );
};
