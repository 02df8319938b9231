/** Values back to bytes, and whether bytes say more than the value that was read of them. */
import { infinityAsText } from '../calls/values.ts';
import { readWording } from './cut-fields.ts';

/** Only such numbers can lie beyond a double's range; a replacer costs as much as all else. */
const mayOverflow = /\d[eE]\+?\d{3}|\d{309}/;

/** @param text of which the value was read. */
export const renderJson = (value: unknown, text: string): string =>
  JSON.stringify(value, mayOverflow.test(text) ? infinityAsText : undefined);

/** False where text holds a name twice, or digits that the value has lost. @param value that was read of the text. */
export const saysNoMore = (text: string, value: unknown): boolean => {
  if (typeof value === 'string') return true;
  const { keys, hasLongNumber } = readWording(text);
  return !hasLongNumber && keys === countKeys(value);
};

const countKeys = (value: unknown): number => {
  if (typeof value !== 'object' || value === null) return 0;
  let count = 0;
  if (Array.isArray(value)) {
    for (const item of value) count += countKeys(item);
    return count;
  }
  for (const name in value) {
    const inner: unknown = (value as Readonly<Record<string, unknown>>)[name];
    count += typeof inner === 'object' ? 1 + countKeys(inner) : 1;
  }
  return count;
};
