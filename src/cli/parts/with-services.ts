/** Runs a command with its configuration and parts, and closes them afterwards. */
import type { ReceiverConfig } from '../../../schemas/config.ts';
import { loadConfig, loadReceiverConfig } from '../../config/load.ts';
import type { Store } from '../../store/store.ts';
import type { CommonOptions } from '../shell/define.ts';
import { createLogger, toLog } from '../shell/log.ts';
import { say } from '../shell/output.ts';
import { openStoreService } from './open-store.ts';
import { createServices, type Services } from './services.ts';

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
