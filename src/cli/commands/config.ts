import { readFile } from 'node:fs/promises';
import type { ReceiverConfig } from '../../../schemas/config.ts';
import { loadConfig, loadReceiverConfig } from '../../config/load.ts';
import { terminal } from '../../lib/errors.ts';
import { readShipped } from '../../lib/find-built.ts';
import { countriesOf } from '../../privacy/privacy.ts';
import { flag, group, leaf } from '../shell/define.ts';

/** @throws terminal CONFIG_CREDENTIALS that names every key that is missing. */
const checkCredentials = ({ source, webhook }: Pick<ReceiverConfig, 'source' | 'webhook'>): void => {
  const missing: string[] = [];
  if (source !== undefined && source.token === undefined && source.token_file === undefined) {
    if (source.client_id === undefined) missing.push('source.client_id');
    if (source.client_secret === undefined && source.client_secret_file === undefined)
      missing.push('source.client_secret_file');
  }
  if (webhook.enabled && webhook.secrets.length === 0 && !webhook.allow_unsigned) missing.push('webhook.secrets');
  if (missing.length === 0) return;
  throw terminal('CONFIG_CREDENTIALS', `Credentials are missing: ${missing.join(', ')}.`);
};

/** Every key that ends in `_file`, at any depth, as `webhook.secrets[0].secret_file`. */
const filesOf = (value: unknown, key = ''): readonly (readonly [key: string, path: string])[] => {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, child]) => {
    const at = Array.isArray(value) ? `${key}[${name}]` : `${key}${key === '' ? '' : '.'}${name}`;
    return name.endsWith('_file') && typeof child === 'string' ? [[at, child] as const] : filesOf(child, at);
  });
};

/** Secrets, certificates, keys. @throws terminal CONFIG_FILES that names every key and path that is wrong. */
const checkFiles = async (config: object): Promise<void> => {
  const problems: string[] = [];
  for (const [key, path] of filesOf(config)) {
    const found = await readFile(path, 'utf8').catch((cause: { code?: string }) => cause);
    if (typeof found !== 'string') {
      const why = found.code === 'ENOENT' ? 'does not exist' : `cannot be read (${found.code ?? 'no access'})`;
      problems.push(`${key}: ${path} ${why}`);
    } else if (found.trim() === '') problems.push(`${key}: ${path} is empty`);
  }
  if (problems.length === 0) return;
  throw terminal('CONFIG_FILES', `Files that the configuration names cannot be used: ${problems.join('; ')}.`);
};

export const receiverAlone = flag('--receiver', 'check a receiver alone (callsync serve), without section source');

/** Prints a file of the package, which is generated from the schema. */
const printer = (does: string, example: string, file: string) =>
  leaf({ does, shared: 'none', examples: [example], run: () => void process.stdout.write(readShipped(file)) });

export default group({
  commands: {
    example: printer(
      'print a configuration file with every key and its meaning',
      'callsync config example > callsync.yaml',
      'callsync.example.yaml',
    ),
    schema: printer(
      'print the JSON Schema, for editors',
      'callsync config schema > callsync.schema.json',
      'docs/callsync.schema.json',
    ),
    check: leaf({
      does: 'check the configuration file and the environment',
      options: { receiver: receiverAlone },
      examples: ['callsync config check', 'CALLSYNC_CONFIG=/etc/callsync.yaml callsync config check --json'],
      run: async (options) => {
        const load = options.receiver === true ? loadReceiverConfig : loadConfig;
        const { config, path } = await load({ path: options.config });
        const { webhook, store, privacy, operations } = config;
        // A receiver uses these sections alone; the files of the others may be on other hosts.
        const used = options.receiver === true ? { webhook, store, privacy, operations } : config;
        checkCredentials(used);
        countriesOf(config.privacy);
        await checkFiles(used);
        return [{ valid: true, path }, `${path ?? 'The environment'} is valid.`];
      },
    }),
  },
});
