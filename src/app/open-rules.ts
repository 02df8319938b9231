/** Privacy rules, erasures and proofs with their keys. */

import type { Config } from '../../schemas/config.ts';
import { terminal } from '../lib/errors.ts';
import { lazily } from '../lib/timing.ts';
import { openSubjects } from '../persons/subjects.ts';
import { countriesOf, createPrivacy, type Privacy } from '../privacy/privacy.ts';
import { redactsSpeech, versionOfRules } from '../privacy/rules.ts';
import { openErasureLog } from '../store/erasure-log.ts';
import type { Erasures, Proof } from '../store/store.ts';
import { createProofKeys } from '../store/windows/chain.ts';
import { inDataDir, type KeySettings, openPrivacyKeys, proofKey, tombstoneKey } from './services.ts';

/** The configured privacy rules with their keys; undefined where there are none. @throws CallsyncError as `listKeys` */
export const openPrivacy = (config: KeySettings): Privacy | undefined => {
  const keys = openPrivacyKeys(config);
  return keys && createPrivacy(config.privacy, keys);
};

/** As above, but rules are required. @throws CallsyncError PRIVACY_OFF too */
export const openRules = (config: KeySettings): Privacy => {
  const privacy = openPrivacy(config);
  if (privacy !== undefined) return privacy;
  throw terminal('PRIVACY_OFF', 'There are no privacy rules, so callsync stores calls unchanged.');
};

/** Whether a document under a version of the rules (or under none) may hold spoken numbers. */
export const leavesSpeechOf = (privacy: Config['privacy']): ((rules: string | null) => boolean) => {
  const redacting = redactsSpeech(privacy) ? versionOfRules(privacy) : undefined;
  return (rules) => rules === null || rules !== redacting;
};

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
  const headsFile = store.proof_heads_file ?? inDataDir(store, 'proof-heads.json');
  return { keys: createProofKeys(bytes, ...former), headsFile };
};
