import { setFlagsFromString } from 'node:v8';
import { openReceiver } from '../../app/open-receiver.ts';
import { openOperations } from '../../app/operations-port.ts';
import { configuredStore, openStoreService, requireKeyFile, withReceiverServices } from '../../app/services.ts';
import { createRegistry } from '../../health/metrics/registry.ts';
import { readVersion } from '../../lib/find-built.ts';
import { leaf } from '../shell/define.ts';
import { print, untilStopped } from '../shell/output.ts';

export default leaf({
  examples: ['callsync serve --config callsync.yaml'],
  within: withReceiverServices,
  run: async (options, services) => {
    const { config } = services;
    // A compiler that Node 20 does not have: 13 MB of a receiver, without which it is not slower. A worker would be.
    setFlagsFromString('--no-maglev');
    requireKeyFile(config);
    const { stopped } = untilStopped();
    const storeUrl = configuredStore(config.store) ?? (await openStoreService(services)).url;
    const registry = createRegistry({ ...config.operations, version: readVersion() });
    const receiver = await openReceiver(services, { storeUrl, registry, logLevel: options.logLevel });
    const webhook = `${receiver.address}${config.webhook.path}`;
    const operations = await openOperations(services, { registry, ready: receiver.ready });
    print(options, { webhook, operations }, `webhook   ${webhook}`);
    if ((await stopped()) !== 'SIGINT') await receiver.withdraw();
  },
});
