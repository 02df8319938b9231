/** Changing the key of tokens. */

import { dirname, join, resolve } from 'node:path';
import type { Command } from 'commander';
import { stringify } from 'yaml';
import { openOwnSecret } from '../../lib/secret.ts';
import { openRules, ownKeyFile } from '../parts/open-privacy.ts';
import { type CommonOptions, print, withCommonOptions, withServices } from '../shell/command.ts';
import { withExamples } from '../shell/output.ts';

/** `k1` → `k2`, `main` → `main2`. */
const nextId = (id: string): string => {
  const [, name = '', number = '1'] = /^(.*?)(\d*)$/.exec(id) ?? [];
  return `${name}${Number(number || '1') + 1}`;
};

const rotateKey = (options: CommonOptions): Promise<void> =>
  withServices(options, async ({ config }) => {
    openRules(config);
    const { key_id, key_file, former_keys } = config.privacy;
    const ids = new Set([key_id, ...former_keys.map(({ id }) => id)]);
    let id = nextId(key_id);
    while (ids.has(id)) id = nextId(id);
    const present = resolve(key_file ?? ownKeyFile(config.store));
    const file = join(dirname(present), `privacy-${id}.key`);
    openOwnSecret('privacy.key', file).readBytes();
    const privacy = { key_id: id, key_file: file, former_keys: [...former_keys, { id: key_id, file: present }] };
    print(
      options,
      privacy,
      `The new key is in ${file}. Give it to every worker and receiver, have the configuration say this, and restart them, workers first:\n\n${stringify({ privacy })}`,
    );
  });

/** Adds the command to `callsync privacy`. */
export const addPrivacyKeys = (privacy: Command): void => {
  withExamples(withCommonOptions(privacy.command('rotate-key')), ['callsync privacy rotate-key'])
    .description('make a new key of tokens, and print what the configuration is to say; changes nothing else')
    .action(rotateKey);
};
