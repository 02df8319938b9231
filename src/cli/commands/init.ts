import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import type { CommonOptions } from '../../app/services.ts';
import { loadConfig } from '../../config/load.ts';
import { renderStarter } from '../../config/starter.ts';
import { terminal } from '../../lib/errors.ts';
import { say } from '../../lib/say.ts';
import { createLocalRequestLimiter } from '../../source/http/limiter.ts';
import { listPresets } from '../../source/presets/presets.ts';
import { requestLimitRules } from '../../source/source.ts';
import { kinds } from '../../warehouse/kinds.ts';
import { choice, flag, type Given, leaf, option } from '../shell/define.ts';
import { runDoctor } from './doctor.ts';
import { runProbe } from './probe.ts';

type InitOptions = Given<typeof options>;

/** First content of a configuration, from options or answers: also the answers to the questions of its warehouse. */
type Answers = Omit<InitOptions, keyof CommonOptions> & {
  readonly settings: Readonly<Record<string, string | undefined>>;
};

const usage = (message: string, hint: string): Error => terminal('USAGE_INIT', message, { hint });

const questionsOf = (warehouse: string) => kinds.find(({ type }) => type === warehouse)?.questions ?? [];

const answersOf = async (options: InitOptions, folder: string): Promise<Answers> => {
  const given: Answers['settings'] = { url_file: options.postgresUrlFile, project: options.project };
  const questions = questionsOf(options.warehouse);
  const settings = Object.fromEntries(questions.map(({ key }) => [key, given[key]]));
  if (options.yes !== true) {
    if (!process.stdin.isTTY)
      throw usage('There is no terminal for questions.', 'Give the answers as options, with --yes.');
    return await askAnswers({ ...options, settings }, folder);
  }
  if (options.baseUrl === undefined) throw usage('The address of the call API is missing.', 'Give it as --base-url.');
  const missing = questions.find(({ key, required }) => required && settings[key] === undefined);
  if (missing !== undefined)
    throw usage(`${missing.message} of the warehouse is missing.`, `Give it as --${missing.key.replaceAll('_', '-')}.`);
  return { ...options, settings };
};

/** Each service has its own data folder. The account of the embedded PostgreSQL cannot enter root's home. */
const dataDirOf = (folder: string): string =>
  process.getuid?.() === 0 && `${folder}/`.startsWith(`${homedir()}/`)
    ? join('/var/lib/callsync', basename(folder))
    : join(folder, '.callsync');

/** The library of questions is loaded only if there are questions. */
const loadPrompts = () => import('@inquirer/prompts');

/** The sections of the configuration file, without keys that have no value. */
const toConfig = (answers: Answers, folder: string): object => {
  const { warehouse, settings, signingSecretFile: secret_file, preset } = answers;
  const sections = {
    source: {
      base_url: answers.baseUrl,
      auth_url: answers.authUrl,
      realm: answers.realm,
      client_id: answers.clientId,
      // Whole paths: commands may be run in any folder.
      client_secret_file: answers.clientSecretFile && resolve(answers.clientSecretFile),
      list: preset && { preset },
    },
    store: { data_dir: dataDirOf(folder) },
    warehouses: { [warehouse]: { type: warehouse, ...settings } },
    webhook: {
      enabled: secret_file !== undefined,
      public_url: answers.publicUrl,
      secrets: secret_file && [{ name: 'current', secret_file: resolve(secret_file) }],
    },
  };
  return JSON.parse(JSON.stringify(sections)) as object;
};

const run = async (options: InitOptions): Promise<void> => {
  const path = resolve(options.config ?? process.env.CALLSYNC_CONFIG ?? 'callsync.yaml');
  if (existsSync(path))
    throw usage(`${path} is there already.`, 'Name another file with --config, or move this one away.');
  await mkdir(dirname(path), { recursive: true });
  const answers = await answersOf(options, dirname(path));
  // Where nothing is asked of the service, the files may come later.
  for (const file of options.probe ? [answers.clientSecretFile, answers.signingSecretFile] : [])
    if (file !== undefined && !existsSync(file))
      throw usage(
        `${file} does not exist; no configuration is written.`,
        'Write the secret into it, or name another file.',
      );
  await writeFile(path, renderStarter(toConfig(answers, dirname(path))), { mode: 0o600, flag: 'wx' });
  say(`Written: ${path}`);
  const { config } = await loadConfig({ path });
  // Requests of the probe count against the service's limit when doctor asks.
  const limiter = createLocalRequestLimiter(requestLimitRules(config.source));
  const common = { config: path, json: options.json, logLevel: options.logLevel, limiter };
  // The file has the result of the probe. Standard output has one result, that of doctor.
  if (answers.preset === undefined && options.probe)
    await runProbe({ ...common, json: false, write: true, quiet: true });
  if (options.doctor) await runDoctor(common);
  const first = process.exitCode ? 'correct each FAILED finding, run callsync doctor again, start' : 'start';
  say(`Next: ${first} callsync up --no-schedules, then run callsync go-live --from DATE in a second terminal.`);
};

