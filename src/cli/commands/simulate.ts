import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { type SimulatorOptions, simulatorOptionsSchema } from '../../../schemas/simulator.ts';
import { terminal } from '../../lib/errors.ts';
import { isObject, mergeRaw } from '../../lib/parse-json.ts';
import { dialectOf, dialects } from '../../simulator/service/dialects.ts';
import { runSimulator, type SimulatorAddresses } from '../../simulator/start-simulator.ts';
import { type Given, leaf, option, parsed, port, wholeNumber } from '../shell/define.ts';
import { print, untilStopped } from '../shell/output.ts';

type SimulateOptions = Given<typeof options>;

const wrong = (problem: string) => terminal('USAGE_SIMULATOR', `The simulator cannot take these options: ${problem}.`);

const readExtra = (text: string): Record<string, unknown> => {
  let extra: unknown;
  try {
    extra = parse(text);
  } catch {
    throw wrong('--options is not valid YAML or JSON');
  }
  if (!isObject(extra)) throw wrong('--options must hold keys, such as "{live: {callsPerSecond: 5}}"');
  return extra;
};

const listOf = (texts: readonly (readonly [name: string, text: string])[]): string => {
  const width = Math.max(...texts.map(([name]) => name.length));
  return texts.map(([name, text]) => `  ${name.padEnd(width)}  ${text}`.trimEnd()).join('\n');
};

/** `live  callsPerSecond, processingSeconds, editShare`: a line a section of --options. */
const listOptions = (): string => {
  const { properties = {} } = z.toJSONSchema(simulatorOptionsSchema, { io: 'input', unrepresentable: 'any' });
  const keysOf = (schema: unknown): string =>
    Object.keys((isObject(schema) && isObject(schema.properties) && schema.properties) || {}).join(', ');
  return listOf(Object.entries(properties).map(([name, schema]) => [name, keysOf(schema)]));
};

/** The keys of --options win over the other options. @throws terminal USAGE_SIMULATOR */
const settingsOf = (options: SimulateOptions): SimulatorOptions => {
  const { port, dialect, calls: count, webhook: url } = options;
  const given = { port, dialect, calls: { count }, webhooks: url === undefined ? {} : { url } };
  const settings = mergeRaw(given, readExtra(options.options));
  const { success, data, error } = simulatorOptionsSchema.safeParse(settings);
  const describe = ({ path, message }: z.core.$ZodIssue): string =>
    [path.join('.'), message.replace(/^Invalid input: /, '')].filter(Boolean).join(': ');
  if (!success) throw wrong(error.issues.map(describe).join('; '));
  dialectOf(data.dialect, data.dialectOverrides);
  return settings as SimulatorOptions;
};

const render = (addresses: SimulatorAddresses): string =>
  [
    `base_url        ${addresses.url}`,
    `auth_url        ${addresses.authUrl}`,
    `realm           ${addresses.realm}`,
    `client_id       ${addresses.clientId}`,
    `client_secret   ${addresses.clientSecret}   (made up for this run)`,
    `signing secret  ${addresses.signingSecret ?? 'none'}   (made up for this run)`,
    'header prefix   X-Service-   (a preset may set another: webhook.header_prefix)',
    `control token   ${addresses.controlToken}   (for POST ${addresses.origin}/__sim/...)`,
    `calls           ${addresses.range.from} … ${addresses.range.to}`,
  ].join('\n');

/** Writes the secrets into files, as an account manager delivers them. */
const writeSecrets = (folder: string, addresses: SimulatorAddresses): void => {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const { clientSecret, signingSecret } = addresses;
  for (const [name, secret] of Object.entries({ 'client-secret': clientSecret, 'signing-secret': signingSecret }))
    if (secret !== null) writeFileSync(join(folder, name), secret, { mode: 0o600 });
};

const run = async (options: SimulateOptions): Promise<void> => {
  const settings = settingsOf(options);
  try {
    await runSimulator(settings, untilStopped().signal, (addresses) => {
      if (options.secrets !== undefined) writeSecrets(options.secrets, addresses);
      print(options, addresses, render(addresses));
    });
  } catch (cause) {
    const { code } = cause as { code?: string };
    if (code !== 'EADDRINUSE' && code !== 'EACCES' && code !== 'EADDRNOTAVAIL') throw cause;
    const why = code === 'EADDRINUSE' ? 'is taken' : 'may not be used';
    throw terminal('USAGE_PORT', `Port ${settings.port} ${why}.`, { cause });
  }
};

const options = {
  port: parsed('--port <port>', 'port of its HTTP interface; 0 = any free port', port, '0'),
  calls: parsed('--calls <n>', 'number of calls', wholeNumber(0, 4_000_000), '2000'),
  dialect: option('--dialect <name>', 'dialect of its call list, from the list below', 'activate'),
  webhook: option('--webhook <url>', 'address of the receiver for webhooks'),
  options: option('--options <yaml>', 'further options as YAML or JSON, from the list below', '{}'),
  secrets: option('--secrets <folder>', 'folder for the files client-secret and signing-secret'),
};

export default leaf({
  shared: 'json',
  options,
  examples: [
    'callsync simulate --calls 500 --webhook http://127.0.0.1:8780/webhook',
    'callsync simulate --port 9000 --dialect page_total --secrets service',
    'callsync simulate --options "{live: {callsPerSecond: 5}, rateLimit: {requests: 0}}"',
  ],
  remarks: () => `Dialects:\n${listOf(Object.entries(dialects))}\n\n--options takes:\n${listOptions()}`,
  run,
});
