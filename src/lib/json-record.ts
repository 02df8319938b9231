/**
 * Records as the JSON that came. Bytes are checked, and the fields of a record found, without building values. Large
 * fields stay bytes, so that no parsed copy of them stays in memory.
 */
import { isUtf8 } from 'node:buffer';
import * as sign from './json-signs.ts';
import { parseQuietly } from './parse-json.ts';

// Bound here: a look into another module for each byte takes as long as the byte.
const {
  quote,
  backslash,
  comma,
  colon,
  minus,
  dot,
  zero,
  nine,
  openBracket,
  closeBracket,
  openBrace,
  closeBrace,
  isBlank,
} = sign;

/** Has no names: unlike an object without a prototype, one with this prototype is no dictionary to V8. */
const nothing: object = Object.freeze(Object.create(null));

/** An empty object that inherits no names: fields named `constructor` or `__proto__` are fields like any other. */
export const bare = <T = unknown>(): Record<string, T> => Object.create(nothing) as Record<string, T>;

const encoded = Symbol('encoded fields');

type Holder = { readonly [encoded]?: Record<string, { readonly bytes: Buffer; readonly value: unknown }> };

/** By the name of the field: objects with getters of their own would each have a layout of their own. */
const getters = new Map<string, (this: Holder) => unknown>();
/** Names of fields may come without end. */
const mostGetters = 500;

const getterOf = (name: string) => {
  const get =
    getters.get(name) ??
    function get(this: Holder): unknown {
      const field = this[encoded]?.[name];
      return field?.value === undefined ? JSON.parse(`${field?.bytes}`) : field.value;
    };
  if (getters.size < mostGetters) getters.set(name, get);
  return get;
};

/**
 * Defines a field of `target` by its bytes, as JSON.stringify would write them.
 * @param value where it is at hand; otherwise the bytes are parsed at every access.
 */
export const defineEncoded = (target: object, name: string, bytes: Buffer, value?: unknown): void => {
  if (!Object.hasOwn(target, encoded)) Object.defineProperty(target, encoded, { value: bare() });
  ((target as Holder)[encoded] as Record<string, unknown>)[name] = { bytes, value };
  Object.defineProperty(target, name, { enumerable: true, configurable: true, get: getterOf(name) });
};

/** The bytes of a field, if it has them. */
export const bytesOf = (from: object, name: string): Buffer | undefined => (from as Holder)[encoded]?.[name]?.bytes;

/** Fields of another object with their bytes, where a spread would parse each. @param target made by `bare` */
export const copyFields = (from: object, names: readonly string[], target = bare()): Record<string, unknown> => {
  for (const name of names) {
    const field = (from as Holder)[encoded]?.[name];
    if (field !== undefined) defineEncoded(target, name, field.bytes, field.value);
    else {
      // A getter cannot be assigned to.
      if (bytesOf(target, name) !== undefined) {
        Reflect.deleteProperty((target as Holder)[encoded] ?? {}, name);
        Reflect.deleteProperty(target, name);
      }
      target[name] = (from as Record<string, unknown>)[name];
    }
  }
  return target;
};

/** A copy with another value of a field; undefined = without the field. */
export const withField = (from: object, name: string, value: unknown): Record<string, unknown> => {
  const copy = bare();
  for (const key of new Set([...Object.keys(from), name]))
    if (key !== name) copyFields(from, [key], copy);
    else if (value !== undefined) copy[name] = value;
  return copy;
};

/** A top-level field of a record, by the offsets of its value. */
export interface FieldSpan {
  readonly name: string;
  readonly from: number;
  readonly to: number;
  /**
   * True if JSON.stringify would write the same bytes: escapes and numbers as JavaScript writes them, no blanks, no name
   * twice in an object. False for an object of very many names, or with names that are numbers, and for escapes by number.
   */
  readonly plain: boolean;
}

/** The bytes are not JSON, or nest deeper than `maxDepth`. */
class NotScannable extends Error {}

const slash = 0x2f;

/** Well below the depth at which records are refused. */
const maxDepth = 100;
/** Numbers of up to this many digits print as they were read; longer ones are tried. */
const safeDigits = 15;
/** Of one object: each may be compared with all others. */
const mostNames = 64;

/** Offsets of names in the objects around the current place, by depth. */
const nameStarts = new Int32Array((maxDepth + 1) * mostNames);

