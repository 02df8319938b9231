/** Requests of persons, and the subjects of which a call or text that is meant has at least one. Pure. */
import type { CountryCode } from 'libphonenumber-js/max';
import { normalizeNumber, writtenDigits } from '../privacy/phone-number.ts';
import { leastDigits, leastText, metadataSubject, phoneSubject, textSubject, tokenSubject } from './subjects.ts';

/** What a request names: calls by id, or all calls with a telephone number or with the value of a metadata key. */
export type PersonRequest =
  | { readonly kind: 'call'; readonly values: readonly string[] }
  | { readonly kind: 'phone'; readonly values: readonly string[] }
  | { readonly kind: 'metadata'; readonly key: string; readonly values: readonly string[] };

/** A request with what it looks for: whatever is meant has at least one of the subjects. */
export interface Meant {
  readonly request: PersonRequest;
  readonly subjects: readonly string[];
  /** Of each value as it was written, without tokens and other ways to write it. */
  readonly own: readonly string[];
}

interface Comparison {
  /** Of national numbers; the first is the default. */
  readonly countries: readonly CountryCode[];
  /** Every token that may stand for a value, also those of former keys. */
  readonly tokensOf: (value: string) => readonly string[];
}

/** @param comparison how values are compared: the same as for what is stored, and with every token of a value. */
export const meantBy = (request: PersonRequest, comparison: Comparison): Meant => {
  const { values } = request;
  const { countries, tokensOf } = comparison;
  if (request.kind === 'call') return { request, subjects: [...new Set(values)], own: values };
  const tokens = values.flatMap(tokensOf);
  const texts = (some: readonly string[]) => some.filter(({ length }) => length >= leastText).map(textSubject);
  if (request.kind === 'metadata') {
    const pair = (value: string): string => metadataSubject(request.key, value);
    const all = [...values, ...tokens];
    return { request, subjects: [...new Set([...all.map(pair), ...texts(all)])], own: values.map(pair) };
  }
  const numbers = values.map((value) => subjectsOfNumber(value, countries));
  const subjects = [...tokens.map(tokenSubject), ...texts(tokens), ...numbers.flat()];
  return { request, subjects: [...new Set(subjects)], own: numbers.map(([number]) => number as string) };
};

/** The number, and what each way of writing it is taken for. What is no number, such as an address, is found as the whole of a contact. */
const subjectsOfNumber = (value: string, countries: readonly CountryCode[]): readonly string[] => {
  const read = normalizeNumber(value, countries) ?? value;
  const number = /[^+\d\s().\-/]/.test(value) && !read.startsWith('+') ? value : read;
  const written = writtenDigits(number).filter(({ length }) => length >= leastDigits);
  return [number, ...written.map((digits) => normalizeNumber(digits, countries) ?? digits)].map(phoneSubject);
};
