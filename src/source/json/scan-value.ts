/**
 * Checks JSON bytes without building values, and finds the fields of a record. Strict: JSON.parse accepts everything
 * that this accepts. Written for speed, because it visits every byte.
 */

/** A top-level field of a record, by the offsets of its value. */
export interface FieldSpan {
  readonly name: string;
  readonly from: number;
  readonly to: number;
  /**
   * True if JSON.stringify would write the same bytes: no blanks or escapes, numbers as in JavaScript, keys in stable
   * order. A name repeated inside the value goes unnoticed: its hash then differs from its value's.
   */
  readonly plain: boolean;
}

/** The bytes are not JSON, or nest deeper than `maxDepth`. */
export class NotScannable extends Error {}

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const colon = 0x3a;
const minus = 0x2d;
const dot = 0x2e;
const zero = 0x30;
const nine = 0x39;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;

/** Well below the depth at which records are refused. */
const maxDepth = 100;
/** Numbers of up to this many digits print as they were read; longer ones are tried. */
const safeDigits = 15;

const literals = ['true', 'false', 'null'].map((word) => Buffer.from(word));
const isBlank = (byte: number | undefined): boolean => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
const isDigit = (byte: number | undefined): boolean => byte !== undefined && byte >= zero && byte <= nine;
const isHex = (byte: number | undefined): boolean =>
  byte !== undefined && (isDigit(byte) || (byte >= 0x41 && byte <= 0x46) || (byte >= 0x61 && byte <= 0x66));

/**
 * Scans values of one buffer; `at` moves on as it does. Throws NotScannable. The private methods pass one part each and
 * return whether its bytes are plain (see FieldSpan).
 */
export class ValueScanner {
  private readonly bytes: Uint8Array;
  private readonly length: number;
  at = 0;
  private depth = 0;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
    this.length = bytes.length;
  }

  /** The fields of the object that starts at `from`; `at` ends behind it. The last of several fields of a name counts. */
  record(from: number): readonly FieldSpan[] {
    const { bytes } = this;
    this.at = from + 1;
    this.depth = 1;
    const fields: FieldSpan[] = [];
    this.blanks();
    if (bytes[this.at] === closeBrace) {
      this.at += 1;
      return fields;
    }
    for (;;) {
      const name = this.fieldName();
      const start = this.at;
      const plain = this.value();
      fields.push({ name, from: start, to: this.at, plain });
      this.blanks();
      const byte = bytes[this.at];
      this.at += 1;
      if (byte === closeBrace) return fields;
      if (byte !== comma) this.fail();
      this.blanks();
    }
  }

  private fail(): never {
    throw new NotScannable('not JSON');
  }

  /** The bytes passed since `from`. */
  private text(from: number): string {
    return Buffer.from(this.bytes.buffer, this.bytes.byteOffset + from, this.at - from).toString('utf8');
  }

  private fieldName(): string {
    const start = this.at;
    if (this.bytes[start] !== quote) this.fail();
    const plain = this.string();
    const quoted = this.text(start);
    this.separator(colon);
    return plain ? quoted.slice(1, -1) : (JSON.parse(quoted) as string);
  }

  private blanks(): boolean {
    const start = this.at;
    while (isBlank(this.bytes[this.at])) this.at += 1;
    return this.at === start;
  }

  /** A colon or comma with the blanks around it. */
  private separator(byte: number): boolean {
    const tightBefore = this.blanks();
    if (this.bytes[this.at] !== byte) this.fail();
    this.at += 1;
    return this.blanks() && tightBefore;
  }

  private value(): boolean {
    const byte = this.bytes[this.at];
    if (byte === quote) return this.string();
    if (byte === openBrace) return this.container(closeBrace, true);
    if (byte === openBracket) return this.container(closeBracket, false);
    if (byte === minus || isDigit(byte)) return this.number();
    return this.literal();
  }

  /** An object, whose values have keys, or an array. */
  private container(close: number, keyed: boolean): boolean {
    const { bytes } = this;
    this.enter();
    let plain = this.blanks();
    for (let first = true; bytes[this.at] !== close; first = false) {
      if (!first && !this.separator(comma)) plain = false;
      if (keyed && !this.key()) plain = false;
      if (!this.value()) plain = false;
      if (isBlank(bytes[this.at]) && !this.blanks()) plain = false;
    }
    this.leave();
    return plain;
  }

  private key(): boolean {
    if (this.bytes[this.at] !== quote) this.fail();
    // JSON.stringify writes keys that are whole numbers first.
    const sortedFirst = isDigit(this.bytes[this.at + 1]);
    const plain = this.string();
    return this.separator(colon) && plain && !sortedFirst;
  }

  private enter(): void {
    this.at += 1;
    this.depth += 1;
    if (this.depth > maxDepth) throw new NotScannable('nested too deeply');
  }

  private leave(): void {
    this.at += 1;
    this.depth -= 1;
  }

  private string(): boolean {
    const { bytes, length } = this;
    let plain = true;
    let at = this.at + 1;
    for (;;) {
      if (at >= length) this.fail();
      const byte = bytes[at] as number;
      if (byte === quote) break;
      if (byte === backslash) {
        plain = false;
        at = this.escape(at);
      } else if (byte < 0x20) this.fail();
      else at += 1;
    }
    this.at = at + 1;
    return plain;
  }

  /** Offset behind the escape. */
  private escape(at: number): number {
    const { bytes } = this;
    const byte = bytes[at + 1];
    if (byte === 0x75) {
      for (let digit = at + 2; digit < at + 6; digit += 1) if (!isHex(bytes[digit])) this.fail();
      return at + 6;
    }
    if (byte === undefined || !'"\\/bfnrt'.includes(String.fromCharCode(byte))) this.fail();
    return at + 2;
  }

  /** How many digits were passed: at least one. */
  private digits(): number {
    const start = this.at;
    while (isDigit(this.bytes[this.at])) this.at += 1;
    if (this.at === start) this.fail();
    return this.at - start;
  }

  private number(): boolean {
    const { bytes } = this;
    const start = this.at;
    if (bytes[start] === minus) this.at += 1;
    const startsWithZero = bytes[this.at] === zero;
    const whole = this.digits();
    if (startsWithZero && whole > 1) this.fail();
    let fraction = 0;
    if (bytes[this.at] === dot) {
      this.at += 1;
      fraction = this.digits();
    }
    const end = this.at;
    const byte = bytes[end];
    if (byte === 0x65 || byte === 0x45) {
      this.at += 1;
      const sign = bytes[this.at];
      if (sign === minus || sign === 0x2b) this.at += 1;
      this.digits();
      return false;
    }
    if (whole + fraction > safeDigits) {
      const text = this.text(start);
      return String(Number(text)) === text;
    }
    if (fraction === 0) return !startsWithZero || bytes[start] !== minus;
    // JavaScript prints no trailing zero, and numbers below a millionth with an exponent.
    return (
      bytes[end - 1] !== zero &&
      !(startsWithZero && bytes[end - fraction] === zero && bytes[end - fraction + 1] === zero)
    );
  }

  private literal(): boolean {
    const { bytes, at } = this;
    for (const word of literals) {
      if (bytes[at] !== word[0]) continue;
      for (let index = 1; index < word.length; index += 1) if (bytes[at + index] !== word[index]) this.fail();
      this.at = at + word.length;
      return true;
    }
    this.fail();
  }
}
