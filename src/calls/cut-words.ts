/**
 * Reads the words of a transcript out of its bytes as columns. Most of a call is words. Parsing an object for each word
 * took twice the time, and more than any other step of a load.
 */
import type { WordArrays } from '../../schemas/tables.ts';

type Words = { -readonly [K in keyof WordArrays]: WordArrays[K][number][] };

const wordsKey = '"words":[';
const keyOf = (name: keyof WordArrays): Buffer => Buffer.from(`"${name}":`);
const keys = { value: keyOf('value'), start: keyOf('start'), length: keyOf('length'), score: keyOf('score') };
const quote = 0x22;
const comma = 0x2c;
const minus = 0x2d;
const dot = 0x2e;
const zero = 0x30;
const nine = 0x39;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;
/** A whole number of so many digits is a double, and so is this power of ten: their quotient is the nearest double. */
const exactDigits = 15;
const powers = Array.from({ length: exactDigits + 1 }, (_, digits) => 10 ** digits);

/**
 * @param json plain JSON (see `FieldSpan`).
 * @returns the parsed value with a place instead of each list of words, and the words by place. A list stays if one of
 * its words is anything but an object of a text and three numbers (interface §2.2).
 */
export const cutWords = (json: Buffer) => {
  const words = new Map<unknown, Words>();
  const reader = new WordReader(json);
  let rest = '';
  let from = 0;
  for (let at = reader.text.indexOf(wordsKey); at >= 0; at = reader.text.indexOf(wordsKey, reader.at)) {
    const list = at + wordsKey.length;
    reader.at = list;
    const read = reader.list();
    if (read === undefined) continue;
    // No text of plain JSON has a NUL, so that a place is no value of its own.
    const place = `\0${words.size}`;
    words.set(place, read);
    rest += json.toString('utf8', from, list - 1) + JSON.stringify(place);
    from = reader.at;
  }
  return { value: JSON.parse(rest + json.toString('utf8', from)) as unknown, words };
};

/** Written for speed, because it visits every byte of the words. Methods begin at `at` and leave it behind their part. */
class WordReader {
  private readonly bytes: Buffer;
  /** A character for each byte. */
  readonly text: string;
  at = 0;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
    this.text = bytes.toString('latin1');
  }

  /** The words of a list, from behind its bracket. */
  list(): Words | undefined {
    const { bytes } = this;
    const words: Words = { value: [], start: [], length: [], score: [] };
    const { value, start, length, score } = words;
    if (bytes[this.at] === closeBracket) {
      this.at += 1;
      return words;
    }
    for (let count = 1; bytes[this.at] === openBrace; count += 1) {
      do {
        this.at += 1;
        const isRead =
          (this.skipKey(keys.score) && this.number(score)) ||
          (this.skipKey(keys.start) && this.number(start)) ||
          (this.skipKey(keys.value) && this.string(value)) ||
          (this.skipKey(keys.length) && this.number(length));
        if (!isRead) return undefined;
      } while (bytes[this.at] === comma);
      if (bytes[this.at] !== closeBrace) return undefined;
      if (value.length !== count || start.length !== count || length.length !== count || score.length !== count)
        return undefined;
      this.at += 2;
      if (bytes[this.at - 1] === closeBracket) return words;
    }
    return undefined;
  }

  private skipKey(key: Buffer): boolean {
    const { bytes, at } = this;
    for (let index = 1; index < key.length; index += 1) if (bytes[at + index] !== key[index]) return false;
    this.at += key.length;
    return true;
  }

  private string(values: (string | null)[]): boolean {
    const { bytes, at } = this;
    if (bytes[at] !== quote) return false;
    let end = at + 1;
    let bits = 0;
    for (let byte = bytes[end] as number; byte !== quote; byte = bytes[end] as number) {
      bits |= byte;
      end += 1;
    }
    this.at = end + 1;
    values.push(bits < 0x80 ? this.text.slice(at + 1, end) : bytes.toString('utf8', at + 1, end));
    return true;
  }

  private number(values: (number | null)[]): boolean {
    const { bytes } = this;
    const start = this.at + (bytes[this.at] === minus ? 1 : 0);
    let at = start;
    let point = -1;
    let digits = 0;
    for (let byte = bytes[at] as number; ; byte = bytes[at] as number) {
      if (byte >= zero && byte <= nine) digits = digits * 10 + byte - zero;
      else if (byte === dot) point = at;
      else break;
      at += 1;
    }
    if (at === start || at - start > exactDigits) return false;
    const value = point < 0 ? digits : digits / (powers[at - point - 1] as number);
    values.push(start > this.at ? -value : value);
    this.at = at;
    return true;
  }
}
