/** Whether digits are a payment card, an IBAN or a French social security number. Pure. */
import isLuhn from 'fast-luhn';
import { countrySpecs, isValidIBAN } from 'ibantools';

/** Beginnings and lengths that networks give out; one in ten of other digits has a right check digit too. */
const networks: readonly (readonly [pattern: RegExp, lengths: readonly number[]])[] = [
  [/^4/, [13, 16, 19]],
  [/^(5[1-5]|222[1-9]|22[3-9]|2[3-6]|27[01]|2720)/, [16]],
  [/^3[47]/, [15]],
  [/^3(0[0-5]|[68])/, [14]],
  [/^(6011|64[4-9]|65|35(2[89]|[3-8])|62)/, [16, 19]],
  [/^(5[06-8]|6[37])/, [16, 18, 19]],
];

export const isCard = (digits: string): boolean =>
  networks.some(([pattern, lengths]) => lengths.includes(digits.length) && pattern.test(digits)) && isLuhn(digits);

/** Characters of a country's IBAN; undefined where it has none. */
export const ibanLength = (country: string): number | undefined => countrySpecs[country]?.chars ?? undefined;
export const isIban = isValidIBAN;

const nirPattern = /^([1-478])(\d\d)(\d\d)(\d\d|2[AB])(\d{3})(\d{3})(\d\d)?$/;

/** With its key; without one only where the context says what it is. */
export const isNir = (text: string, isNamed: boolean): boolean => {
  const match = nirPattern.exec(text);
  if (match === null) return false;
  const [, , , month = '', department = '', , , key] = match;
  const value = Number(month);
  if (!((value >= 1 && value <= 12) || (value >= 20 && value <= 42) || value >= 50) || department === '00')
    return false;
  if (key === undefined) return isNamed;
  return key === nirKey(text.slice(0, 13));
};

/** 97 less the remainder; Corsica's letters count as 19 and 18 (2A, 2B). */
const nirKey = (number: string): string =>
  String(97n - (BigInt(number.replace('2A', '19').replace('2B', '18')) % 97n)).padStart(2, '0');
