import { join } from 'node:path';
import type { Config } from '../../../schemas/config.ts';
import { resolveDataDir } from '../../config/data-dir.ts';
import { terminal } from '../../errors.ts';
import type { Privacy } from '../../privacy/privacy.ts';
import { createPrivacy } from '../../privacy/privacy.ts';
import { openOwnSecret, openSecret } from '../../secret.ts';

const shortest = 16;

/** The configured privacy rules with their keys; undefined where there are none. @throws CallsyncError CONFIG_SECRET, PRIVACY_KEY, SEAL_KEY */
export const openPrivacy = ({ privacy, store }: Pick<Config, 'privacy' | 'store'>): Privacy | undefined => {
  if (privacy.profile === 'none' && privacy.rules.length === 0) return undefined;
  const token = (
    openSecret({ key: 'privacy.key', file: privacy.key_file }) ??
    openOwnSecret('privacy.key', join(resolveDataDir(store.data_dir), 'privacy.key'))
  ).readBytes();
  if (token.length < shortest) {
    throw terminal('PRIVACY_KEY', `The key of tokens has fewer than ${shortest} bytes.`, {
      hint: 'Write a long random secret into the file of privacy.key_file, such as the output of openssl rand -hex 32.',
    });
  }
  const seal =
    privacy.unreadable === 'drop'
      ? undefined
      : openSecret({ key: 'privacy.seal_key', file: privacy.seal_key_file })?.readBytes();
  return createPrivacy(privacy, { token, seal });
};
