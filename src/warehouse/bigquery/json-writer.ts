/** JSON as the bytes of an upload, without objects or texts between: most of a load is words. */
import type { WordArrays } from '../../../schemas/tables.ts';
import * as sign from '../../lib/json-signs.ts';

// Bound here: a look into another module for each byte takes as long as the byte.
const { backslash, comma, dot, quote, zero } = sign;

const chunkBytes = 1 << 20;
/** Up to this length a text is written by a loop: usual utterances are faster so. */
const shortText = 400;
/** Of a number that is written by a loop: as far as they fit 32 bits. */
const mostThousandths = 1e9;

export const ascii = (text: string): Uint8Array => Buffer.from(text, 'latin1');

export const objectStart = ascii('{');
export const objectEnd = ascii('},');
export const arrayEnd = ascii('],');
export const lineEnd = ascii('}\n');
const arrayStart = ascii('[');
const wordFields = {
  value: ascii('{"value":'),
  start: ascii(',"start":'),
  length: ascii(',"length":'),
  score: ascii(',"score":'),
};
/** The most that the names and numbers of a word take, and so more than any number. */
const wordBytes = 128;

/** Writes a comma after each value; `close` puts an end in its place. */
export class JsonWriter {
  private readonly full: Buffer[] = [];
  private bytes = Buffer.allocUnsafeSlow(chunkBytes);
  private at = 0;

  private reserve(bytes: number): void {
    if (this.at + bytes <= this.bytes.length) return;
    this.full.push(this.bytes.subarray(0, this.at));
    this.bytes = Buffer.allocUnsafeSlow(Math.max(chunkBytes, bytes));
    this.at = 0;
  }

  /** The beginning of an object or an array, or the name of a field with its colon. */
  open(text: Uint8Array): void {
    this.reserve(text.length);
    this.at = putAscii(this.bytes, this.at, text);
  }

  /** @param end such as `},`, or the end of a line */
  close(end: Uint8Array): void {
    if (this.bytes[this.at - 1] === comma) this.at -= 1;
    this.open(end);
  }

  json(value: unknown): void {
    const text = JSON.stringify(value);
    this.reserve(Buffer.byteLength(text) + 1);
    this.at += this.bytes.write(text, this.at, 'utf8');
    this.bytes[this.at++] = comma;
  }

  text(value: string): void {
    if (value.length > shortText) this.json(value);
    else {
      this.reserve(textBytes(value) + 1);
      this.at = putText(this.bytes, this.at, value);
      this.bytes[this.at++] = comma;
    }
  }

  number(value: number): void {
    this.reserve(wordBytes);
    this.at = putNumber(this.bytes, this.at, value);
    this.bytes[this.at++] = comma;
  }

  /** An array of objects, one a word. */
  words({ value, start, length, score }: WordArrays): void {
    this.open(arrayStart);
    for (let index = 0; index < value.length; index += 1) {
      const word = value[index];
      this.reserve(wordBytes + (word == null ? 0 : textBytes(word)));
      const { bytes } = this;
      let at = putAscii(bytes, this.at, wordFields.value);
      at = word == null ? putJson(bytes, at, null) : putText(bytes, at, word);
      at = putNumber(bytes, putAscii(bytes, at, wordFields.start), start[index]);
      at = putNumber(bytes, putAscii(bytes, at, wordFields.length), length[index]);
      at = putNumber(bytes, putAscii(bytes, at, wordFields.score), score[index]);
      this.at = putAscii(bytes, at, objectEnd);
    }
    this.close(arrayEnd);
  }

  /** The writer must not be used afterwards. */
  end(): readonly Buffer[] {
    return [...this.full, this.bytes.subarray(0, this.at)];
  }
}

// Each returns the place after its text, for which there must be room.

const putAscii = (bytes: Buffer, at: number, text: Uint8Array): number => {
  for (let index = 0; index < text.length; index += 1) bytes[at + index] = text[index] as number;
  return at + text.length;
};

const putJson = (bytes: Buffer, at: number, value: unknown): number => at + bytes.write(JSON.stringify(value), at);

/** The most that a text takes, each character escaped. */
const textBytes = (value: string): number => value.length * 6 + 2;

const putText = (bytes: Buffer, from: number, value: string): number => {
  let at = from;
  bytes[at++] = quote;
  for (let index = 0; index < value.length; index += 1) {
    const code = value.charCodeAt(index);
    if (code < 0x20 || code === quote || code === backslash || code >= 0x800) return putJson(bytes, from, value);
    if (code < 0x80) bytes[at++] = code;
    else {
      bytes[at++] = 0xc0 | (code >> 6);
      bytes[at++] = 0x80 | (code & 0x3f);
    }
  }
  bytes[at] = quote;
  return at + 1;
};

/** Nearly all offsets, durations and scores have at most three decimals. */
const putNumber = (bytes: Buffer, from: number, value: number | null | undefined): number => {
  if (value == null) return putJson(bytes, from, null);
  const rounded = Math.round(value * 1000);
  if (!(rounded >= 0 && rounded < mostThousandths && rounded / 1000 === value)) return putJson(bytes, from, value);
  const thousandths = rounded | 0;
  let at = putInteger(bytes, from, (thousandths / 1000) | 0);
  const rest = thousandths % 1000;
  if (rest === 0) return at;
  bytes[at++] = dot;
  bytes[at++] = zero + ((rest / 100) | 0);
  if (rest % 100 > 0) bytes[at++] = zero + (((rest / 10) | 0) % 10);
  if (rest % 10 > 0) bytes[at++] = zero + (rest % 10);
  return at;
};

const putInteger = (bytes: Buffer, from: number, value: number): number => {
  const at = value > 9 ? putInteger(bytes, from, (value / 10) | 0) : from;
  bytes[at] = zero + (value % 10);
  return at + 1;
};
