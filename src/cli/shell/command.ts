/** What all commands share: options, output, and the services that they open. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { ReceiverConfig } from '../../../schemas/config.ts';
import { loadConfig, loadReceiverConfig } from '../../config/load.ts';
import type { Raw } from '../../config/raw.ts';
import type { Store } from '../../store/store.ts';
import { openStoreService } from '../parts/open-store.ts';
import { createServices, type Services } from '../parts/services.ts';
import { createLogger, toLog } from './log.ts';
import { say } from './output.ts';

export { say } from './output.ts';
export { abortOnSignals, untilStopped } from './signals.ts';

export interface CommonOptions {
  readonly config?: string;
  readonly json?: boolean;
  readonly logLevel: string;
}

export const withCommonOptions = (command: Command): Command =>
  command
    .option('-c, --config <file>', 'configuration file (default: CALLSYNC_CONFIG, else ./callsync.yaml)')
    .option('--json', 'print the result as one JSON line on standard output')
    .addOption(
      new Option('--log-level <level>', 'what the process log tells on standard error')
        .choices(['silent', 'error', 'warn', 'info', 'debug'])
        .default('warn'),
    );

/** Parses an option that counts something. */
export const wholeNumber =
  (least: number, most: number = Number.MAX_SAFE_INTEGER) =>
  (text: string): number => {
    const value = Number(text);
    if (text.trim() !== '' && Number.isSafeInteger(value) && value >= least && value <= most) return value;
    throw new InvalidArgumentError(
      `Use a whole number from ${least}${most === Number.MAX_SAFE_INTEGER ? '' : ` to ${most}`}.`,
    );
  };

/** Prints a result: one JSON line with --json, else the text. */
export const print = (options: { readonly json?: boolean }, result: unknown, text: string): void => {
  process.stdout.write(options.json === true ? `${JSON.stringify(result)}\n` : `${text}\n`);
};

/** The configured secrets as they are now, for the log's last scrub. */
const secretsOf = (config: ReceiverConfig): string[] =>
  [
    config.source?.client_secret,
    config.source?.token,
    config.temporal.api_key,
    ...config.webhook.secrets.map((entry) => entry.secret),
  ].filter((secret) => secret !== undefined);

/** What a command works with, from its options: configuration, log and the parts that it opens. */
export const servicesFor = <C extends ReceiverConfig>(config: C, options: CommonOptions): Services<C> =>
  createServices(config, toLog(createLogger(options.logLevel, secretsOf(config))), say);

/** Loads the configuration, runs `work`, and closes everything it opened. */
export const withServices = async <T>(
  options: CommonOptions,
  work: (services: Services) => Promise<T>,
  overrides: Raw = {},
): Promise<T> => {
  const { config } = await loadConfig({ path: options.config, overrides });
  return await runWith(servicesFor(config, options), work);
};

/** As `withServices`, for a receiver alone. */
export const withReceiverServices = async <T>(
  options: CommonOptions,
  work: (services: Services<ReceiverConfig>) => Promise<T>,
): Promise<T> => {
  const { config } = await loadReceiverConfig({ path: options.config });
  return await runWith(servicesFor(config, options), work);
};

const runWith = async <C, T>(services: Services<C>, work: (services: Services<C>) => Promise<T>): Promise<T> => {
  try {
    return await work(services);
  } finally {
    await services.close();
  }
};

/** As `withServices`, with the operational store open. */
export const withStore = <T>(
  options: CommonOptions,
  work: (store: Store, services: Services) => Promise<T>,
): Promise<T> => withServices(options, async (services) => work(await openStoreService(services), services));
