import { readFile } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';
import type { ReceiverConfig } from '../../../schemas/config.ts';
import { withStore } from '../../app/services.ts';
import { loadReceiverConfig } from '../../config/load.ts';
import { localAddress } from '../../lib/certificate.ts';
import { terminal } from '../../lib/errors.ts';
import { sendWebhook } from '../../lib/send-webhook.ts';
import { listKeyUsage } from '../../store/delivery/delivery-statistics.ts';
import { readSigningKey, signWith } from '../../webhook/server/signature.ts';
import { flag, group, leaf, option } from '../shell/define.ts';
import { sampleCall } from './webhook/sample-call.ts';

type SendResult = Awaited<ReturnType<typeof sendWebhook>>;

/** Where the service would send to: the public address if one is configured, else the local listener. */
const addressOf = ({ webhook }: ReceiverConfig): string =>
  webhook.public_url ?? `${localAddress(webhook)}${webhook.path}`;

const readBody = (file: string): Promise<Buffer> =>
  (file === '-' ? buffer(process.stdin) : readFile(file)).catch((cause: unknown) => {
    throw terminal('USAGE_FILE', `The file ${file} cannot be read.`, { cause });
  });

const describeSent = (url: string, { attempts }: SendResult): string =>
  attempts
    .map(({ status, failure, ms }, index) => `${index === 0 ? url : 'again'}: ${status ?? failure} after ${ms} ms`)
    .join('\n');

/** The key to sign with; undefined where none is configured. @throws CallsyncError USAGE_KEY */
const keyOf = (
  secrets: ReceiverConfig['webhook']['secrets'],
  { key: wanted, unsigned }: { readonly key?: string | undefined; readonly unsigned?: boolean | undefined },
) => {
  const names = secrets.map(({ name }) => name);
  if (wanted !== undefined && !names.includes(wanted))
    throw terminal('USAGE_KEY', `There is no signing key “${wanted}” in webhook.secrets.`, {
      hint: names.length === 0 ? 'None is configured.' : `Use one of: ${names.join(', ')}.`,
    });
  return unsigned || names.length === 0 ? undefined : readSigningKey(secrets, wanted);
};

export default group({
  commands: {
    keys: leaf({
      does: 'list signing keys with their deliveries and last use, to retire unused ones',
      examples: ['callsync webhook keys', 'callsync webhook keys --json'],
      remarks: 'A row without a key counts unsigned deliveries.',
      within: withStore,
      run: async (_options, store, { config }) => {
        const used = await listKeyUsage(store);
        const configured = config.webhook.secrets.map(({ name }) => name);
        const unused = configured.filter((name) => !used.some(({ key }) => key === name));
        return [
          [
            ...used.map(({ key, ...use }) => ({ key, configured: key !== null && configured.includes(key), ...use })),
            ...unused.map((key) => ({ key, configured: true, deliveries: 0, firstUsed: null, lastUsed: null })),
          ],
        ];
      },
    }),
    send: leaf({
      does: 'sign and send an invented call, or a file, with the time-out and the one retry of the service',
      options: {
        url: option('--url <url>', 'receiver (default: webhook.public_url, else webhook.listen and webhook.port)'),
        file: option('--file <file>', 'file to send instead of an invented call; - for standard input'),
        key: option('--key <name>', 'name of the signing secret in webhook.secrets (default: the first)'),
        unsigned: flag('--unsigned', 'send no signature'),
      },
      examples: [
        'callsync webhook send',
        'callsync webhook send --url http://127.0.0.1:8780/webhook',
        'cat call.json | callsync webhook send --file - --key next',
      ],
      remarks: `An invented call that is accepted becomes a call like any other, with an id that begins with “sample-”.
Exit code 3: the answer was not 2XX. Exit code 4: no answer.`,
      run: async (options) => {
        const { config } = await loadReceiverConfig({ path: options.config });
        const { secrets, header_prefix: prefix } = config.webhook;
        const { url = addressOf(config) } = options;
        const key = keyOf(secrets, options);
        const body = options.file === undefined ? JSON.stringify(sampleCall()) : await readBody(options.file);
        const result = await sendWebhook({ url, body, prefix, ...signWith(key) });
        const isAnswered = result.attempts.some(({ status }) => status !== undefined);
        const exit = !result.delivered && (isAnswered ? 'denied' : 'unanswered');
        return [{ url, signed: key !== undefined, ...result }, describeSent(url, result), exit];
      },
    }),
  },
});
