/** What all commands share: options, output, progress, and how a failure becomes one sentence and an exit code. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { Config } from '../../schemas/config.ts';
import { loadConfig } from '../config/load.ts';
import type { Raw } from '../config/raw.ts';
import { CallsyncError } from '../errors.ts';
import { exitCodeOf } from './exit-codes.ts';
import { createLogger, toLog } from './log.ts';
import { say } from './say.ts';
import { createServices, type Services } from './services/services.ts';

export { say } from './say.ts';
export { untilStopped } from './signals.ts';

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

/** The lines of examples at the end of a command's help, and what else is to be known. */
export const withExamples = (command: Command, examples: readonly string[], remarks = ''): Command =>
  command.addHelpText(
    'after',
    `\nExamples:\n${examples.map((line) => `  ${line}`).join('\n')}${remarks === '' ? '' : `\n\n${remarks}`}`,
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
const secretsOf = (config: Config): string[] =>
  [
    config.source.client_secret,
    config.source.token,
    config.temporal.api_key,
    ...config.webhook.secrets.map((entry) => entry.secret),
  ].filter((secret) => secret !== undefined);

export const servicesFor = (config: Config, options: CommonOptions): Services =>
  createServices(config, toLog(createLogger(options.logLevel, secretsOf(config))), say);

/** Loads the configuration, runs `work`, and closes everything it opened. */
export const withServices = async <T>(
  options: CommonOptions,
  work: (services: Services) => Promise<T>,
  overrides: Raw = {},
): Promise<T> => {
  const { config } = await loadConfig({ path: options.config, overrides });
  const services = servicesFor(config, options);
  try {
    return await work(services);
  } finally {
    await services.close();
  }
};

/** One sentence and what to do, no stack: a person reads it. With --json the same as an object. */
export const reportFailure = (error: unknown, json: boolean): number => {
  const known = error instanceof CallsyncError;
  const message = known ? error.message : `Unexpected fault: ${error instanceof Error ? error.message : String(error)}`;
  const hint = known ? error.hint : 'Run the command again with --log-level debug, and report it with the log.';
  if (json) {
    process.stdout.write(`${JSON.stringify({ error: { code: known ? error.code : 'UNEXPECTED', message, hint } })}\n`);
  }
  process.stderr.write(`callsync: ${message}${hint === undefined ? '' : ` ${hint}`}\n`);
  if (!known && process.argv.includes('debug')) process.stderr.write(`${error instanceof Error ? error.stack : ''}\n`);
  return exitCodeOf(error);
};
