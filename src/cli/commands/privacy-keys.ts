/** Changing the key of tokens, and unlinking those of one that was destroyed. */
import { dirname, join, resolve } from 'node:path';
import type { Command } from 'commander';
import { stringify } from 'yaml';
import { terminal } from '../../errors.ts';
import { loadTombstones } from '../../pipeline/erase/finish-erasure.ts';
import { forgetKey } from '../../pipeline/load/forget-key.ts';
import { openOwnSecret } from '../../secret.ts';
import { type CommonOptions, print, withCommonOptions, withServices } from '../command.ts';
import { withExamples } from '../help.ts';
import { ingestDeps } from '../services/activity-deps.ts';
import { openRules, ownKeyFile } from '../services/open-privacy.ts';
import { openStoreService } from '../services/open-store.ts';
import { openWarehouses } from '../services/open-warehouses.ts';

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

const forget = (keyId: string, options: CommonOptions): Promise<void> =>
  withServices(options, async (services) => {
    const privacy = openRules(services.config);
    const { key_id, former_keys } = services.config.privacy;
    if (key_id === keyId || former_keys.some(({ id }) => id === keyId)) {
      throw terminal('USAGE_KEY', 'The configuration still has the key, so that its tokens would be linked again.', {
        hint: 'Remove it from privacy.former_keys of every worker and receiver, restart them, delete its file, then run this again.',
      });
    }
    const store = await openStoreService(services);
    const targets = await openWarehouses(services, store);
    const deps = ingestDeps(services, { store, targets });
    const forgotten = await forgetKey(store, keyId, privacy.admit);
    await loadTombstones(deps);
    print(
      options,
      { key: keyId, ...forgotten },
      `${forgotten.aliases} aliases to or from its tokens are gone, ${forgotten.inbox} bodies of deliveries no longer carry any. Warehouses lose them with their next loads.`,
    );
  });

/** Adds the commands to `callsync privacy`. */
export const addPrivacyKeys = (privacy: Command): void => {
  withExamples(withCommonOptions(privacy.command('rotate-key')), ['callsync privacy rotate-key'])
    .description('make a new key of tokens, and print what the configuration is to say; changes nothing else')
    .action(rotateKey);
  withExamples(withCommonOptions(privacy.command('forget-key <id>')), ['callsync privacy forget-key k1'])
    .description('unlink the tokens of a former key that was destroyed: its aliases go, in store and warehouses')
    .action(forget);
};
