import { join } from 'node:path';
import type { Config } from '../../../schemas/config.ts';
import { makeDataDir, resolveDataDir } from '../../config/data-dir.ts';
import { openSecret } from '../../lib/secret.ts';
import { keepServer } from '../../local/keep-server.ts';
import { startEmbeddedPostgres } from '../../local/postgres/embedded-postgres.ts';
import type { ConnectionUrl } from '../../postgres/database.ts';
import { openStore, type Store } from '../../store/store.ts';
import { openErasures } from './open-erasures.ts';
import { listKeys } from './open-keys.ts';
import type { Services } from './services.ts';

/** Where the operational store is: on the configured server, or on the embedded one, which is started where it does not run. */
export const openStoreServer = async (services: Services<Pick<Config, 'store'>>): Promise<ConnectionUrl> => {
  const { config } = services;
  const configured = openSecret({ key: 'store.url', value: config.store.url, file: config.store.url_file });
  if (configured !== undefined) return configured.read;
  const dataDir = resolveDataDir(config.store.data_dir);
  await makeDataDir(dataDir);
  const start = (port: number) =>
    startEmbeddedPostgres({
      dataDir: join(dataDir, 'postgres'),
      port,
      log: services.say,
    });
  const server = await start(config.store.port);
  const kept = keepServer(server, () => start(server.port), services.say);
  services.defer(() => kept.stop());
  return server.url;
};

/** The operational store, migrated. */
export const openStoreService = async (services: Services<Pick<Config, 'privacy' | 'store'>>): Promise<Store> => {
  const { config } = services;
  const url = await openStoreServer(services);
  const store = await openStore({
    url,
    max: config.store.pool_size,
    erasures: () => openErasures(config),
    keys: () => listKeys(config),
  });
  services.defer(() => store.close());
  return store;
};
