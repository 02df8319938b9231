/**
 * Configuration, log and store of a command. Opened parts are closed in reverse order. Parts that a receiver does without
 * are loaded where they are opened: they would take half of its memory.
 */

import { readFile, stat } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import pino, { type Logger } from 'pino';
import type { Config, ReceiverConfig } from '../../schemas/config.ts';
import { makeDataDir, resolveDataDir } from '../config/data-dir.ts';
import { loadConfig, loadReceiverConfig } from '../config/load.ts';
import { CallsyncError, terminal } from '../lib/errors.ts';
import { replaceFile } from '../lib/new-folder.ts';
import { say } from '../lib/say.ts';
import { openOwnSecret, openSecret } from '../lib/secret.ts';
import { type ConnectionUrl, openDatabase, type Queryable, readUrl } from '../postgres/database.ts';
import type { PrivacyKeys } from '../privacy/privacy.ts';
import { versionOfRules } from '../privacy/rules.ts';
import type { Store, StoreKey } from '../store/store.ts';

/** @typeParam C the sections that are needed; a receiver alone has no `source`. */
export type Services<C = Config> = ReturnType<typeof createServices<C>>;

/** Holds the configuration of a command, and closes its parts, the last first. A failed close is logged. */
export const createServices = <C>(config: C, log: Log, say: (message: string) => void) => {
  const closers: (() => Promise<unknown>)[] = [];
  const stop = new AbortController();
  return {
    config,
    log,
    /** Prints progress for a person on standard error. */
    say,
    /** Closes all opened parts, the last first. An error of one does not keep the others open. */
    defer: (close: () => Promise<unknown>) => void closers.push(close),
    /** Aborted as soon as the parts are being closed. */
    stopping: stop.signal,
    close: async () => {
      stop.abort();
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

const within =
  <C extends ReceiverConfig>(load: (from: { readonly path?: string }) => Promise<{ readonly config: C }>) =>
  async <T>(options: CommonOptions, work: (services: Services<C>) => Promise<T>): Promise<T> => {
    const { config } = await load({ path: options.config });
    const services = servicesFor(config, options);
    try {
      return await work(services);
    } finally {
      await services.close();
    }
  };

/** Loads the configuration, runs `work`, and closes everything it opened. */
export const withServices = within(loadConfig);

/** As `withServices`, for a receiver alone. */
export const withReceiverServices = within(loadReceiverConfig);

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
  const { startEmbeddedPostgres } = await import('../local/embedded-postgres.ts');
  const { keepServer } = await import('../local/local-process.ts');
  const start = (port: number) => startEmbeddedPostgres({ dataDir: join(dataDir, 'postgres'), port, log: say });
  const server = await start(config.store.port);
  defer(keepServer(server, () => start(server.port), say));
  return server.url;
};

/** The store, migrated. */
export const openStoreService = async (services: Services<Pick<Config, 'privacy' | 'store'>>): Promise<Store> => {
  const { config } = services;
  const { openStore } = await import('../store/store.ts');
  const { openErasures } = await import('./open-rules.ts');
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

/** The store for a receiver, whose role may not migrate; the embedded one is migrated. */
export const openInbox = async (services: Services<Pick<Config, 'privacy' | 'store'>>): Promise<Queryable> => {
  const { store } = services.config;
  const url = configuredStore(store);
  if (url === undefined) return await openStoreService(services);
  const db = openDatabase({ url, schema: store.schema, application: 'callsync doctor', purpose: 'store', max: 2 });
  services.defer(db.close);
  await db.query`SELECT`;
  return db;
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

// All keys of a process.

export type KeySettings = Pick<Config, 'privacy' | 'store'>;
type Code = StoreKey['code'];

const shortest = 16;

const longEnough = (code: Code, name: string, bytes: Buffer): Buffer => {
  if (bytes.length >= shortest) return bytes;
  throw terminal(code, `The key of ${name}_file has fewer than ${shortest} bytes.`, {
    hint: `Write a long random secret into the file of ${name}_file, such as the output of openssl rand -hex 32.`,
  });
};

/** A file of callsync beside its data. */
export const inDataDir = ({ data_dir }: Config['store'], name: string): string => join(resolveDataDir(data_dir), name);

/**
 * Key of callsync from the configured file, else from a file that the first start makes.
 * @param configured path in the configuration, if there is one
 * @param made file in `data_dir`
 */
const ownKey = (code: Code, name: string, configured: string | undefined, made: string): StoreKey => {
  const source = openSecret({ key: name, file: configured }) ?? openOwnSecret(name, made);
  const bytes = longEnough(code, name, source.readBytes());
  return { code, name, file: configured ?? made, bytes, former: [] };
};

const givenKey = (code: Code, name: string, file: string): Buffer =>
  longEnough(code, name, openSecret({ key: name, file }).readBytes());

/** @throws CallsyncError CONFIG_SECRET, TOMBSTONE_KEY */
export const tombstoneKey = ({ store }: KeySettings): StoreKey =>
  ownKey('TOMBSTONE_KEY', 'store.tombstone_key', store.tombstone_key_file, inDataDir(store, 'tombstone.key'));

/** @throws CallsyncError CONFIG_SECRET, PROOF_KEY */
export const proofKey = ({ store }: Pick<Config, 'store'>): StoreKey => ({
  ...ownKey('PROOF_KEY', 'store.proof_key', store.proof_key_file, inDataDir(store, 'proof.key')),
  former: store.former_proof_key_files.map((file) => givenKey('PROOF_KEY', 'store.former_proof_key', file)),
});

/** The keys of tokens with their ids, the present one first. */
const tokenKeys = ({ privacy, store }: KeySettings): readonly StoreKey[] => {
  const own = ownKey('PRIVACY_KEY', 'privacy.key', privacy.key_file, inDataDir(store, 'privacy.key'));
  const former = privacy.former_keys.map(({ id, file }) => {
    const bytes = givenKey('PRIVACY_KEY', 'privacy.former_key', file);
    return { ...own, name: `privacy.key:${id}`, file, bytes };
  });
  return [{ ...own, name: `privacy.key:${privacy.key_id}` }, ...former];
};

/** Undefined where nothing is sealed. */
const sealKey = ({ privacy }: KeySettings): StoreKey | undefined => {
  const { unreadable, seal_key_file: file, former_seal_key_files: files } = privacy;
  if (unreadable === 'drop' || file === undefined) return undefined;
  const bytes = givenKey('SEAL_KEY', 'privacy.seal_key', file);
  const former = files.map((path) => givenKey('SEAL_KEY', 'privacy.former_seal_key', path));
  return { code: 'SEAL_KEY', name: 'privacy.seal_key', file, bytes, former };
};

/** @throws CallsyncError CONFIG_SECRET, or the code of a key that is too short */
export const listKeys = (config: KeySettings) => [tombstoneKey(config), proofKey(config), ...listPrivacyKeys(config)];

/** Keys of a receiver; none without privacy rules. @throws CallsyncError as `listKeys` */
export const listPrivacyKeys = (config: KeySettings): readonly StoreKey[] => {
  if (versionOfRules(config.privacy) === undefined) return [];
  return [...tokenKeys(config), sealKey(config)].filter((key) => key !== undefined);
};

/**
 * For separate processes, perhaps on several hosts, where each would create another key.
 * @throws CallsyncError PRIVACY_KEY
 */
export const requireKeyFile = ({ privacy }: Pick<Config, 'privacy'>): void => {
  if (versionOfRules(privacy) === undefined || privacy.key_file !== undefined) return;
  throw terminal('PRIVACY_KEY', 'privacy.key_file is not set; receivers and workers must share one token key.');
};

/** Keys of the configured privacy rules; undefined where there are none. @throws CallsyncError as `listKeys` */
export const openPrivacyKeys = (config: KeySettings): PrivacyKeys | undefined => {
  if (versionOfRules(config.privacy) === undefined) return undefined;
  const [token, ...former] = tokenKeys(config).map(({ bytes }) => bytes);
  return { token: token as Buffer, former, seal: sealKey(config)?.bytes };
};

// The process log: one JSON line an event on standard error, of fields named here and nothing else.

/** Level `info`, unless the fields have an `error` or `level` is `warn`. */
export type Log = (event: string, fields?: Record<string, unknown>) => void;

/** Allowed fields of a log line. All others are dropped, so that no record, header or secret gets in. */
const allowed = new Set(
  'activity warehouse load code kind fault seconds calls deliveries port address status attempt stack window count'.split(
    ' ',
  ),
);

/** Writes JSON lines to standard error. @param secrets replaced wherever they stand in a line. */
export const createLogger = (level: string, secrets: readonly string[] = []): Logger =>
  pino(
    { level, base: { app: 'callsync' }, timestamp: pino.stdTimeFunctions.isoTime },
    {
      write: (line: string) => {
        // Scrubs the finished line: a known secret may be in any field.
        process.stderr.write(
          secrets.filter((secret) => secret.length > 3).reduce((text, secret) => text.replaceAll(secret, '***'), line),
        );
      },
    },
  );

/** Errors are reduced to code, kind and, for unexpected ones, the stack without its message. */
const describeError = (error: unknown): Record<string, unknown> => {
  if (error instanceof CallsyncError) return { code: error.code, kind: error.kind, fault: error.message };
  if (!(error instanceof Error)) return { code: 'UNEXPECTED' };
  const frames = [...(error.stack ?? '').matchAll(/^\s+(at .*)$/gm)].map(([, frame]) => frame);
  return { code: error.name, stack: frames.slice(0, 8).join(' < ') };
};

const toLog =
  (logger: Logger): Log =>
  (event, fields = {}) => {
    const { error, level, ...rest } = fields;
    const entries = Object.entries({ ...rest, ...(error === undefined ? {} : describeError(error)) });
    const kept = Object.fromEntries(entries.filter(([name]) => allowed.has(name)));
    if (error === undefined && level !== 'warn') logger.info(kept, event);
    else logger.warn(kept, event);
  };

/** Options that all commands share. */
export type CommonOptions = { readonly config?: string; readonly json?: boolean; readonly logLevel: string };
