import type { Command } from 'commander';
import { openSecret } from '../../config/secret.ts';
import { connectClient } from '../../temporal/connect.ts';
import { installRuntime } from '../../temporal/worker.ts';
import { wakeMergeInbox } from '../../temporal/workflow-client.ts';
import { type CommonOptions, print, untilStopped, withCommonOptions, withServices } from '../command.ts';
import { createLogger } from '../log.ts';
import { openReceiver } from '../open-receiver.ts';
import { openStoreService, openTemporal, type Services } from '../services.ts';

/** Temporal may be away: the inbox waits and a sweep finds it, so each wake-up connects anew until one succeeds. */
const createWake = (services: Services): (() => Promise<void>) => {
  const { temporal } = services.config;
  let connecting: ReturnType<typeof connectClient> | undefined;
  return async () => {
    if (temporal.address === undefined) {
      const embedded = await openTemporal(services);
      return wakeMergeInbox(embedded.client, temporal.task_queue);
    }
    installRuntime((level, message) => services.log(message, { level }));
    connecting ??= connectClient(temporal, temporal.address);
    try {
      await wakeMergeInbox((await connecting).client, temporal.task_queue);
    } catch (error) {
      connecting = undefined;
      throw error;
    }
  };
};

export const addServe = (program: Command): void => {
  withCommonOptions(program.command('serve'))
    .description('run the webhook receiver alone; it needs no Temporal and survives a store that is away')
    .addHelpText('after', '\nExamples:\n  callsync serve --config callsync.yaml')
    .action((options: CommonOptions) =>
      withServices(options, async (services) => {
        const { stopped } = untilStopped();
        const { store } = services.config;
        const configured = openSecret({ key: 'store.url', value: store.url, file: store.url_file });
        const storeUrl = configured?.read() ?? (await openStoreService(services)).url;
        const { receiver, metricsAddress } = await openReceiver(services, {
          storeUrl,
          wake: createWake(services),
          log: createLogger(options.logLevel),
        });
        const address = `${receiver.address}${services.config.webhook.path}`;
        print(options, { webhook: address, metrics: metricsAddress }, `webhook   ${address}`);
        await stopped;
      }),
    );
};
