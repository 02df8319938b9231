import { createRegistry } from '../../health/metrics/registry.ts';
import type { Receiver } from '../../webhook/server/receiver.ts';
import { openOperations, openPage } from '../parts/open-operations.ts';
import { openParts } from '../parts/open-parts.ts';
import { openReceiver } from '../parts/open-receiver.ts';
import { acceptSource } from '../parts/open-source.ts';
import { psqlLine } from '../parts/open-store.ts';
import { openWorkers } from '../parts/open-workers.ts';
import { ensureConfiguredSchedules } from '../parts/temporal.ts';
import { withServices } from '../parts/with-services.ts';
import { type CommonOptions, leaf, option } from '../shell/define.ts';
import { createLogger } from '../shell/log.ts';
import { print, readVersion } from '../shell/output.ts';
import { untilStopped } from '../shell/signals.ts';

interface UpOptions extends CommonOptions {
  readonly schedules: boolean;
  readonly acceptSource?: boolean;
}

const run = (options: UpOptions): Promise<void> =>
  withServices(options, async (services) => {
    const { stopped } = untilStopped();
    const { operations, webhook } = services.config;
    const registry = createRegistry({ ...operations, version: readVersion() });
    const parts = await openParts(services, registry, options);
    const workers = await openWorkers(services, parts, { registry });
    let receiver: Receiver | undefined;
    if (webhook.enabled) {
      const log = createLogger(options.logLevel);
      receiver = await openReceiver(services, { storeUrl: parts.store.url, registry, log });
    }
    const page = openPage(services, parts, receiver);
    const address = await openOperations(services, { registry, ready: receiver?.ready ?? (() => true), page });
    await ensureConfiguredSchedules(services, parts.temporal, options.schedules ? 'all' : 'sweep');
    const addresses = {
      webhook: receiver && `${receiver.address}${webhook.path}`,
      operations: address,
      postgres: psqlLine(services.config, parts.store.url),
      temporal: parts.temporal.address,
      ui: parts.temporal.uiUrl,
    };
    const lines = Object.entries(addresses).flatMap(([name, value]) =>
      value === undefined ? [] : [`${name.padEnd(10)} ${value}`],
    );
    print(options, addresses, lines.join('\n'));
    services.say('Running; Ctrl-C stops after finishing what is under way.');
    await Promise.race([stopped, workers.finished]);
  });

export const command = leaf({
  options: [
    acceptSource,
    option('--no-schedules', 'do not start continuous sync; what waits is still merged and loaded'),
  ],
  examples: ['callsync up --config callsync.yaml'],
  run,
});
