/** Every key that a process uses with the store: from where it is configured, or made in `data_dir` at the first start. */
import { join } from 'node:path';
import type { Config } from '../../../schemas/config.ts';
import { resolveDataDir } from '../../config/data-dir.ts';
import { terminal } from '../../lib/errors.ts';
import { openOwnSecret, openSecret } from '../../lib/secret.ts';
import type { StoreKey } from '../../store/keys.ts';
import { hasRules, ownKeyFile } from './open-privacy.ts';

/** @throws CallsyncError CONFIG_SECRET */
export const listKeys = (config: Pick<Config, 'privacy' | 'store'>): readonly StoreKey[] => {
  const { store } = config;
  const dataDir = resolveDataDir(store.data_dir);
  const former = store.former_proof_key_files.map((file) => read('store.former_proof_key', file));
  return [
    {
      code: 'TOMBSTONE_KEY',
      ...own('store.tombstone_key', store.tombstone_key_file, join(dataDir, 'tombstone.key')),
      former: [],
    },
    { code: 'PROOF_KEY', ...own('store.proof_key', store.proof_key_file, join(dataDir, 'proof.key')), former },
    ...listPrivacyKeys(config),
  ];
};

/** Those of a receiver; none where there are no privacy rules. @throws CallsyncError CONFIG_SECRET */
export const listPrivacyKeys = ({ privacy, store }: Pick<Config, 'privacy' | 'store'>): readonly StoreKey[] => {
  if (!hasRules(privacy)) return [];
  const present = own('privacy.key', privacy.key_file, ownKeyFile(store));
  const named = [{ ...present, id: privacy.key_id }].concat(
    privacy.former_keys.map(({ id, file }) => ({
      id,
      name: 'privacy.key',
      file,
      bytes: read('privacy.former_key', file),
    })),
  );
  const seal = privacy.unreadable === 'drop' ? undefined : privacy.seal_key_file;
  return [
    ...named.map(
      ({ id, name, file, bytes }): StoreKey => ({
        code: 'PRIVACY_KEY',
        name: `${name}:${id}`,
        file,
        bytes,
        former: [],
      }),
    ),
    ...(seal === undefined
      ? []
      : [
          {
            code: 'SEAL_KEY' as const,
            name: 'privacy.seal_key',
            file: seal,
            bytes: read('privacy.seal_key', seal),
            former: privacy.former_seal_key_files.map((file) => read('privacy.former_seal_key', file)),
          },
        ]),
  ];
};

const own = (name: string, configured: string | undefined, file: string) => ({
  name,
  file: configured ?? file,
  bytes: (openSecret({ key: name, file: configured }) ?? openOwnSecret(name, file)).readBytes(),
});

const read = (key: string, file: string): Buffer => openSecret({ key, file })?.readBytes() ?? Buffer.alloc(0);

/**
 * For processes of their own, which may run on several hosts: each would make a key of its own.
 * @throws CallsyncError PRIVACY_KEY
 */
export const requireKeyFile = ({ privacy }: Pick<Config, 'privacy'>): void => {
  if (!hasRules(privacy) || privacy.key_file !== undefined) return;
  throw terminal('PRIVACY_KEY', 'The configuration names no key of tokens, which receivers and workers must share.', {
    hint: 'Run openssl rand -hex 32 > privacy.key, copy the file to every host, and set privacy.key_file to it.',
  });
};