const options = {
  yes: flag('--yes', 'ask nothing, and omit settings without an option'),
  baseUrl: option('--base-url <address>', 'address of the call API'),
  authUrl: option('--auth-url <address>', 'address of the identity provider'),
  realm: option('--realm <name>', 'realm of the token endpoint'),
  clientId: option('--client-id <id>', 'client id'),
  clientSecretFile: option('--client-secret-file <file>', 'file that holds the client secret'),
  preset: option('--preset <name>', 'preset of the call list, such as activate; without it, init probes the list'),
  warehouse: choice(
    '--warehouse <type>',
    'kind of the warehouse',
    kinds.map(({ type }) => type),
    'postgres',
  ),
  postgresUrlFile: option(
    '--postgres-url-file <file>',
    'file that holds the connection URL; without it, callsync starts a PostgreSQL server',
  ),
  project: option('--project <id>', 'Google Cloud project, for BigQuery'),
  signingSecretFile: option(
    '--signing-secret-file <file>',
    'file that holds the signing secret: turns the webhook receiver on',
  ),
  publicUrl: option('--public-url <address>', 'public address of the receiver'),
  probe: flag('--no-probe', 'do not ask the service how its list works'),
  doctor: flag('--no-doctor', 'do not check the written configuration'),
};

export default leaf({
  options,
  examples: [
    'callsync init',
    `callsync init --yes --base-url https://api.example.com --auth-url https://login.example.com --realm main \\
    --client-id me --client-secret-file /run/secrets/client_secret --preset activate`,
  ],
  remarks: `init writes callsync.yaml (or --config) with a comment above each key, and secrets into files of their own. init never
replaces a file. Without a preset, init probes the call list. At the end, init runs callsync doctor, which decides the exit code.`,
  run,
});

// The questions of `init`. A flag's value is the default answer.

const isAddress = (text: string): boolean | string =>
  /^https?:\/\/[^\s/]+/.test(text) || 'Use an address such as https://api.example.com.';
const orNothing = (text: string): string | undefined => (text.trim() === '' ? undefined : text.trim());

/** A secret typed here goes into a file of its own, which nobody else can read. */
const askSecretFile = async (what: string, given: string | undefined, file: string): Promise<string | undefined> => {
  if (given !== undefined) return given;
  const { password } = await loadPrompts();
  const secret = orNothing(await password({ message: `${what} (kept in ${file}; empty = later)`, mask: true }));
  if (secret === undefined) return undefined;
  await writeFile(file, secret, { mode: 0o600, flag: 'wx' });
  return file;
};

const askAnswers = async (given: Answers, folder: string): Promise<Answers> => {
  const { confirm, input, select } = await loadPrompts();
  const askText = async (message: string, given = '', required = false): Promise<string | undefined> =>
    orNothing(await input({ message, default: given, required }));
  const baseUrl = await input({ message: 'Address of the call API', default: given.baseUrl, validate: isAddress });
  const authUrl = await askText('Address of the identity provider (empty = no token)', given.authUrl);
  const access =
    authUrl === undefined
      ? {}
      : {
          realm: await askText('Realm', given.realm),
          clientId: await askText('Client id', given.clientId),
          clientSecretFile: await askSecretFile('Client secret', given.clientSecretFile, `${folder}/client-secret`),
        };
  const preset = await select({
    message: 'How does the call list work?',
    choices: [
      { name: 'not known: find out with few requests', value: undefined },
      ...(await listPresets()).map(({ name }) => ({ name: `as preset ${name}`, value: name })),
    ],
    default: given.preset,
  });
  const warehouse = await select({
    message: 'Where do the calls go?',
    choices: kinds.map(({ type }) => ({ value: type })),
    default: given.warehouse,
  });
  const settings: Record<string, string | undefined> = {};
  for (const { key, message, required } of questionsOf(warehouse))
    settings[key] = await askText(message, given.settings[key], required);
  const asked = { baseUrl, authUrl, ...access, preset, warehouse, settings };
  const message = 'Does the service send webhooks here?';
  if (!(await confirm({ message, default: given.signingSecretFile !== undefined }))) return asked;
  const file = `${folder}/signing-secret`;
  return {
    ...asked,
    signingSecretFile: await askSecretFile('Signing secret of the webhooks', given.signingSecretFile, file),
    publicUrl: await askText('Public address of the receiver (empty = not yet)', given.publicUrl),
  };
};
