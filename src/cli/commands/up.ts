import type { Command } from 'commander';
import { ensureSchedules } from '../../temporal/schedules.ts';
import { wakeMergeInbox } from '../../temporal/workflow-client.ts';
import { type CommonOptions, print, untilStopped, withCommonOptions, withServices } from '../command.ts';
import { createLogger } from '../log.ts';
import { openReceiver } from '../open-receiver.ts';
import { activityDeps } from '../services/activity-deps.ts';
import { openSource } from '../services/open-source.ts';
import { openStoreService } from '../services/open-store.ts';
import { openTemporal, openWorkers } from '../services/open-temporal.ts';
import { openWarehouses } from '../services/open-warehouses.ts';

export const addUp = (command: Command): void => {
  withCommonOptions(command)
    .option('--no-schedules', 'leave the schedules alone (do not start continuous sync)')
    .addHelpText('after', '\nExamples:\n  callsync up --config callsync.yaml')
    .action((options: CommonOptions & { schedules: boolean }) =>
      withServices(options, async (services) => {
        const { stopped } = untilStopped();
        const store = await openStoreService(services);
        const targets = await openWarehouses(services, store);
        const source = openSource(services, store);
        const temporal = await openTemporal(services);
        const workers = await openWorkers(services, temporal, activityDeps(services, { store, targets, source }));
        const prefix = services.config.temporal.task_queue;
        let address: string | undefined;
        let metricsAddress: string | undefined;
        if (services.config.webhook.enabled) {
          const opened = await openReceiver(services, {
            storeUrl: store.url,
            wake: () => wakeMergeInbox(temporal.client, prefix),
            log: createLogger(options.logLevel),
          });
          address = `${opened.receiver.address}${services.config.webhook.path}`;
          metricsAddress = opened.metricsAddress;
        }
        if (options.schedules) await ensureSchedules(temporal.client, prefix, services.config.sync);
        const addresses = { webhook: address, metrics: metricsAddress, temporal: temporal.address, ui: temporal.uiUrl };
        print(
          options,
          addresses,
          Object.entries(addresses)
            .filter(([, value]) => value !== undefined)
            .map(([name, value]) => `${name.padEnd(9)} ${value}`)
            .join('\n'),
        );
        services.say('Running; Ctrl-C stops after finishing what is under way.');
        await Promise.race([stopped, workers.finished]);
      }),
    );
};
