/** All keys of a process, and the parts that need them: privacy rules, tombstones, proofs. */
import { join } from 'node:path';
import { isSupportedCountry } from 'libphonenumber-js/max';
import type { Config } from '../../../schemas/config.ts';
import { resolveDataDir } from '../../config/data-dir.ts';
import { terminal } from '../../lib/errors.ts';
import { openOwnSecret, openSecret } from '../../lib/secret.ts';
import { lazily } from '../../lib/timing.ts';
import { openSubjects } from '../../persons/subjects.ts';
import { createPrivacy, type Privacy, type PrivacyKeys } from '../../privacy/privacy.ts';
import { redactsSpeech, versionOfRules } from '../../privacy/rules.ts';
import { openCleaner } from '../../privacy/threads.ts';
import { openErasureLog } from '../../store/erasure-log.ts';
import type { Erasures, Proof, StoreKey } from '../../store/store.ts';
import { createProofKeys } from '../../store/windows/chain.ts';

type KeySettings = Pick<Config, 'privacy' | 'store'>;
type Code = StoreKey['code'];

const shortest = 16;

const longEnough = (code: Code, name: string, bytes: Buffer): Buffer => {
  if (bytes.length >= shortest) return bytes;
  throw terminal(code, `The key of ${name}_file has fewer than ${shortest} bytes.`, {
    hint: `Write a long random secret into the file of ${name}_file, such as the output of openssl rand -hex 32.`,
  });
};

const inDataDir = ({ data_dir }: Config['store'], name: string): string => join(resolveDataDir(data_dir), name);

/**
 * Key of callsync from the configured file, else from a file that the first start makes.
 * @param configured path in the configuration, if there is one
 * @param made file in `data_dir`
 */
const ownKey = (code: Code, name: string, configured: string | undefined, made: string): StoreKey => {
  const source = openSecret({ key: name, file: configured }) ?? openOwnSecret(name, made);
  const bytes = longEnough(code, name, source.readBytes());
  return { code, name, file: configured ?? made, bytes, former: [] };
};

const givenKey = (code: Code, name: string, file: string): Buffer =>
  longEnough(code, name, openSecret({ key: name, file })?.readBytes() ?? Buffer.alloc(0));

const tombstoneKey = ({ store }: KeySettings): StoreKey =>
  ownKey('TOMBSTONE_KEY', 'store.tombstone_key', store.tombstone_key_file, inDataDir(store, 'tombstone.key'));

const proofKey = ({ store }: Pick<Config, 'store'>): StoreKey => ({
  ...ownKey('PROOF_KEY', 'store.proof_key', store.proof_key_file, inDataDir(store, 'proof.key')),
  former: store.former_proof_key_files.map((file) => givenKey('PROOF_KEY', 'store.former_proof_key', file)),
});

/** The keys of tokens by their ids, the present one first. */
const tokenKeys = ({ privacy, store }: KeySettings): readonly (StoreKey & { readonly id: string })[] => [
  {
    ...ownKey('PRIVACY_KEY', 'privacy.key', privacy.key_file, inDataDir(store, 'privacy.key')),
    id: privacy.key_id,
  },
  ...privacy.former_keys.map(({ id, file }) => {
    const bytes = givenKey('PRIVACY_KEY', 'privacy.former_key', file);
    return { code: 'PRIVACY_KEY' as const, name: 'privacy.key', id, file, bytes, former: [] };
  }),
];

/** Undefined where nothing is sealed. */
const sealKey = ({ privacy }: KeySettings): StoreKey | undefined => {
  const { unreadable, seal_key_file: file, former_seal_key_files: former } = privacy;
  if (unreadable === 'drop' || file === undefined) return undefined;
  const read = (name: string) => (path: string) => givenKey('SEAL_KEY', name, path);
  return {
    code: 'SEAL_KEY',
    name: 'privacy.seal_key',
    file,
    bytes: read('privacy.seal_key')(file),
    former: former.map(read('privacy.former_seal_key')),
  };
};

