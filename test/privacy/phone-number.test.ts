/** French numbers are read without their library, and as it reads them. */
import fc from 'fast-check';
import parsePhoneNumber from 'libphonenumber-js/max';
import { expect, test } from 'vitest';
import { readDialled } from '../../src/privacy/phone-number.ts';

const digitsOf = (text: string): string => text.replaceAll(/\D/g, '');

const readInternational = (digits: string): string | undefined => {
  const phone = parsePhoneNumber(`+${digits}`, { extract: false });
  if (phone?.isPossible() !== true) return undefined;
  const rests = [phone.nationalNumber, digitsOf(phone.formatNational())];
  return rests.some((rest) => digits === phone.countryCallingCode + rest) ? phone.number : undefined;
};

/** By the library: with its trunk prefix, or international without a plus. */
const readByLibrary = (digits: string): string | undefined => {
  const phone = parsePhoneNumber(digits, { defaultCountry: 'FR', extract: false });
  if (phone !== undefined && digitsOf(phone.formatNational()) === digits) {
    const hasTrunk = phone.nationalNumber !== digits && phone.nationalNumber.length >= 9;
    if (hasTrunk ? phone.isPossible() : phone.isValid()) return phone.number;
  }
  return digits.startsWith('33') && digits.length >= 10 ? readInternational(digits) : undefined;
};

const rest = fc.stringMatching(/^\d{5,12}$/);

test('digits as they are dialled', () => {
  fc.assert(
    fc.property(fc.constantFrom('0', '06', '33', '330', '3', '1', '3336'), rest, (begin, end) => {
      const digits = `${begin}${end}`;
      if (digits.startsWith('00')) return;
      expect(readDialled(digits, false, ['FR'])).toBe(readByLibrary(digits));
    }),
    { numRuns: 400 },
  );
});

test('international digits', () => {
  fc.assert(
    fc.property(fc.constantFrom('33', '330', '3300', '32', '44', '336'), rest, (begin, end) => {
      const digits = `${begin}${end}`;
      if (digits.length > 15) return;
      expect(readDialled(digits, true, ['FR'])).toBe(readInternational(digits));
      expect(readDialled(`00${digits}`, false, ['FR'])).toBe(readInternational(digits));
    }),
    { numRuns: 200 },
  );
});
