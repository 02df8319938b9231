import { access, mkdir, writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { type Command, Option } from 'commander';
import { loadConfig } from '../../config/load.ts';
import { renderStarter } from '../../config/starter.ts';
import { terminal } from '../../lib/errors.ts';
import { createLocalRequestLimiter } from '../../source/http/limiter.ts';
import { listPresets } from '../../source/presets/presets.ts';
import { defaultProbeRequests } from '../../source/probe/probe.ts';
import { requestLimitRules } from '../../source/source.ts';
import { kinds } from '../../warehouse/kinds.ts';
import { type CommonOptions, say, withCommonOptions } from '../shell/command.ts';
import { runDoctor } from './doctor.ts';
import { type Answers, toConfig } from './init/answers.ts';
import { runProbe } from './probe.ts';

interface InitOptions extends CommonOptions, Partial<Omit<Answers, 'warehouse' | 'settings'>> {
  readonly warehouse: Answers['warehouse'];
  readonly postgresUrlFile?: string;
  readonly project?: string;
  readonly yes?: boolean;
  readonly probe: boolean;
  readonly doctor: boolean;
}

const usage = (message: string, hint: string): Error => terminal('USAGE_INIT', message, { hint });

const checkFree = async (path: string): Promise<void> => {
  const present = await access(path).then(
    () => true,
    () => false,
  );
  if (present) throw usage(`${path} is there already.`, 'Name another file with --config, or move this one away.');
};

const answersOf = async (options: InitOptions, folder: string): Promise<Answers> => {
  const { questions = [] } = kinds.find(({ type }) => type === options.warehouse) ?? {};
  const given: Readonly<Record<string, string | undefined>> = {
    url_file: options.postgresUrlFile,
    project: options.project,
  };
  const settings = Object.fromEntries(questions.map(({ key }) => [key, given[key]]));
  if (options.yes !== true) {
    if (!process.stdin.isTTY) {
      throw usage('There is no terminal to ask on.', 'Give the answers as options, with --yes.');
    }
    // The library of questions is loaded when somebody is asked.
    const { askAnswers } = await import('./init/ask.ts');
    return await askAnswers(
      { ...options, settings },
      (await listPresets()).map(({ name }) => name),
      folder,
    );
  }
  if (options.baseUrl === undefined) throw usage('The address of the call API is missing.', 'Give it as --base-url.');
  const missing = questions.find(({ key, required }) => required && settings[key] === undefined);
  if (missing !== undefined) {
    throw usage(`${missing.message} of the warehouse is missing.`, `Give it as --${missing.key.replaceAll('_', '-')}.`);
  }
  return {
    baseUrl: options.baseUrl,
    authUrl: options.authUrl,
    realm: options.realm,
    clientId: options.clientId,
    clientSecretFile: options.clientSecretFile,
    preset: options.preset,
    warehouse: options.warehouse,
    settings,
    signingSecretFile: options.signingSecretFile,
    publicUrl: options.publicUrl,
  };
};

const run = async (options: InitOptions): Promise<void> => {
  const path = resolve(options.config ?? process.env.CALLSYNC_CONFIG ?? 'callsync.yaml');
  await checkFree(path);
  await mkdir(dirname(path), { recursive: true });
  const answers = await answersOf(options, dirname(path));
  await writeFile(path, renderStarter(toConfig(answers, dirname(path))), { mode: 0o600, flag: 'wx' });
  say(`Written: ${path}`);
  const { config } = await loadConfig({ path });
  // What the probe asks counts against the service's limit when doctor asks.
  const limiter = createLocalRequestLimiter(requestLimitRules(config.source));
  const common = { config: path, json: options.json, logLevel: options.logLevel, limiter };
  if (answers.preset === undefined && options.probe) {
    // What the probe finds is in the file; on standard output there is one result, that of doctor.
    await runProbe({
      ...common,
      json: false,
      write: true,
      quiet: true,
      maxRequests: defaultProbeRequests,
      tryParam: [],
    });
  }
  if (options.doctor) await runDoctor({ ...common, deadline: 40 });
  say('Next: callsync go-live, which verifies the receiver, reads the past and turns the schedules on.');
};

export const addInit = (command: Command): void => {
  withCommonOptions(command)
    .option('--yes', 'ask nothing: what no option says is left out')
    .option('--base-url <address>', 'address of the call API')
    .option('--auth-url <address>', 'address of the identity provider')
    .option('--realm <name>', 'realm of the token endpoint')
    .option('--client-id <id>', 'client id')
    .option('--client-secret-file <file>', 'file that holds the client secret')
    .option('--preset <name>', 'how the call list works (callsync presets); probed without it')
    .addOption(
      new Option('--warehouse <type>', 'where the calls go').choices(kinds.map(({ type }) => type)).default('postgres'),
    )
    .option('--postgres-url-file <file>', 'file that holds the connection URL; PostgreSQL of its own without it')
    .option('--project <id>', 'Google Cloud project, for BigQuery')
    .option('--signing-secret-file <file>', 'file that holds the signing secret: turns the webhook receiver on')
    .option('--public-url <address>', 'public address of the receiver')
    .option('--no-probe', 'do not ask the service how its list works')
    .option('--no-doctor', 'do not check what was written')
    .addHelpText(
      'after',
      `
Examples:
  callsync init
  callsync init --yes --base-url https://api.example.com --auth-url https://login.example.com --realm main \\
    --client-id me --client-secret-file /run/secrets/client_secret --preset activate

It writes callsync.yaml (or --config) with a comment above each key, finds out how the call list works where no preset is
given, and ends with callsync doctor, whose exit code it has. It replaces no file. Secrets stand in files of their own.`,
    )
    .action(run);
};
