/** Opened parts of a command, closed in reverse order. */

import { readFile, stat } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import type { Config, ReceiverConfig } from '../../../schemas/config.ts';
import { makeDataDir, resolveDataDir } from '../../config/data-dir.ts';
import { loadConfig, loadReceiverConfig } from '../../config/load.ts';
import { terminal } from '../../lib/errors.ts';
import { replaceFile } from '../../lib/new-folder.ts';
import { openSecret } from '../../lib/secret.ts';
import { keepServer } from '../../local/local-process.ts';
import { startEmbeddedPostgres } from '../../local/postgres/embedded-postgres.ts';
import { type ConnectionUrl, readUrl } from '../../postgres/database.ts';
import { openStore, type Store } from '../../store/store.ts';
import type { CommonOptions } from '../shell/define.ts';
import { createLogger, type Log, say, toLog } from '../shell/output.ts';
import { listKeys, openErasures } from './keys.ts';

/** @typeParam C the sections that are needed; a receiver alone has no `source`. */
export interface Services<C = Config> {
  readonly config: C;
  readonly log: Log;
  /** Prints progress for a person on standard error. */
  readonly say: (message: string) => void;
  /** Closes all opened parts, the last first. An error of one does not keep the others open. */
  defer(close: () => Promise<unknown>): void;
  close(): Promise<void>;
}

/** Holds the configuration of a command, and closes its parts, the last first. A failed close is logged. */
export const createServices = <C>(config: C, log: Log, say: (message: string) => void): Services<C> => {
  const closers: (() => Promise<unknown>)[] = [];
  return {
    config,
    log,
    say,
    defer: (close) => closers.push(close),
    close: async () => {
      for (const close of closers.splice(0).reverse())
        await close().catch((error: unknown) => log('closing failed', { error }));
    },
  };
};

// Runs a command with its configuration and parts, and closes them afterwards.

/** The configured secrets as they are now, for the log's last scrub. */
const secretsOf = ({ source, temporal, webhook }: ReceiverConfig): string[] =>
  [source?.client_secret, source?.token, temporal.api_key, ...webhook.secrets.map((entry) => entry.secret)].filter(
    (secret) => secret !== undefined,
  );

/** Configuration, log and parts of a command, from its options. */
export const servicesFor = <C extends ReceiverConfig>(config: C, options: CommonOptions): Services<C> =>
  createServices(config, toLog(createLogger(options.logLevel, secretsOf(config))), say);

/** Loads the configuration, runs `work`, and closes everything it opened. */
export const withServices = async <T>(options: CommonOptions, work: (services: Services) => Promise<T>): Promise<T> =>
  runWith((await loadConfig({ path: options.config })).config, options, work);

/** As `withServices`, for a receiver alone. */
export const withReceiverServices = async <T>(
  options: CommonOptions,
  work: (services: Services<ReceiverConfig>) => Promise<T>,
): Promise<T> => runWith((await loadReceiverConfig({ path: options.config })).config, options, work);

const runWith = async <C extends ReceiverConfig, T>(
  config: C,
  options: CommonOptions,
  work: (services: Services<C>) => Promise<T>,
): Promise<T> => {
  const services = servicesFor(config, options);
  try {
    return await work(services);
  } finally {
    await services.close();
  }
};

/** As `withServices`, with the store open. */
export const withStore = <T>(options: CommonOptions, work: (store: Store, services: Services) => Promise<T>) =>
  withServices(options, async (services) => work(await openStoreService(services), services));

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

// The configuration file, for commands that write their findings into it.

/**
 * A function that changes the file and keeps its mode; a reader never sees half a file.
 * @param path of the file that was read; undefined where everything came from the environment.
 * @throws terminal CONFIG_MISSING where there is no file
 */
export const openConfigFile = (path: string | undefined): ((change: (text: string) => string) => Promise<void>) => {
  if (path === undefined)
    throw terminal('CONFIG_MISSING', 'There is no configuration file to write into.', {
      hint: 'Omit --write, and copy the printed lines into your configuration.',
    });
  return async (change) => {
    await replaceFile(path, change(await readFile(path, 'utf8')), (await stat(path)).mode);
    say(`Written to ${path}. Running processes of callsync read it when they start again.`);
  };
};

/** The user of this machine. An account without a name has a number at least. */
export const readActor = (): string => {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
};