/** @throws CallsyncError CONFIG_SECRET, or the code of a key that is too short */
export const listKeys = (config: KeySettings): readonly StoreKey[] => [
  tombstoneKey(config),
  proofKey(config),
  ...listPrivacyKeys(config),
];

/** Keys of a receiver; none without privacy rules. @throws CallsyncError as `listKeys` */
export const listPrivacyKeys = (config: KeySettings): readonly StoreKey[] => {
  if (versionOfRules(config.privacy) === undefined) return [];
  const tokens = tokenKeys(config).map(({ id, ...key }) => ({ ...key, name: `${key.name}:${id}` }));
  return [...tokens, sealKey(config)].filter((key) => key !== undefined);
};

/**
 * For separate processes, perhaps on several hosts, where each would create another key.
 * @throws CallsyncError PRIVACY_KEY
 */
export const requireKeyFile = ({ privacy }: Pick<Config, 'privacy'>): void => {
  if (versionOfRules(privacy) === undefined || privacy.key_file !== undefined) return;
  throw terminal('PRIVACY_KEY', 'privacy.key_file is not set; receivers and workers must share one token key.', {
    hint: 'Run openssl rand -hex 32 > privacy.key, copy the file to every host, and set privacy.key_file to it.',
  });
};

const privacyKeys = (config: KeySettings): PrivacyKeys | undefined => {
  if (versionOfRules(config.privacy) === undefined) return undefined;
  const [token, ...former] = tokenKeys(config).map(({ bytes }) => bytes);
  return { token: token as Buffer, former, seal: sealKey(config)?.bytes };
};

/** The configured privacy rules with their keys; undefined where there are none. @throws CallsyncError as `listKeys` */
export const openPrivacy = (config: KeySettings): Privacy | undefined => {
  const keys = privacyKeys(config);
  return keys && createPrivacy(config.privacy, keys);
};

/** The same for a receiver. @throws CallsyncError BUILD_MISSING too */
export const openReceiverPrivacy = (config: KeySettings): ReturnType<typeof openCleaner> | undefined => {
  const keys = privacyKeys(config);
  return keys && openCleaner(config.privacy, keys);
};

/** As above, but rules are required. @throws CallsyncError PRIVACY_OFF too */
export const openRules = (config: KeySettings): Privacy => {
  const privacy = openPrivacy(config);
  if (privacy !== undefined) return privacy;
  throw terminal('PRIVACY_OFF', 'There are no privacy rules, so callsync stores calls unchanged.', {
    hint: 'Set privacy.profile or privacy.rules.',
  });
};

/** Whether a document under a version of the rules (or under none) may hold spoken numbers. */
export const leavesSpeechOf = (privacy: Config['privacy']): ((rules: string | null) => boolean) => {
  const redacting = redactsSpeech(privacy) ? versionOfRules(privacy) : undefined;
  return (rules) => rules === null || rules !== redacting;
};

/** Countries of telephone numbers without a country code. */
export const countriesOf = ({ countries }: Config['privacy']) =>
  countries.filter((country) => isSupportedCountry(country));

/** The key of tombstones and the log of erasures. @throws CallsyncError CONFIG_SECRET, TOMBSTONE_KEY */
export const openErasures = (config: KeySettings): Erasures => {
  const proof = lazily(() => openProof(config));
  return {
    key: tombstoneKey(config).bytes,
    log: openErasureLog(config.store.erasure_log ?? inDataDir(config.store, 'erasures.log')),
    subjects: openSubjects({ countries: countriesOf(config.privacy), leavesSpeech: leavesSpeechOf(config.privacy) }),
    get proof() {
      return proof();
    },
  };
};

/** The keys of the proof chain and the file of its heads. @throws CallsyncError CONFIG_SECRET, PROOF_KEY */
export const openProof = ({ store }: Pick<Config, 'store'>): Proof => {
  const { bytes, former } = proofKey({ store });
  return {
    keys: createProofKeys(bytes, ...former),
    headsFile: store.proof_heads_file ?? inDataDir(store, 'proof-heads.json'),
  };
};
