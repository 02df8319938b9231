import { readFile } from 'node:fs/promises';
import type { Command } from 'commander';
import type { Config } from '../../../schemas/config.ts';
import { loadConfig } from '../../config/load.ts';
import { terminal } from '../../lib/errors.ts';
import { listKeyUsage } from '../../store/delivery/agents.ts';
import { readSigningKey } from '../../webhook/server/signature.ts';
import { openStoreService } from '../parts/open-store.ts';
import { type CommonOptions, print, wholeNumber, withCommonOptions, withServices } from '../shell/command.ts';
import { exitCodes } from '../shell/failures.ts';
import { withExamples } from '../shell/output.ts';
import { sampleCall } from './webhook/sample-call.ts';
import { type SendResult, sendWebhook } from './webhook/send.ts';

const keys = (options: CommonOptions): Promise<void> =>
  withServices(options, async (services) => {
    const store = await openStoreService(services);
    const used = await listKeyUsage(store);
    const configured = services.config.webhook.secrets.map(({ name }) => name);
    const rows = [
      ...used.map((one) => ({
        key: one.key,
        configured: one.key !== null && configured.includes(one.key),
        deliveries: one.deliveries,
        firstUsed: one.firstUsed.toISOString(),
        lastUsed: one.lastUsed.toISOString(),
      })),
      ...configured
        .filter((name) => !used.some(({ key }) => key === name))
        .map((key) => ({ key, configured: true, deliveries: 0, firstUsed: null, lastUsed: null })),
    ];
    const text = rows.map(
      (row) =>
        `${(row.key ?? '(unsigned)').padEnd(20)}  ${row.configured ? 'in force' : 'not configured'}  ${
          row.lastUsed === null ? 'never used' : `${row.deliveries} deliveries, last ${row.lastUsed}`
        }`,
    );
    print(options, rows, text.length === 0 ? 'No key is configured, and nothing was delivered.' : text.join('\n'));
  });

interface SendCommandOptions extends CommonOptions {
  readonly url?: string;
  readonly file?: string;
  readonly key?: string;
  readonly unsigned?: boolean;
  readonly hookId?: string;
  readonly deliveryId?: string;
  readonly count: number;
}

/** Where the service would send to: the public address if one is configured, else the local listener. */
const addressOf = ({ webhook }: Config): string => {
  if (webhook.public_url !== undefined) return webhook.public_url;
  const host = /^(0\.0\.0\.0|::)$/.test(webhook.listen) ? '127.0.0.1' : webhook.listen;
  const bracketed = host.includes(':') ? `[${host}]` : host;
  return `${webhook.tls === undefined ? 'http' : 'https'}://${bracketed}:${webhook.port}${webhook.path}`;
};

const readBody = async (file: string): Promise<Buffer> => {
  try {
    if (file !== '-') return await readFile(file);
    const chunks: Buffer[] = [];
    for await (const chunk of process.stdin) chunks.push(chunk as Buffer);
    return Buffer.concat(chunks);
  } catch (cause) {
    throw terminal('USAGE_FILE', `The file ${file} cannot be read.`, { cause });
  }
};

const describeSent = (url: string, result: SendResult): string =>
  result.attempts
    .map(({ status, failure, ms }, index) => `${index === 0 ? url : 'again'}: ${status ?? failure} after ${ms} ms`)
    .join('\n');

const send = async (options: SendCommandOptions): Promise<void> => {
  const { config } = await loadConfig({ path: options.config });
  const { webhook } = config;
  const { key: wanted } = options;
  if (wanted !== undefined && !webhook.secrets.some(({ name }) => name === wanted)) {
    throw terminal('USAGE_KEY', `There is no signing key “${wanted}” in webhook.secrets.`, {
      hint:
        webhook.secrets.length === 0
          ? 'None is configured.'
          : `Use one of: ${webhook.secrets.map(({ name }) => name).join(', ')}.`,
    });
  }
  const url = options.url ?? addressOf(config);
  const key =
    options.unsigned || webhook.secrets.length === 0 ? undefined : readSigningKey(webhook.secrets, options.key);
  const hookId = options.hookId ?? [...(key?.hookIds ?? [])][0];
  const file = options.file === undefined ? undefined : await readBody(options.file);
  const results: SendResult[] = [];
  for (let sent = 0; sent < options.count; sent += 1) {
    const result = await sendWebhook({
      url,
      body: file ?? Buffer.from(JSON.stringify(sampleCall())),
      prefix: webhook.header_prefix,
      secret: key?.secret,
      hookId,
      deliveryId: options.deliveryId,
    });
    results.push(result);
    print(options, { url, signed: key !== undefined, ...result }, describeSent(url, result));
  }
  if (results.some((result) => result.attempts.every(({ status }) => status === undefined))) {
    process.exitCode = exitCodes.unreachable;
  } else if (results.some(({ delivered }) => !delivered)) process.exitCode = exitCodes.refused;
};

export const addWebhook = (command: Command): void => {
  const webhook = command.addHelpText(
    'after',
    `
Examples:
  callsync webhook keys
  callsync webhook send --url http://127.0.0.1:8780/webhook
  callsync webhook send --file call.json --unsigned`,
  );
  withExamples(withCommonOptions(webhook.command('keys')), ['callsync webhook keys', 'callsync webhook keys --json'])
    .description('which signing key verified how many deliveries, and when last: an unused one can be retired')
    .action(keys);
  withCommonOptions(webhook.command('send'))
    .description('sign and send an invented call, or a file, as the service would: 10 seconds, one retry')
    .option('--url <url>', 'receiver (default: webhook.public_url, else the configured listener)')
    .option('--file <file>', 'send these bytes instead of an invented call; - reads standard input')
    .option('--key <name>', 'sign with this one of webhook.secrets (default: the first)')
    .option('--unsigned', 'send no signature')
    .option('--hook-id <id>', 'X-Service-Hook-Id')
    .option('--delivery-id <id>', 'X-Service-Delivery (default: now)')
    .option('--count <n>', 'send so many, one after the other', wholeNumber(1), 1)
    .addHelpText(
      'after',
      `
Examples:
  callsync webhook send
  callsync webhook send --url http://127.0.0.1:8780/webhook --count 5
  cat call.json | callsync webhook send --file - --key next

An invented call that is accepted becomes a call like any other, with an id that begins with “sample-”.
Exit code 3: it was answered, but not with 2XX; 4: no answer.`,
    )
    .action(send);
};
