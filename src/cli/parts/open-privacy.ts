import { join } from 'node:path';
import type { Config } from '../../../schemas/config.ts';
import { resolveDataDir } from '../../config/data-dir.ts';
import { terminal } from '../../lib/errors.ts';
import { openOwnSecret, openSecret } from '../../lib/secret.ts';
import { createPrivacy, type Privacy, type PrivacyKeys } from '../../privacy/privacy.ts';
import { redactsSpeech, versionOfRules } from '../../privacy/rules.ts';
import { type Cleaner, openCleaner } from '../../privacy/threads.ts';

const shortest = 16;

type PrivacySettings = Pick<Config, 'privacy' | 'store'>;

/** The configured privacy rules with their keys; undefined where there are none. @throws CallsyncError CONFIG_SECRET, PRIVACY_KEY, SEAL_KEY */
export const openPrivacy = (config: PrivacySettings): Privacy | undefined => {
  const keys = openKeys(config);
  return keys && createPrivacy(config.privacy, keys);
};

/** The same for a receiver. @throws CallsyncError BUILD_MISSING, CONFIG_SECRET, PRIVACY_KEY, SEAL_KEY */
export const openReceiverPrivacy = (config: PrivacySettings): Cleaner | undefined => {
  const keys = openKeys(config);
  return keys && openCleaner(config.privacy, keys);
};

/** Whether there are any rules. */
export const hasRules = ({ profile, rules }: Config['privacy']): boolean => profile !== 'none' || rules.length > 0;

/** Whether a document that is under a version of rules, or under none, may hold numbers that are said. */
export const leavesSpeechOf = (privacy: Config['privacy']): ((rules: string | null) => boolean) => {
  const redacting = redactsSpeech(privacy) ? versionOfRules(privacy) : undefined;
  return (rules) => rules === null || rules !== redacting;
};

const openKeys = ({ privacy, store }: PrivacySettings): PrivacyKeys | undefined => {
  if (!hasRules(privacy)) return undefined;
  const token = checkLength(
    (
      openSecret({ key: 'privacy.key', file: privacy.key_file }) ?? openOwnSecret('privacy.key', ownKeyFile(store))
    ).readBytes(),
  );
  const former = privacy.former_keys.flatMap(
    ({ file }) => openSecret({ key: 'privacy.former_key', file })?.readBytes() ?? [],
  );
  const seal =
    privacy.unreadable === 'drop'
      ? undefined
      : openSecret({ key: 'privacy.seal_key', file: privacy.seal_key_file })?.readBytes();
  return { token, former: former.map(checkLength), seal };
};

/** The same where there have to be some. @throws CallsyncError PRIVACY_OFF too */
export const openRules = (config: PrivacySettings): Privacy => {
  const privacy = openPrivacy(config);
  if (privacy !== undefined) return privacy;
  throw terminal('PRIVACY_OFF', 'There are no privacy rules, so everything is stored as it comes.', {
    hint: 'Set privacy.profile or privacy.rules.',
  });
};

/** Where the key of tokens is unless `privacy.key_file` says otherwise. */
export const ownKeyFile = (store: Pick<Config['store'], 'data_dir'>): string =>
  join(resolveDataDir(store.data_dir), 'privacy.key');

const checkLength = (key: Buffer): Buffer => {
  if (key.length >= shortest) return key;
  throw terminal('PRIVACY_KEY', `A key of tokens has fewer than ${shortest} bytes.`, {
    hint: 'Write a long random secret into the file of privacy.key_file, such as the output of openssl rand -hex 32.',
  });
};
