/** JSON that others wrote: parsed, looked into, or kept as bytes. */

/** The value of JSON, a byte order mark aside; undefined for anything else. */
export const parseQuietly = (json: string | Buffer): unknown => {
  const text = json.toString();
  try {
    return JSON.parse(text.charCodeAt(0) === 0xfeff ? text.slice(1) : text);
  } catch {
    return undefined;
  }
};

/** Every number that a double might not hold is like this: one out of range, or a long whole one. */
const mayBeLost = /[eE][+-]?\d{3}(?<=[:,[\s]-?[\d.]+[eE][+-]?\d{3})|\d{200}|[:,[\s]-?\d{16}/;
/** Of a text only its escapes and its ends: a pattern of a whole text runs out of stack on millions of escapes. */
const textOrNumber = /"|\\.|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/gs;

const isLost = (number: string): boolean =>
  isCutWhole(number) ||
  (/^[-0.]*[1-9]/.test(number) && ['0', 'Infinity', '-Infinity'].includes(String(Number(number))));

/** Whether a double loses digits of a whole number. A number that a service printed from a double comes back alike. */
const isCutWhole = (number: string): boolean => /^-?\d{16,}$/.test(number) && String(Number(number)) !== number;

/** JSON in which such numbers are texts: JSON.parse would change them. Other numbers, too, can be meant. */
export const keepNumbers = (json: string, may = mayBeLost, is = isLost): string => {
  let inText = false;
  const keep = (found: string): string => {
    if (found === '"') inText = !inText;
    return !inText && is(found) ? `"${found}"` : found;
  };
  return may.test(json) ? json.replace(textOrNumber, keep) : json;
};

/** A number in digits; the text where a double cannot hold it. */
export const readNumber = (text: string): number | string => {
  const value = Number(text);
  return Number.isFinite(value) && (Number.isSafeInteger(value) || !/^-?\d+$/.test(text)) ? value : text;
};

/** `-0012.500`, `+12.5` and `12.5e0` are one number: plain digits without needless zeros. Undefined for a text that is none. */
export const plainDecimal = (text: string): string | undefined => {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^([+-]?)(\d*)\.?(\d*)(?:[eE]([+-]?\d{1,4}))?$/.exec(text.trim()) ?? [];
  const digits = whole + fraction;
  if (digits === '') return undefined;
  const point = whole.length + Number(exponent);
  const padded = point <= 0 ? '0'.repeat(1 - point) + digits : digits.padEnd(point, '0');
  const cut = Math.max(1, point);
  const integer = padded.slice(0, cut).replace(/^0+(?=\d)/, '');
  const rest = padded.slice(cut).replace(/0+$/, '');
  const plain = rest === '' ? integer : `${integer}.${rest}`;
  return sign === '-' && plain !== '0' ? `-${plain}` : plain;
};

/** The value of JSON; the text where a double cannot hold some number in it. */
export const readJson = (text: string): unknown => {
  const isLost = (number: string): boolean =>
    number.length < 16 ? Math.abs(Number(number)) === Infinity : String(Number(number)) !== number;
  return keepNumbers(text, /\d/, isLost) === text ? JSON.parse(text) : text;
};

/** Whether a parsed JSON value is an object: neither null nor an array. */
export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Keys of a dotted path into parsed JSON, such as `meta.next_cursor`; empty = the value itself. */
export const pathKeys = (path: string): string[] => (path === '' ? [] : path.split('.'));

/** The value at a path, or under a key with the dots of the path; own properties only. Undefined where it leads nowhere. */
export const valueAt = (value: unknown, path: string | readonly string[]): unknown => {
  let current = value;
  if (typeof path === 'string' && isObject(value) && Object.hasOwn(value, path)) return value[path];
  for (const key of typeof path === 'string' ? pathKeys(path) : path) {
    if (typeof current !== 'object' || current === null || !Object.hasOwn(current, key)) return undefined;
    current = (current as Record<string, unknown>)[key];
  }
  return current;
};

// Configuration before it is checked: the preset, the YAML file and the environment, merged.

export type Raw = { [key: string]: unknown };

/**
 * Objects merge, everything else replaces. Where both sides choose a variant (`style` of a pagination, `type` of a
 * warehouse) and choose differently, the upper one replaces the lower whole.
 */
export const mergeRaw = (lower: Raw, upper: Raw): Raw => {
  for (const tag of ['style', 'type'])
    if (lower[tag] !== undefined && upper[tag] !== undefined && lower[tag] !== upper[tag]) return upper;
  const merged: Raw = { ...lower };
  for (const [key, value] of Object.entries(upper)) {
    const below = merged[key];
    // A null undoes the lower value, also an entry of a section with free names.
    if (value === null && Object.hasOwn(lower, key)) delete merged[key];
    else merged[key] = isObject(below) && isObject(value) ? mergeRaw(below, value) : value;
  }
  return merged;
};

/**
 * A null counts as a key that is not written: YAML gives it for a section whose keys are all commented out. The key
 * itself stays, so that the check sees unknown ones.
 */
export const dropNulls = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(dropNulls);
  if (!isObject(value)) return value ?? undefined;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, dropNulls(each)]));
};
