/** The index of subjects under the key of tombstones, by the same comparison that reads what it finds. */
import { createRequire } from 'node:module';
import type { CountryCode } from 'libphonenumber-js/max';
import { createKeyedHash } from '../../keyed-hash.ts';
import {
  hasSpeech,
  listCallSubjects,
  listWrittenSubjects,
  subjectsVersion,
} from '../../pipeline/erase/call-subjects.ts';
import { compareValues } from '../../privacy/compare-values.ts';
import { versionOf } from '../../privacy/finding.ts';
import { rememberRecent } from '../../privacy/recent.ts';
import type { SubjectIndex } from '../../store/store.ts';

/** Lines recur in nearly every call, and numbers of some countries take long to read. */
const mostNumbers = 1_000;
/** What is a number, and what is none, changes with the library. */
const { version: numbersVersion } = createRequire(import.meta.url)('libphonenumber-js/package.json') as {
  version: string;
};
/** Of 8 bytes in hex. */
const hashLength = 16;

/**
 * @param input.key of tombstones.
 * @param input.countries as they are configured: numbers are normalised by them.
 * @param input.leavesSpeech whether numbers that are said may be left by the rules of a version, or by none.
 */
export const openSubjectIndex = (input: {
  readonly key: Buffer;
  readonly countries: readonly CountryCode[];
  readonly leavesSpeech: (rules: string | null) => boolean;
}): SubjectIndex => {
  const { key, countries } = input;
  const compared = compareValues(countries, () => []);
  const comparison = { ...compared, normalize: rememberRecent(mostNumbers, compared.normalize) };
  const keyed = createKeyedHash(key);
  const hashOf = (subject: string): string => keyed(subject).slice(0, hashLength);
  const hashAll = (subjects: ReadonlySet<string>): readonly string[] => Array.from(subjects, hashOf);
  return {
    version: Buffer.from(
      keyed(`index\0${subjectsVersion}\0${versionOf('phone')}\0${numbersVersion}\0${countries.join()}`),
      'hex',
    ).readInt32BE(),
    hashesOf: (document) => hashAll(listCallSubjects(document, comparison)),
    foldedHashesOf: (document, rules) =>
      hasSpeech(document) && input.leavesSpeech(rules) ? undefined : hashAll(listWrittenSubjects(document, comparison)),
    hashOf,
  };
};
