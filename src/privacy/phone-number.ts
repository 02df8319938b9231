/** Telephone numbers as E.164, whatever their way of writing. */
import parsePhoneNumber, { type CountryCode, getCountryCallingCode } from 'libphonenumber-js/max';

const digitsOf = (text: string): string => text.replaceAll(/\D/g, '');

const parse = (text: string, country?: CountryCode) =>
  parsePhoneNumber(text, country === undefined ? { extract: false } : { defaultCountry: country, extract: false });

/** Shorter national numbers are services, which are nobody's. */
const leastNational = 9;

/**
 * The number of these digits as they are dialled: international behind a plus or 00, else national with its trunk prefix, else
 * international without a plus. Undefined when no number of these countries, or of the world, is written so.
 *
 * What cannot be mistaken (a plus, a trunk prefix) needs the right length only: numbers of overseas departments, new ranges and
 * slips of the tongue are personal too.
 * @param countries ISO codes; the first is the default.
 */
export const readDialled = (
  digits: string,
  isInternational: boolean,
  countries: readonly CountryCode[],
): string | undefined => {
  if (digits.length < 7 || digits.length > 17) return undefined;
  if (isInternational || digits.startsWith('00')) return readInternational(digits.replace(/^00/, ''));
  if (!mayBegin(digits, countries)) return undefined;
  for (const country of countries) {
    const phone = parse(digits, country);
    if (phone === undefined || phone.ext !== undefined || digitsOf(phone.formatNational()) !== digits) continue;
    const hasTrunk = phone.nationalNumber !== digits && phone.nationalNumber.length >= leastNational;
    if (hasTrunk ? phone.isPossible() : phone.isValid()) return phone.number;
  }
  return countries.some((country) => digits.startsWith(getCountryCallingCode(country)) && digits.length >= 10)
    ? readInternational(digits)
    : undefined;
};

const trunks = new Map<CountryCode, boolean>();

/** Whether national numbers of the country are dialled with a 0 before them. */
const dialsZero = (country: CountryCode): boolean => {
  const known = trunks.get(country);
  if (known !== undefined) return known;
  const code = getCountryCallingCode(country);
  const found = ['1', '2', '3', '6', '7'].some((first) =>
    parse(`+${code}${first}23456789`)?.formatNational().startsWith('0'),
  );
  trunks.set(country, found);
  return found;
};

/** Parsing costs far more than this look at the first digits. */
const mayBegin = (digits: string, countries: readonly CountryCode[]): boolean =>
  digits.startsWith('0') ||
  countries.some((country) => digits.startsWith(getCountryCallingCode(country)) || !dialsZero(country));

/** "+33 (0)6 …" has the trunk prefix that no international number has. */
const readInternational = (digits: string): string | undefined => {
  const phone = parse(`+${digits}`);
  if (phone === undefined || !phone.isPossible()) return undefined;
  const code = phone.countryCallingCode;
  return [phone.nationalNumber, digitsOf(phone.formatNational())].some((rest) => digits === code + rest)
    ? phone.number
    : undefined;
};

/** A telephone number of a field, written in any way: E.164 where it is one, else its digits. Undefined without digits. */
export const normalizeNumber = (text: string, countries: readonly CountryCode[]): string | undefined => {
  const digits = digitsOf(text);
  if (digits === '') return undefined;
  return readDialled(digits, text.trimStart().startsWith('+'), countries) ?? digits;
};

const gap = '[\\s.()/-]{0,3}';
const spaced = (digits: string): string => [...digits].join(gap);

/**
 * The ways in which text may hold a number: international or national, in groups or not. Undefined where it is none.
 * @param number E.164.
 */
export const writtenForms = (number: string): RegExp | undefined => {
  const phone = number.startsWith('+') ? parse(number) : undefined;
  if (phone === undefined || phone.nationalNumber.length < 6) return undefined;
  const dialled = digitsOf(phone.formatNational());
  const trunk = dialled.endsWith(phone.nationalNumber) ? dialled.slice(0, -phone.nationalNumber.length) : '';
  const international = `(?:\\+|00)?${gap}${spaced(phone.countryCallingCode)}${gap}(?:${trunk}${gap})?`;
  return new RegExp(`(?<!\\d)(?:${international}|${trunk}${gap})${spaced(phone.nationalNumber)}(?!\\d)`);
};
