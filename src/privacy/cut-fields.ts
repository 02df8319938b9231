/**
 * The fields of a record by their places in its bytes. It finds where values end and does not check them: what a rule acts on is
 * parsed, and bytes that are no JSON between braces that agree are found by whoever reads the record. Visits every byte.
 */

export interface FieldBytes {
  readonly name: string;
  readonly value: Buffer;
  /** Names in the value, repeated ones too: a parsed value that has fewer has lost some. */
  readonly keys: number;
  /** It may hold a number of which a parsed value keeps a part only. */
  readonly hasLongNumber: boolean;
}

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const colon = 0x3a;
const openBrace = 0x7b;
const closeBrace = 0x7d;
/** A double keeps so many digits; an exponent may hide more. */
const safeDigits = 15;

const blanks = new Set([0x20, 0x0a, 0x0d, 0x09]);

/** Offset behind the string that begins at `at`; beyond the end where it does not end. */
const skipString = (bytes: Buffer, at: number): number => {
  const { length } = bytes;
  let next = at + 1;
  while (next < length) {
    const byte = bytes[next];
    if (byte === quote) return next + 1;
    next += byte === backslash ? 2 : 1;
  }
  return length + 1;
};

interface Skipped {
  readonly end: number;
  readonly keys: number;
  readonly hasLongNumber: boolean;
}

/** The value that begins at `at`, up to the comma or brace behind it. */
const skipValue = (bytes: Buffer, at: number): Skipped => {
  const { length } = bytes;
  let depth = 0;
  let keys = 0;
  let digits = 0;
  let hasLongNumber = false;
  let next = at;
  while (next < length) {
    const byte = bytes[next] as number;
    if (byte === quote) {
      next = skipString(bytes, next);
      digits = 0;
      continue;
    }
    if (byte >= 0x30 && byte <= 0x39) {
      digits += 1;
      if (digits > safeDigits) hasLongNumber = true;
    } else if (byte === comma || byte === closeBrace || byte === 0x5d) {
      if (depth === 0) break;
      if (byte !== comma) depth -= 1;
      digits = 0;
    } else if (byte === openBrace || byte === 0x5b) depth += 1;
    else if (byte === colon) {
      keys += 1;
      digits = 0;
    } else if (byte === 0x65 || byte === 0x45) {
      // Of "true" and "false" too, which costs nothing but a look.
      if (digits > 0) hasLongNumber = true;
    }
    next += 1;
  }
  return { end: depth === 0 ? next : length + 1, keys, hasLongNumber };
};

/** Undefined where the bytes are no object, or end within it. @throws SyntaxError where a name is no JSON. */
export const cutFields = (bytes: Buffer): readonly FieldBytes[] | undefined => {
  const fields: FieldBytes[] = [];
  let at = 0;
  const skipBlanks = (): number | undefined => {
    while (blanks.has(bytes[at] ?? 0)) at += 1;
    return bytes[at];
  };
  if (skipBlanks() !== openBrace) return undefined;
  at += 1;
  for (let isFirst = true; ; isFirst = false) {
    const byte = skipBlanks();
    if (isFirst && byte === closeBrace) break;
    if (byte !== quote) return undefined;
    const end = skipString(bytes, at);
    const name = JSON.parse(bytes.toString('utf8', at, end)) as string;
    at = end;
    if (skipBlanks() !== colon) return undefined;
    at += 1;
    skipBlanks();
    const value = skipValue(bytes, at);
    if (value.end >= bytes.length || value.end === at) return undefined;
    fields.push({ name, value: bytes.subarray(at, value.end), keys: value.keys, hasLongNumber: value.hasLongNumber });
    at = value.end + 1;
    const behind = bytes[value.end];
    if (behind === closeBrace) break;
    if (behind !== comma) return undefined;
  }
  if (fields.length === 0) at += 1;
  skipBlanks();
  return at === bytes.length ? fields : undefined;
};
