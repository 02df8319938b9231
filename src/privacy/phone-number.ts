/** Telephone numbers in any notation, as E.164. */
import parsePhoneNumber, { type CountryCode, getCountryCallingCode } from 'libphonenumber-js/max';
import { rememberRecent } from '../lib/recent.ts';

const digitsOf = (text: string): string => text.replaceAll(/\D/g, '');

const parse = (text: string, country?: CountryCode) =>
  parsePhoneNumber(text, country === undefined ? { extract: false } : { defaultCountry: country, extract: false });

/** Shorter national numbers are services, which are nobody's. */
const leastNational = 9;
/** Longer ones are not dialled within a country. */
const mostNational = 14;

/**
 * The number of these digits: international after a plus or 00, else national with its trunk prefix, else international. Undefined if no country writes numbers so.
 * After a plus or trunk prefix, only the length must fit: overseas numbers, new ranges and slips of the tongue are
 * personal too.
 * @param countries ISO codes; the first is the default.
 */
export const readDialled = (digits: string, isInternational: boolean, countries: readonly CountryCode[]) => {
  const number = read(digits, isInternational, countries);
  return overseas.reduce((own, [beginning, code]) => own?.replace(beginning, code), number);
};

const read = (digits: string, isInternational: boolean, countries: readonly CountryCode[]): string | undefined => {
  if (digits.length < 7 || digits.length > 17) return undefined;
  if (isInternational || digits.startsWith('00')) {
    const rest = digits.replace(/^00/, '');
    return isFrench.test(rest) ? readFrench(rest) : readInternational(rest);
  }
  if (countries.length === 1 && isFrenchFirst(countries) && !digits.startsWith('330')) return readFrench(digits);
  if (!mayBeDialled(digits, countries)) return undefined;
  for (const country of countries) {
    const number = readNational(`${country}${digits}`);
    if (number !== undefined) return number;
  }
  return countries.some((country) => digits.startsWith(diallingOf(country).code) && digits.length >= 10)
    ? readInternational(digits)
    : undefined;
};

const isFrenchFirst = ([first]: readonly CountryCode[]): boolean => first === 'FR';

/** Digits are read several times: in other readings of their words, by each speaker and by both. */
const mostKnown = 2_000;
const lengthOfCode = 2;

const readNational = rememberRecent(mostKnown, (text): string | undefined => {
  const digits = text.slice(lengthOfCode);
  const phone = parse(digits, text.slice(0, lengthOfCode) as CountryCode);
  if (phone === undefined || phone.ext !== undefined || digitsOf(phone.formatNational()) !== digits) return undefined;
  const hasTrunk = phone.nationalNumber !== digits && phone.nationalNumber.length >= leastNational;
  return (hasTrunk ? phone.isPossible() : phone.isValid()) ? phone.number : undefined;
});

/** International digits that may be French; of a zero behind the calling code the library has rules of its own. */
const isFrench = /^33[^0]|^(?:262|590|594|596)0?[1-9]\d{8}$/;
const frenchNumber = /^(?:0|33|(?:262|590|594|596)0?(?=[1-9]\d{8}$))(700\d{10}|[1-9]\d{8})$/;
/** National numbers of the departments overseas, which have calling codes of their own. */
const overseas: readonly (readonly [beginnings: RegExp, code: string])[] = [
  [/^\+33(?=26[239]|69[23]|639(?!98))/, '+262'],
  [/^\+33(?=590|69[01])/, '+590'],
  [/^\+33(?=594|694)/, '+594'],
  [/^\+33(?=596|69[67])/, '+596'],
];
const overseasCode = /^(?:262|590|594|596)0?\d{9}$/;

/**
 * French numbers have nine digits without a leading zero, after a zero or the calling code. The parser adds nothing
 * to this rule and takes most of the time of a small record.
 */
const readFrench = (digits: string): string | undefined => {
  const national = frenchNumber.exec(digits)?.[1];
  return national === undefined ? undefined : `+33${national}`;
};

/** `isZeroFirst` = whether national numbers of a country are dialled with a 0 before them. */
const diallingOf = rememberRecent(mostKnown, (country) => {
  const code: string = getCountryCallingCode(country as CountryCode);
  const isZeroFirst = [...'12367'].some((first) => parse(`+${code}${first}23456789`)?.formatNational().startsWith('0'));
  return { code, isZeroFirst };
});

/** Whether digits that are dialled may begin so. Parsing costs far more than this look. */
export const mayBeDialled = (beginning: string, countries: readonly CountryCode[]): boolean =>
  beginning.startsWith('0')
    ? !beginning.startsWith('000') && (beginning.startsWith('00') || beginning.length <= mostNational)
    : countries.some((country) => {
        const { code, isZeroFirst } = diallingOf(country);
        return beginning.startsWith(code) || code.startsWith(beginning) || !isZeroFirst;
      });

/** "+33 (0)6 …" has the trunk prefix that no international number has. */
const readInternational = rememberRecent(mostKnown, (digits): string | undefined => {
  const phone = parse(`+${digits}`);
  if (phone === undefined || !phone.isPossible()) return undefined;
  const code = phone.countryCallingCode;
  return [phone.nationalNumber, digitsOf(phone.formatNational())].some((rest) => digits === code + rest)
    ? phone.number
    : undefined;
});

/** A telephone number of a field, written in any way: E.164 where it is one, else its digits. Undefined without digits. */
export const normalizeNumber = (text: string, countries: readonly CountryCode[]): string | undefined => {
  const digits = digitsOf(text);
  if (digits === '') return undefined;
  const isInternational = text.trimStart().startsWith('+') || (isFrenchFirst(countries) && overseasCode.test(digits));
  return readDialled(digits, isInternational, countries) ?? digits;
};

/**
 * Digits of each way in which text may hold a number: international or national. None where it cannot be told from others.
 * @param number E.164.
 */
export const writtenDigits = (number: string): readonly string[] => {
  const phone = number.startsWith('+') ? parse(number) : undefined;
  if (phone === undefined || phone.nationalNumber.length < 6) return [];
  const { countryCallingCode: code, nationalNumber: national } = phone;
  const dialled = digitsOf(phone.formatNational());
  const trunk = dialled.endsWith(national) ? dialled.slice(0, -national.length) : '';
  const rests = [...new Set([national, `${trunk}${national}`])];
  return [...rests.flatMap((rest) => [`${code}${rest}`, `00${code}${rest}`]), `${trunk}${national}`];
};
