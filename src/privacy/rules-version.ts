/** The version of configured privacy rules, which needs no key. */
import { createHash } from 'node:crypto';
import type { PrivacyConfig } from '../../schemas/config/privacy.ts';
import { detectorVersions } from './finding.ts';
import { profileRules } from './rules.ts';

/** Raised with every change of what the rules leave that neither they nor a detector's version show. */
const doorVersion = 2;

/**
 * Changes with every setting that changes what is stored, and with the detectors; undefined where there are no rules. Calls of the
 * ledger that are under another one are looked at again.
 */
export const versionOfRules = ({
  profile,
  rules,
  countries,
  disabled_detectors: disabled,
  patterns,
  key_id: keyId,
}: PrivacyConfig): string | undefined => {
  const all = [...rules, ...profileRules[profile]];
  if (all.length === 0) return undefined;
  return createHash('sha256')
    .update(
      JSON.stringify([all, countries, [...new Set(disabled)].sort(), patterns, keyId, detectorVersions, doorVersion]),
    )
    .digest('hex')
    .slice(0, 12);
};
