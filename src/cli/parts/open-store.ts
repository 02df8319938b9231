import { join } from 'node:path';
import type { Config } from '../../../schemas/config.ts';
import { makeDataDir, resolveDataDir } from '../../config/data-dir.ts';
import { openSecret } from '../../lib/secret.ts';
import { keepServer } from '../../local/local-process.ts';
import { startEmbeddedPostgres } from '../../local/postgres/embedded-postgres.ts';
import { type ConnectionUrl, readUrl } from '../../postgres/database.ts';
import { openStore, type Store } from '../../store/store.ts';
import { listKeys, openErasures } from './keys.ts';
import type { Services } from './services.ts';

/** Where the store is configured to be; undefined = on the embedded server. */
export const configuredStore = ({ url, url_file }: Config['store']): ConnectionUrl | undefined =>
  openSecret({ key: 'store.url', value: url, file: url_file })?.read;

/** The configured server, or the embedded one, which is started where it does not run. */
export const openStoreServer = async (services: Services<Pick<Config, 'store'>>): Promise<ConnectionUrl> => {
  const { config, say, defer } = services;
  const configured = configuredStore(config.store);
  if (configured !== undefined) return configured;
  const dataDir = resolveDataDir(config.store.data_dir);
  await makeDataDir(dataDir);
  const start = (port: number) => startEmbeddedPostgres({ dataDir: join(dataDir, 'postgres'), port, log: say });
  const server = await start(config.store.port);
  defer(keepServer(server, () => start(server.port), say));
  return server.url;
};

/** The store, migrated. */
export const openStoreService = async (services: Services<Pick<Config, 'privacy' | 'store'>>): Promise<Store> => {
  const { config } = services;
  const store = await openStore({
    url: await openStoreServer(services),
    schema: config.store.schema,
    max: config.store.pool_size,
    erasures: () => openErasures(config),
    keys: () => listKeys(config),
  });
  services.defer(() => store.close());
  return store;
};

/**
 * The command that opens the store's database in psql. The command line holds no password. For the embedded server, the
 * shell reads the password from its file; for other servers, psql asks.
 */
export const psqlLine = ({ store }: Pick<Config, 'store'>, connection: ConnectionUrl): string => {
  const url = readUrl(connection);
  const target = `psql -h ${url.hostname || 'localhost'} -p ${url.port || '5432'} -U ${decodeURIComponent(url.username)} ${url.pathname.slice(1)}`;
  if (configuredStore(store) !== undefined) return target;
  return `PGPASSWORD=$(cat '${join(resolveDataDir(store.data_dir), 'postgres/pgdata/callsync.password')}') ${target}`;
};
