/**
 * What names a person or a call, as the erasure log and the list of erased keys know it: under a keyed hash. The same subject
 * has the same text however it is written.
 */
import type { CountryCode } from 'libphonenumber-js/max';
import { phoneSubject, textSubject } from '../calls/subject-text.ts';
import { listDialled, normalizeNumber } from './phone-number.ts';

/** @param value of a request to erase. */
export const subjectOf = (kind: 'phone' | 'metadata', value: string, countries: readonly CountryCode[]): string =>
  kind === 'phone' ? phoneSubject(normalizeNumber(value, countries) ?? value) : textSubject(value);

const literal = /"((?:[^"\\]|\\.){1,1024})"/g;

const read = (quoted: string): string => {
  if (!quoted.includes('\\')) return quoted.slice(1, -1);
  try {
    return String(JSON.parse(quoted));
  } catch {
    return quoted.slice(1, -1);
  }
};

/** Every subject that a text, such as JSON that is cut off, may name: whole quoted texts, as call ids and as values, and numbers. */
export const listSubjects = (text: string, countries: readonly CountryCode[]): ReadonlySet<string> => {
  const subjects = new Set<string>();
  for (const [quoted] of text.matchAll(literal)) {
    const value = read(quoted);
    subjects.add(value);
    subjects.add(textSubject(value));
  }
  for (const digits of new Set(listDialled(text))) subjects.add(subjectOf('phone', digits, countries));
  return subjects;
};
