/** Requests of persons, and the subjects of which a call or text that is meant has at least one. Pure. */
import type { CountryCode } from 'libphonenumber-js/max';
import type { JoinedDetector } from '../privacy/finding.ts';
import { normalizeNumber, writtenDigits } from '../privacy/phone-number.ts';
import * as named from './subjects.ts';

/** Scope of a request: calls by id, by a number or address, or by the value of a metadata key. */
export type PersonRequest =
  | { readonly kind: 'call' | JoinedDetector; readonly values: readonly string[] }
  | { readonly kind: 'metadata'; readonly key: string; readonly values: readonly string[] };

/** A request with its subjects: a call or text matches if it has at least one of them. */
export type PurgeScope = ReturnType<typeof meantBy>;

interface Comparison {
  /** Countries of national numbers; the first is the default. */
  readonly countries: readonly CountryCode[];
  /** Every token of a value, also under former keys: of a whole field, or of a kind as its detector reads it. */
  readonly tokensOf: (value: string, kind?: JoinedDetector) => readonly string[];
}

interface Kind {
  /** Names of one value. */
  readonly name: string;
  /** The value as its detector has it; as it is by default. */
  readonly read?: (value: string) => string;
  /** Of values, as they are read, that a search can find; any by default. */
  readonly form?: RegExp;
}

const compact = (value: string): string => value.replaceAll(/[\s.\-/]/g, '').toUpperCase();

/** Kinds of requests whose values are looked for wherever a call has them. */
export const requestKinds: Readonly<Record<PersonRequest['kind'], Kind>> = {
  call: { name: 'call id' },
  metadata: { name: 'value' },
  phone: { name: 'telephone number', form: new RegExp(`^.{${named.leastText},}$`, 's') },
  email: { name: 'e-mail address', read: (value) => value.toLowerCase(), form: /^[^\s@]+@[^\s@]+\.[^\s@.]+$/ },
  iban: { name: 'IBAN', read: compact, form: /^[A-Z]{2}\d\d[A-Z\d]{11,30}$/ },
  account: { name: 'account number', read: compact, form: /^\d{5,23}$/ },
  card: { name: 'card number', read: compact, form: /^\d{13,19}$/ },
  nir: { name: 'social security number', read: (value) => compact(value).slice(0, 13), form: /^\d{6}[\dAB]\d{6}$/ },
};

const readAs = (kind: PersonRequest['kind'], value: string): string => requestKinds[kind].read?.(value) ?? value;

/** @param comparison rules of comparison: those of stored values, with every token of a value */
export const meantBy = (request: PersonRequest, comparison: Comparison) => {
  const { kind, values } = request;
  const { countries, tokensOf } = comparison;
  if (kind === 'call') return { request, subjects: [...new Set(values)], own: values };
  const texts = (some: readonly string[]) =>
    some.filter(({ length }) => length >= named.leastText).map(named.textSubject);
  if (kind === 'metadata') {
    const pair = (value: string): string => named.metadataSubject(request.key, value);
    const all = [...values, ...values.flatMap((value) => tokensOf(value))];
    return { request, subjects: [...new Set([...all.map(pair), ...texts(all)])], own: values.map(pair) };
  }
  const found = values.map((value) =>
    kind === 'phone' ? subjectsOfNumber(value, countries) : subjectsOfValue(kind, value, countries),
  );
  const tokens = values.flatMap((value) => {
    const read = readAs(kind, value);
    return [...tokensOf(value), ...(kind === 'phone' ? [] : [...tokensOf(read), ...tokensOf(read, kind)])];
  });
  const subjects = [...tokens.map(named.tokenSubject), ...texts(tokens), ...found.flat()];
  return { request, subjects: [...new Set(subjects)], own: found.map(([own]) => own as string) };
};

/** Subjects of a value: as its detector finds it, as a whole value, and as plain digits. */
const subjectsOfValue = (kind: Exclude<JoinedDetector, 'phone'>, value: string, countries: readonly CountryCode[]) => {
  const read = readAs(kind, value);
  const digits = [read, compact(value)].filter((one) => /^\d+$/.test(one));
  return [
    named.foundSubject(kind, read),
    ...[value, read].map(named.textSubject),
    ...digits.map((one) => named.phoneSubject(normalizeNumber(one, countries) ?? one)),
  ];
};

/**
 * The number, and the readings of each spelling. Values that are no numbers, such as addresses, match whole contacts.
 */
const subjectsOfNumber = (value: string, countries: readonly CountryCode[]): readonly string[] => {
  const read = normalizeNumber(value, countries) ?? value;
  const number = /[^+\d\s().\-/]/.test(value) && !read.startsWith('+') ? value : read;
  const written = writtenDigits(number).filter(({ length }) => length >= named.leastDigits);
  return [number, ...written.map((digits) => normalizeNumber(digits, countries) ?? digits)].map(named.phoneSubject);
};
