import { join } from 'node:path';
import { isSupportedCountry } from 'libphonenumber-js/max';
import type { Config } from '../../../schemas/config.ts';
import { resolveDataDir } from '../../config/data-dir.ts';
import { terminal } from '../../lib/errors.ts';
import { openOwnSecret, openSecret } from '../../lib/secret.ts';
import { openSubjects } from '../../persons/subjects.ts';
import { openErasureLog } from '../../store/erasure-log.ts';
import type { Erasures, Proof } from '../../store/store.ts';
import { leavesSpeechOf } from './open-privacy.ts';
import { openProof } from './open-proof.ts';

const shortest = 16;

/** The key of tombstones and the log of erasures. @throws CallsyncError CONFIG_SECRET, TOMBSTONE_KEY */
export const openErasures = ({ store, privacy }: Pick<Config, 'privacy' | 'store'>): Erasures => {
  const dataDir = resolveDataDir(store.data_dir);
  const key = (
    openSecret({ key: 'store.tombstone_key', file: store.tombstone_key_file }) ??
    openOwnSecret('store.tombstone_key', join(dataDir, 'tombstone.key'))
  ).readBytes();
  if (key.length < shortest) {
    throw terminal('TOMBSTONE_KEY', `The key of tombstones has fewer than ${shortest} bytes.`, {
      hint: 'Write a long random secret into the file of store.tombstone_key_file, such as the output of openssl rand -hex 32.',
    });
  }
  let proof: Proof | undefined;
  const countries = privacy.countries.filter((country) => isSupportedCountry(country));
  return {
    key,
    log: openErasureLog(store.erasure_log ?? join(dataDir, 'erasures.log')),
    subjects: openSubjects({ countries, leavesSpeech: leavesSpeechOf(privacy) }),
    get proof() {
      proof ??= openProof({ store });
      return proof;
    },
  };
};
