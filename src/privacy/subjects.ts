/**
 * What names a person or a call, as the erasure log and the list of erased keys know it: under a keyed hash. The same subject
 * has the same text however it is written.
 */
import type { CountryCode } from 'libphonenumber-js/max';
import { listNumericIds, visitQuoted } from '../calls/quoted-texts.ts';
import { phoneSubject, textSubject } from '../calls/subject-text.ts';
import { listDialled, normalizeNumber } from './phone-number.ts';

/** @param value of a request to erase. */
export const subjectOf = (kind: 'phone' | 'metadata', value: string, countries: readonly CountryCode[]): string =>
  kind === 'phone' ? phoneSubject(normalizeNumber(value, countries) ?? value) : textSubject(value);

/**
 * Every subject that a text, such as JSON that is cut off, may name: whole quoted texts, as call ids and as values, and numbers. Of a text
 * that is no JSON these are more than its strings: what is between any two neighbouring quotes.
 */
export const listSubjects = (text: string, countries: readonly CountryCode[]): ReadonlySet<string> => {
  const subjects = new Set<string>();
  visitQuoted(text, (value) => {
    subjects.add(value);
    subjects.add(textSubject(value));
  });
  for (const id of listNumericIds(text)) subjects.add(id);
  for (const digits of new Set(listDialled(text))) subjects.add(subjectOf('phone', digits, countries));
  return subjects;
};
