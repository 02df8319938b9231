/** Single values: what every warehouse can hold, and parsers of the service's text, which return undefined for what cannot be read. */

const unstorable = /[\0\ud800-\udfff]/;

/** The text with NUL and lone surrogates, which Postgres refuses and BigQuery replaces, as U+FFFD; else the same text. */
export const cleanText = (text: string): string =>
  unstorable.test(text) ? text.replaceAll('\0', '\ufffd').toWellFormed() : text;

/** Deepest nesting that is stored as JSON: BigQuery takes 500 levels, and no client reads more. */
export const maxJsonDepth = 200;

/**
 * Cleans every text and key of a JSON value and sorts its keys by code units, so that equal values read the same.
 * @throws RangeError past `maxJsonDepth`.
 */
export const cleanJson = (value: unknown, depth = 0): unknown => {
  if (depth > maxJsonDepth) throw new RangeError('nested too deeply');
  if (typeof value === 'string') return cleanText(value);
  if (Array.isArray(value)) return value.map((item) => cleanJson(item, depth + 1));
  if (value !== null && typeof value === 'object') {
    const members = value as Readonly<Record<string, unknown>>;
    const names = Object.keys(members).sort();
    return Object.fromEntries(names.map((name) => [cleanText(name), cleanJson(members[name], depth + 1)]));
  }
  return value;
};

const decimal = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,4}))?$/;
/** Digits on each side of the point that every warehouse's decimal type holds. */
const maxDecimalDigits = 38;

/** Decimal text → canonical decimal text (no exponent, no superfluous zeros). */
export const parseDecimal = (text: string): string | undefined => {
  const match = decimal.exec(text.trim());
  if (match === null) return undefined;
  const [, sign, whole = '', fraction = '', exponent = '0'] = match;
  if (whole === '' && fraction === '') return undefined;
  const shift = Number(exponent);
  if (Math.abs(shift) > 2 * maxDecimalDigits + whole.length + fraction.length) return undefined;
  const digits = whole + fraction;
  const point = whole.length + shift;
  const padded = point < 0 ? '0'.repeat(-point) + digits : digits.padEnd(Math.max(point, digits.length), '0');
  const left = padded.slice(0, Math.max(point, 0)).replace(/^0+/, '');
  const right = padded.slice(Math.max(point, 0)).replace(/0+$/, '');
  if (left.length > maxDecimalDigits || right.length > maxDecimalDigits) return undefined;
  const value = `${left || '0'}${right === '' ? '' : `.${right}`}`;
  return sign === '-' && value !== '0' ? `-${value}` : value;
};

/** Number text (`"123"`, as duration is sent, §2.1) → number. */
export const parseNumber = (text: string): number | undefined => {
  const value = /^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$/.test(text) ? Number(text) : Number.NaN;
  return Number.isFinite(value) ? value : undefined;
};

/** The token that replaces a telephone number under privacy rules: already the same for the same number. */
const phoneToken = /^ph_[a-z0-9]+_[a-z2-7]{52}$/;

/** Telephone number without separators; a leading + (or 00, its equivalent) is kept as +, and a token as it is. */
export const normalizePhone = (text: string): string | undefined => {
  if (phoneToken.test(text)) return text;
  const digits = text.replace(/\D+/g, '');
  if (digits === '') return undefined;
  if (text.trim().startsWith('+')) return `+${digits}`;
  return digits.startsWith('00') && digits.length > 4 ? `+${digits.slice(2)}` : digits;
};

/** For JSON.stringify: JSON has no number beyond a double's range, it would be lost. */
export const infinityAsText = (_name: string, value: unknown): unknown =>
  typeof value === 'number' && !Number.isFinite(value) ? String(value) : value;
