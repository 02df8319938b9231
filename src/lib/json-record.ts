/**
 * Records as the JSON that came. Bytes are checked, and the fields of a record found, without building values. Large
 * fields stay bytes, so that no parsed copy of them stays in memory.
 */
import { isUtf8 } from 'node:buffer';
import * as sign from './json-signs.ts';
import { isObject, keepNumbers, parseQuietly, valueAt } from './parse-json.ts';

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

/** The fields of a record by their names. Names are as they came: one may be `constructor`. */
export class JsonRecord {
  /** A large field is the bytes of its JSON, as JSON.stringify would write it. */
  readonly held: Readonly<Record<string, unknown>>;

  constructor(held: Readonly<Record<string, unknown>> = {}) {
    this.held = held;
  }

  /** Undefined where a value is no object. */
  static of(value: unknown): JsonRecord | undefined {
    if (value instanceof JsonRecord) return value;
    return isObject(value) ? new JsonRecord(value) : undefined;
  }

  get names(): string[] {
    return Object.keys(this.held);
  }

  /** The JSON of a large field. */
  json(name: string): Buffer | undefined {
    const held = this.held[name];
    return Buffer.isBuffer(held) ? held : undefined;
  }

  value(name: string): unknown {
    const json = this.json(name);
    if (json !== undefined) return JSON.parse(json.toString());
    return Object.hasOwn(this.held, name) ? this.held[name] : undefined;
  }

  /** As JSON names it. No number and no literal is long enough to be large. */
  type(name: string): string {
    const held = this.held[name];
    if (Buffer.isBuffer(held)) return held[0] === quote ? 'string' : held[0] === openBrace ? 'object' : 'array';
    if (held === null) return 'null';
    return Array.isArray(held) ? 'array' : typeof held;
  }

  /** The value at a dotted path. */
  at(path: string): unknown {
    const [name = '', ...keys] = path.split('.');
    return valueAt(this.value(name), keys);
  }

  /** A copy with other values of some fields; an undefined one is none. @param fields as `held` */
  with(fields: Readonly<Record<string, unknown>>): JsonRecord {
    return new JsonRecord({ ...this.held, ...fields });
  }

  toJSON(): Record<string, unknown> {
    // A copy is no dictionary to V8; an object of entries is one.
    const values: Record<string, unknown> = { ...this.held };
    for (const name of this.names) if (this.json(name)) values[name] = this.value(name);
    return values;
  }
}

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
 * The value of JSON; an object as a record, with numbers that no double holds as text. Undefined when the bytes are not JSON.
 * @param fields of UTF-8, as scanned in a buffer where `bytes` began at `start`.
 */
export const readRecord = (bytes: Buffer, { isPlain, large } = fieldsOf(bytes), start = 0) => {
  if (large.length === 0) {
    const value = parseQuietly(isPlain ? bytes : keepNumbers(bytes.toString()));
    return { value: JsonRecord.of(value) ?? value, isPlain };
  }
  let rest = '';
  let at = 0;
  for (const { from, to } of large) {
    rest += `${bytes.toString('utf8', at, from - start)}null`;
    at = to - start;
  }
  rest += bytes.toString('utf8', at);
  const held = JSON.parse(isPlain ? rest : keepNumbers(rest)) as Record<string, unknown>;
  for (const { name, from, to } of large) held[name] = bytes.subarray(from - start, to - start);
  return { value: new JsonRecord(held), isPlain };
};
