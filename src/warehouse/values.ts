/** Values of queries of persons and assistants: nothing is rounded, and no time zone of this process moves an instant. */
import { canonicalDecimal } from './digest.ts';

/** Text where a double cannot hold the number. */
export const readNumber = (text: string): number | string => {
  const value = Number(text);
  return Number.isFinite(value) && (Number.isSafeInteger(value) || !/^-?\d+$/.test(text)) ? value : text;
};

/** The digits of a power of ten could fill the memory. */
const isExact = (number: string): boolean =>
  Number.isFinite(Number(number)) &&
  (number.length < 16 || /e/i.test(number) || canonicalDecimal(number) === canonicalDecimal(String(Number(number))));

/** Text where a double cannot hold some number in it. */
export const readJson = (text: string): unknown => {
  const numbers = text.replace(/"(?:[^"\\]|\\.)*"/g, '').match(/[-\d][\d.eE+-]*/g) ?? [];
  return numbers.every(isExact) ? JSON.parse(text) : text;
};

/** ISO 8601 with the microseconds. @param micros whole microseconds since 1970, of years 1 to 9999 */
export const readMicros = (micros: string): string => {
  const all = BigInt(micros);
  const rest = BigInt.asUintN(64, ((all % 1000n) + 1000n) % 1000n);
  const fine = String(rest).padStart(3, '0').replace(/0+$/, '');
  return new Date(Number((all - rest) / 1000n)).toISOString().replace('Z', `${fine}Z`);
};
