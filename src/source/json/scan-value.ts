/**
 * Checks JSON bytes without building what they say, and finds the fields of a record: what a record holds is parsed
 * only where somebody reads it. Strict: what this accepts, JSON.parse accepts. Written for speed: it visits every byte.
 */

/** A top-level field of a record, by the offsets of its value. */
export interface FieldSpan {
  readonly name: string;
  readonly from: number;
  readonly to: number;
  /**
   * The bytes are in the form that JSON.stringify would write: no blanks, no escapes, plain numbers, no keys that would
   * change places. Only a name repeated inside the value goes unnoticed: it then hashes otherwise than what it says.
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
/** Numbers of so many digits print as they were read; longer ones are tried. */
const safeDigits = 15;

const literals = ['true', 'false', 'null'].map((word) => Buffer.from(word));
const isBlank = (byte: number | undefined): boolean => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
const isDigit = (byte: number | undefined): boolean => byte !== undefined && byte >= zero && byte <= nine;
const isHex = (byte: number | undefined): boolean =>
  byte !== undefined && (isDigit(byte) || (byte >= 0x41 && byte <= 0x46) || (byte >= 0x61 && byte <= 0x66));

/** Scans values of one buffer; `at` moves on as it does. Throws NotScannable. */
export class ValueScanner {
  private readonly bytes: Uint8Array;
  private readonly length: number;
  at = 0;
  private depth = 0;
  private plain = true;

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
      this.plain = true;
      const name = this.key();
      this.plain = true;
      const start = this.at;
      this.value();
      fields.push({ name, from: start, to: this.at, plain: this.plain });
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

  /** What was passed since `from`. */
  private text(from: number): string {
    return Buffer.from(this.bytes.buffer, this.bytes.byteOffset + from, this.at - from).toString('utf8');
  }

  private blanks(): void {
    while (isBlank(this.bytes[this.at])) {
      this.at += 1;
      this.plain = false;
    }
  }

  /** A key with its colon; leaves `at` on the value. */
  private key(): string {
    const start = this.at;
    if (this.bytes[start] !== quote) this.fail();
    this.string();
    const name = this.text(start);
    this.colon();
    return this.plain ? name.slice(1, -1) : (JSON.parse(name) as string);
  }

  private colon(): void {
    this.blanks();
    if (this.bytes[this.at] !== colon) this.fail();
    this.at += 1;
    this.blanks();
  }

  private value(): void {
    const byte = this.bytes[this.at];
    if (byte === quote) this.string();
    else if (byte === openBrace) this.object();
    else if (byte === openBracket) this.array();
    else if (byte === minus || isDigit(byte)) this.number();
    else this.literal();
  }

  private object(): void {
    const { bytes } = this;
    this.at += 1;
    this.deeper();
    this.blanks();
    if (bytes[this.at] === closeBrace) this.at += 1;
    else {
      for (;;) {
        if (bytes[this.at] !== quote) this.fail();
        if (isDigit(bytes[this.at + 1])) this.plain = false;
        this.string();
        if (bytes[this.at] === colon) {
          this.at += 1;
          if (isBlank(bytes[this.at])) this.blanks();
        } else this.colon();
        this.value();
        if (isBlank(bytes[this.at])) this.blanks();
        const byte = bytes[this.at];
        this.at += 1;
        if (byte === closeBrace) break;
        if (byte !== comma) this.fail();
        if (isBlank(bytes[this.at])) this.blanks();
      }
    }
    this.depth -= 1;
  }

  private array(): void {
    const { bytes } = this;
    this.at += 1;
    this.deeper();
    this.blanks();
    if (bytes[this.at] === closeBracket) this.at += 1;
    else {
      for (;;) {
        this.value();
        if (isBlank(bytes[this.at])) this.blanks();
        const byte = bytes[this.at];
        this.at += 1;
        if (byte === closeBracket) break;
        if (byte !== comma) this.fail();
        if (isBlank(bytes[this.at])) this.blanks();
      }
    }
    this.depth -= 1;
  }

  private deeper(): void {
    this.depth += 1;
    if (this.depth > maxDepth) throw new NotScannable('nested too deeply');
  }

  private string(): void {
    const { bytes, length } = this;
    let at = this.at + 1;
    for (;;) {
      if (at >= length) this.fail();
      const byte = bytes[at] as number;
      if (byte === quote) break;
      if (byte === backslash) {
        this.plain = false;
        at = this.escape(at);
      } else if (byte < 0x20) this.fail();
      else at += 1;
    }
    this.at = at + 1;
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

  private digits(): number {
    const start = this.at;
    while (isDigit(this.bytes[this.at])) this.at += 1;
    if (this.at === start) this.fail();
    return this.at - start;
  }

  private number(): void {
    const { bytes } = this;
    const first = this.at;
    const isNegative = bytes[first] === minus;
    if (isNegative) this.at += 1;
    const startsWithZero = bytes[this.at] === zero;
    let significant = this.digits();
    if (startsWithZero) {
      if (significant > 1) this.fail();
      significant = 0;
    }
    if (bytes[this.at] === dot) {
      this.at += 1;
      const start = this.at;
      significant += this.digits();
      if (startsWithZero && bytes[start] === zero) significant -= 1;
      if (bytes[this.at - 1] === zero) this.plain = false;
      // JavaScript prints what is below a millionth with an exponent.
      if (startsWithZero && bytes[start] === zero && bytes[start + 1] === zero) this.plain = false;
    } else if (startsWithZero && isNegative) this.plain = false;
    if (significant > safeDigits && this.plain) {
      const text = this.text(first);
      this.plain = String(Number(text)) === text;
    }
    const byte = bytes[this.at];
    if (byte === 0x65 || byte === 0x45) {
      this.plain = false;
      this.at += 1;
      const sign = bytes[this.at];
      if (sign === minus || sign === 0x2b) this.at += 1;
      this.digits();
    }
  }

  private literal(): void {
    const { bytes, at } = this;
    for (const word of literals) {
      if (bytes[at] !== word[0]) continue;
      for (let index = 1; index < word.length; index += 1) if (bytes[at + index] !== word[index]) this.fail();
      this.at = at + word.length;
      return;
    }
    this.fail();
  }
}