const literals = ['true', 'false', 'null'].map((word) => Buffer.from(word));
const isDigit = (byte: number | undefined): boolean => byte !== undefined && byte >= zero && byte <= nine;
const isHex = (byte: number | undefined): boolean =>
  byte !== undefined && (isDigit(byte) || (byte >= 0x41 && byte <= 0x46) || (byte >= 0x61 && byte <= 0x66));

const fail = (): never => {
  throw new NotScannable('not JSON');
};

/**
 * Scans one object. Strict: JSON.parse accepts everything that this accepts. Written for speed, because it visits every
 * byte. A private method gets the offset of a part and returns the offset behind it. If the part is not
 * plain (see FieldSpan), it sets `plain` to false. Broken parts throw NotScannable.
 */
class ValueScanner {
  private readonly bytes: Buffer;
  private depth = 0;
  private plain = true;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  fields(from: number) {
    const { bytes } = this;
    this.depth = 1;
    const fields: FieldSpan[] = [];
    let at = this.blanks(from + 1);
    if (bytes[at] === closeBrace) at += 1;
    else
      for (;;) {
        const end = this.string(at);
        const quoted = this.text(at, end);
        const name = quoted.includes('\\') ? (JSON.parse(quoted) as string) : quoted.slice(1, -1);
        const start = this.separator(end, colon);
        this.plain = true;
        const to = this.value(start);
        fields.push({ name, from: start, to, plain: this.plain });
        at = this.blanks(to) + 1;
        const byte = bytes[at - 1];
        if (byte === closeBrace) break;
        if (byte !== comma) fail();
        at = this.blanks(at);
      }
    return { fields, to: at };
  }

  private text(from: number, to: number): string {
    return this.bytes.toString('utf8', from, to);
  }

  private blanks(from: number): number {
    let at = from;
    while (isBlank(this.bytes[at])) at += 1;
    if (at > from) this.plain = false;
    return at;
  }

  /** A colon or comma with the blanks around it. */
  private separator(from: number, byte: number): number {
    const at = this.blanks(from);
    if (this.bytes[at] !== byte) fail();
    return this.blanks(at + 1);
  }

  private value(at: number): number {
    const byte = this.bytes[at];
    if (byte === quote) return this.string(at);
    if (byte === openBrace) return this.container(at, closeBrace, true);
    if (byte === openBracket) return this.container(at, closeBracket, false);
    if (byte === minus || isDigit(byte)) return this.number(at);
    return this.literal(at);
  }

  /** An object, whose values have keys, or an array. */
  private container(from: number, close: number, keyed: boolean): number {
    const { bytes } = this;
    this.depth += 1;
    if (this.depth > maxDepth) throw new NotScannable('nested too deeply');
    const first = this.depth * mostNames;
    let count = 0;
    let seen = 0;
    let at = this.blanks(from + 1);
    while (bytes[at] !== close) {
      if (count > 0) at = this.separator(at, comma);
      if (keyed) {
        const end = this.string(at);
        const initial = bytes[at + 1] as number;
        const mark = 1 << (initial + 5 * (bytes[end - 2] as number) + 11 * (end - at));
        const mayRepeat = (seen & mark) !== 0;
        // JSON.stringify writes names that are whole numbers first.
        if (isDigit(initial) || count >= mostNames || (mayRepeat && this.isRepeated(first, first + count, at, end)))
          this.plain = false;
        else nameStarts[first + count] = at;
        seen |= mark;
        at = this.separator(end, colon);
      }
      at = this.blanks(this.value(at));
      count += 1;
    }
    this.depth -= 1;
    return at + 1;
  }

  /** Whether the name is one of those that begin at `nameStarts[first]` up to `nameStarts[last]`. */
  private isRepeated(first: number, last: number, from: number, to: number): boolean {
    const { bytes } = this;
    for (let index = first; index < last; index += 1) {
      const start = nameStarts[index] as number;
      let at = from + 1;
      while (at < to && bytes[at] === bytes[start + at - from]) at += 1;
      if (at === to) return true;
    }
    return false;
  }

  private string(from: number): number {
    const { bytes } = this;
    if (bytes[from] !== quote) fail();
    const { length } = bytes;
    for (let at = from + 1; at < length; ) {
      const byte = bytes[at] as number;
      if (byte === quote) return at + 1;
      if (byte === backslash) at = this.escape(at);
      else if (byte < 0x20) fail();
      else at += 1;
    }
    return fail();
  }

