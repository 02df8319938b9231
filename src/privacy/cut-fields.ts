/**
 * The fields of a JSON object by their places in its bytes. It finds where values end and does not check them: what a rule acts
 * on is parsed, and bytes that are no JSON between braces that agree are found by whoever reads the record.
 */

export interface FieldBytes {
  readonly name: string;
  readonly value: Buffer;
}

/** Where a value ends that begins at `at`; beyond the end of the bytes where it does not. */
type FindEnd = (bytes: Buffer, at: number, name: string) => number;

export const quote = 0x22;
const backslash = 0x5c;
export const comma = 0x2c;
export const colon = 0x3a;
export const openBrace = 0x7b;
export const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;
/** A double keeps so many digits; an exponent may hide more. */
const safeDigits = 15;

/** How a byte outside strings changes the depth. */
const steps = new Int8Array(256);
for (const byte of [openBrace, openBracket]) steps[byte] = 1;
for (const byte of [closeBrace, closeBracket]) steps[byte] = -1;

/** Offset of the first byte from `at` on that is no blank. */
export const skipBlanks = (bytes: Buffer, at: number): number => {
  let next = at;
  for (;;) {
    const byte = bytes[next] ?? 0;
    if (byte > 0x20) return next;
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return next;
    next += 1;
  }
};

/** Offset behind the string that begins at `at`; beyond the end where it does not end. */
export const skipString = (bytes: Buffer, at: number): number => {
  const { length } = bytes;
  let next = at + 1;
  while (next < length) {
    const byte = bytes[next];
    if (byte === quote) return next + 1;
    next += byte === backslash ? 2 : 1;
  }
  return length + 1;
};

/** Offset behind the value that begins at `at`. */
export const skipValue: FindEnd = (bytes, at) => {
  const { length } = bytes;
  const first = bytes[at];
  if (first === quote) return skipString(bytes, at);
  let next = at;
  if (first !== openBrace && first !== openBracket) {
    while (next < length && !endsScalar(bytes[next] as number)) next += 1;
    return next;
  }
  let depth = 0;
  while (next < length) {
    const byte = bytes[next] as number;
    if (byte === quote) {
      next = skipString(bytes, next);
      continue;
    }
    next += 1;
    const step = steps[byte] as number;
    if (step === 0) continue;
    depth += step;
    if (depth === 0) return next;
  }
  return length + 1;
};

const endsScalar = (byte: number): boolean =>
  byte === comma || byte === closeBrace || byte === closeBracket || byte <= 0x20;

/**
 * The object that begins at `from`, with the offset behind it; undefined where the bytes are none, or end within it.
 * @param findEnd finds where the value of a field ends.
 * @throws SyntaxError where a name is no JSON.
 */
export const cutObject = (
  bytes: Buffer,
  from: number,
  findEnd: FindEnd = skipValue,
): { readonly fields: readonly FieldBytes[]; readonly end: number } | undefined => {
  const fields: FieldBytes[] = [];
  let at = skipBlanks(bytes, from);
  if (bytes[at] !== openBrace) return undefined;
  at = skipBlanks(bytes, at + 1);
  if (bytes[at] === closeBrace) return { fields, end: at + 1 };
  for (;;) {
    if (bytes[at] !== quote) return undefined;
    const behind = skipString(bytes, at);
    const name = JSON.parse(bytes.toString('utf8', at, behind)) as string;
    at = skipBlanks(bytes, behind);
    if (bytes[at] !== colon) return undefined;
    const begin = skipBlanks(bytes, at + 1);
    const end = findEnd(bytes, begin, name);
    if (end >= bytes.length || end === begin) return undefined;
    fields.push({ name, value: bytes.subarray(begin, end) });
    at = skipBlanks(bytes, end);
    const separator = bytes[at];
    if (separator === closeBrace) return { fields, end: at + 1 };
    if (separator !== comma) return undefined;
    at = skipBlanks(bytes, at + 1);
  }
};

/** The fields of bytes that are one object and nothing else. @throws SyntaxError where a name is no JSON. */
export const cutFields = (bytes: Buffer, findEnd?: FindEnd): readonly FieldBytes[] | undefined => {
  const cut = cutObject(bytes, 0, findEnd);
  return cut !== undefined && skipBlanks(bytes, cut.end) === bytes.length ? cut.fields : undefined;
};

interface Wording {
  /** Names in a value, repeated ones too: a parsed value that has fewer has lost some. */
  readonly keys: number;
  /** It may hold a number of which a parsed value keeps a part only. */
  readonly hasLongNumber: boolean;
}

/** @param bytes of one value. */
export const readWording = (bytes: Buffer): Wording => {
  let keys = 0;
  let digits = 0;
  let hasLongNumber = false;
  for (let next = 0; next < bytes.length; ) {
    const byte = bytes[next] as number;
    if (byte === quote) {
      next = skipString(bytes, next);
      digits = 0;
      continue;
    }
    next += 1;
    if (byte >= 0x30 && byte <= 0x39) {
      digits += 1;
      if (digits > safeDigits) hasLongNumber = true;
    } else if (byte === colon) {
      keys += 1;
      digits = 0;
    } else if (byte === 0x65 || byte === 0x45) {
      // Of "true" and "false" too, which costs nothing but a look.
      if (digits > 0) hasLongNumber = true;
    } else if (byte === comma || byte === closeBrace || byte === closeBracket) digits = 0;
  }
  return { keys, hasLongNumber };
};
