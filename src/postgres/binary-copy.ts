/**
 * COPY … FROM STDIN in PostgreSQL's binary format: the server parses no number and no array text, and nothing has to
 * be escaped. One growing buffer per writer; the format is documented under COPY, "Binary Format".
 */
import type { PoolClient } from 'pg';
import { from as copyFrom } from 'pg-copy-streams';

const signature = Buffer.from('PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0', 'latin1');
/** Microseconds between the epochs of Unix and PostgreSQL (2000-01-01). */
const postgresEpoch = 946_684_800_000_000;
const arrayHeader = 20;

export class BinaryCopyWriter {
  private buffer: Buffer;
  private at = 0;

  constructor(initialBytes = 1 << 20) {
    this.buffer = Buffer.allocUnsafe(initialBytes);
    signature.copy(this.buffer);
    this.at = signature.length;
  }

  private reserve(bytes: number): void {
    if (this.at + bytes <= this.buffer.length) return;
    const grown = Buffer.allocUnsafe(Math.max(this.buffer.length * 2, this.at + bytes));
    this.buffer.copy(grown, 0, 0, this.at);
    this.buffer = grown;
  }

  row(columns: number): void {
    this.reserve(2);
    this.at = this.buffer.writeInt16BE(columns, this.at);
  }

  null(): void {
    this.reserve(4);
    this.at = this.buffer.writeInt32BE(-1, this.at);
  }

  text(value: string): void {
    this.reserve(4 + value.length * 3);
    const written = this.buffer.write(value, this.at + 4, 'utf8');
    this.buffer.writeInt32BE(written, this.at);
    this.at += 4 + written;
  }

  bytes(value: Uint8Array): void {
    this.reserve(4 + value.length);
    this.at = this.buffer.writeInt32BE(value.length, this.at);
    this.buffer.set(value, this.at);
    this.at += value.length;
  }

  jsonb(value: string): void {
    this.reserve(5 + value.length * 3);
    const written = this.buffer.write(value, this.at + 5, 'utf8');
    this.buffer.writeInt32BE(written + 1, this.at);
    this.buffer[this.at + 4] = 1;
    this.at += 5 + written;
  }

  int4(value: number): void {
    this.reserve(8);
    this.at = this.buffer.writeInt32BE(4, this.at);
    this.at = this.buffer.writeInt32BE(value, this.at);
  }

  int8(value: number): void {
    this.reserve(12);
    this.at = this.buffer.writeInt32BE(8, this.at);
    this.at = this.buffer.writeBigInt64BE(BigInt(value), this.at);
  }

  float8(value: number): void {
    this.reserve(12);
    this.at = this.buffer.writeInt32BE(8, this.at);
    this.at = this.buffer.writeDoubleBE(value, this.at);
  }

  bool(value: boolean): void {
    this.reserve(5);
    this.at = this.buffer.writeInt32BE(1, this.at);
    this.buffer[this.at] = value ? 1 : 0;
    this.at += 1;
  }

  /** @param micros microseconds since the Unix epoch */
  timestamptz(micros: number): void {
    this.int8(micros - postgresEpoch);
  }

  /** @param value canonical decimal text */
  numeric(value: string): void {
    const { negative, weight, digits, scale } = splitNumeric(value);
    this.reserve(12 + digits.length * 2);
    this.at = this.buffer.writeInt32BE(8 + digits.length * 2, this.at);
    this.at = this.buffer.writeInt16BE(digits.length, this.at);
    this.at = this.buffer.writeInt16BE(weight, this.at);
    this.at = this.buffer.writeUInt16BE(negative ? 0x4000 : 0, this.at);
    this.at = this.buffer.writeUInt16BE(scale, this.at);
    for (const digit of digits) this.at = this.buffer.writeInt16BE(digit, this.at);
  }

  private arrayStart(elements: number, elementType: number): number {
    this.reserve(4 + arrayHeader);
    const start = this.at;
    this.buffer.writeInt32BE(elements === 0 ? 0 : 1, start + 4);
    this.buffer.writeInt32BE(1, start + 8);
    this.buffer.writeInt32BE(elementType, start + 12);
    this.at += 16;
    if (elements > 0) {
      this.at = this.buffer.writeInt32BE(elements, this.at);
      this.at = this.buffer.writeInt32BE(1, this.at);
    }
    return start;
  }

  private array<T>(values: readonly (T | null)[], elementType: number, write: (value: T) => void): void {
    const start = this.arrayStart(values.length, elementType);
    for (let index = 0; index < values.length; index += 1) {
      const value = values[index];
      if (value == null) this.null();
      else write(value);
    }
    this.buffer.writeInt32BE(this.at - start - 4, start);
  }

  /** @param values bytes in hex. */
  bytesArray(values: readonly string[]): void {
    this.array(values, 17, (value) => this.bytes(Buffer.from(value, 'hex')));
  }

  textArray(values: readonly (string | null)[]): void {
    this.array(values, 25, (value) => this.text(value));
  }

  float8Array(values: readonly (number | null)[]): void {
    const start = this.arrayStart(values.length, 701);
    this.reserve(values.length * 12);
    for (let index = 0; index < values.length; index += 1) {
      const value = values[index];
      if (value == null) {
        this.at = this.buffer.writeInt32BE(-1, this.at);
      } else {
        this.at = this.buffer.writeInt32BE(8, this.at);
        this.at = this.buffer.writeDoubleBE(value, this.at);
      }
    }
    this.buffer.writeInt32BE(this.at - start - 4, start);
  }

  /**
   * Sends the rows as `COPY target FROM STDIN (FORMAT binary)`; the writer must not be used afterwards.
   * @param target the relation, and its columns in the order in which rows were written.
   */
  send(client: PoolClient, target: string): Promise<void> {
    this.reserve(2);
    this.at = this.buffer.writeInt16BE(-1, this.at);
    return new Promise((resolve, reject) => {
      const stream = client.query(copyFrom(`COPY ${target} FROM STDIN (FORMAT binary)`));
      stream.on('finish', resolve);
      stream.on('error', reject);
      stream.end(this.buffer.subarray(0, this.at));
    });
  }
}

/** Canonical decimal text → base-10000 digits with the weight of the first, as numeric_recv reads them. */
const splitNumeric = (value: string) => {
  const negative = value.startsWith('-');
  const [whole = '', fraction = ''] = (negative ? value.slice(1) : value).split('.');
  const left = whole.padStart(Math.ceil(whole.length / 4) * 4, '0');
  const right = fraction.padEnd(Math.ceil(fraction.length / 4) * 4, '0');
  const digits = ((left + right).match(/\d{4}/g) ?? []).map(Number);
  let weight = left.length / 4 - 1;
  while (digits[0] === 0) {
    digits.shift();
    weight -= 1;
  }
  while (digits.at(-1) === 0) digits.pop();
  return { negative, digits, weight: digits.length === 0 ? 0 : weight, scale: fraction.length };
};