  /** Offset behind the escape. */
  private escape(at: number): number {
    const { bytes } = this;
    const byte = bytes[at + 1];
    if (byte === 0x75 || byte === slash) this.plain = false;
    if (byte === 0x75) {
      for (let digit = at + 2; digit < at + 6; digit += 1) if (!isHex(bytes[digit])) fail();
      return at + 6;
    }
    if (byte === undefined || !'"\\/bfnrt'.includes(String.fromCharCode(byte))) fail();
    return at + 2;
  }

  /** At least one digit. */
  private digits(from: number): number {
    const { bytes } = this;
    let at = from;
    while (isDigit(bytes[at])) at += 1;
    return at === from ? fail() : at;
  }

  private number(from: number): number {
    const { bytes } = this;
    const start = bytes[from] === minus ? from + 1 : from;
    const point = this.digits(start);
    const startsWithZero = bytes[start] === zero;
    if (startsWithZero && point > start + 1) fail();
    let end = bytes[point] === dot ? this.digits(point + 1) : point;
    const byte = bytes[end];
    if (byte === 0x65 || byte === 0x45) {
      this.plain = false;
      const next = bytes[end + 1];
      end = this.digits(next === minus || next === 0x2b ? end + 2 : end + 1);
    } else if (end - start > safeDigits) {
      const text = this.text(from, end);
      if (String(Number(text)) !== text) this.plain = false;
    } else if (end === point) {
      if (startsWithZero && start > from) this.plain = false;
      // JavaScript prints no trailing zero, and numbers below a millionth with an exponent.
    } else if (bytes[end - 1] === zero || (startsWithZero && bytes[point + 1] === zero && bytes[point + 2] === zero))
      this.plain = false;
    return end;
  }

  private literal(at: number): number {
    const { bytes } = this;
    for (const word of literals) {
      if (bytes[at] !== word[0]) continue;
      for (let index = 1; index < word.length; index += 1) if (bytes[at + index] !== word[index]) fail();
      return at + word.length;
    }
    return fail();
  }
}

/** From this size on a field is parsed only when it is read. */
export const encodedBytes = 512;

/** `isPlain` = all fields are known to be; false of a record that was not scanned. `large` = those that stay bytes. */
const sumUp = (fields: readonly FieldSpan[]) => {
  const isPlain = fields.length > 0 && fields.every(({ plain }) => plain);
  const large = fields.filter(({ plain, from, to }) => plain && to - from >= encodedBytes);
  const isRepeated = large.length > 0 && new Set(fields.map(({ name }) => name)).size < fields.length;
  return { isPlain, large: isRepeated ? [] : large };
};

export const notScanned = sumUp([]);

/**
 * The fields of the object that starts at `from`, their sum, and the offset behind it. The last of several fields of a
 * name counts. Undefined where the bytes are not scannable.
 */
export const scanFields = (bytes: Buffer, from: number) => {
  try {
    if (bytes[from] !== openBrace) return undefined;
    const found = new ValueScanner(bytes).fields(from);
    return { ...found, sum: sumUp(found.fields) };
  } catch (error) {
    if (error instanceof NotScannable) return undefined;
    throw error;
  }
};

const fieldsOf = (bytes: Buffer): typeof notScanned => {
  const found = isUtf8(bytes) ? scanFields(bytes, 0) : undefined;
  return found?.to === bytes.length ? found.sum : notScanned;
};

/**
 * A value whose large fields stay bytes where it is an object of plain ones; undefined when the bytes are not JSON.
 * @param fields of UTF-8, as scanned in a buffer where `bytes` began at `start`.
 */
export const readRecord = (bytes: Buffer, { isPlain, large } = fieldsOf(bytes), start = 0) => {
  if (large.length === 0) return { value: parseQuietly(bytes), isPlain };
  let rest = '';
  let at = 0;
  for (const { from, to } of large) {
    rest += `${bytes.toString('utf8', at, from - start)}null`;
    at = to - start;
  }
  const value = JSON.parse(rest + bytes.toString('utf8', at)) as object;
  for (const { name, from, to } of large) defineEncoded(value, name, bytes.subarray(from - start, to - start));
  return { value, isPlain };
};
