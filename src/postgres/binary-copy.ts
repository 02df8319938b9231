/**
 * COPY … FROM STDIN in PostgreSQL's binary format: the server parses no number and no array text, and nothing has to
 * be escaped. Rows are written into chunks that copies share; the format is documented under COPY, "Binary Format".
 */
import type { Connection, PoolClient } from 'pg';

const signature = Buffer.from('PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0', 'latin1');
/** Microseconds between the epochs of Unix and PostgreSQL (2000-01-01). */
const postgresEpoch = 946_684_800_000_000;
/** Most tables of a page fit one. */
const usualBytes = 128 * 1024;
/**
 * Chunks of ended copies: new ones would cost their first touch, tear holes into memory, and make the collector mark all.
 */
const spare: Buffer[] = [];
const mostSpare = 32;
/** A copy of fewer bytes is cheaper than a chunk. */
const leastLent = 8 * 1024;
/** Up to this length a text is copied by a loop: a call of native code takes longer. */
const shortText = 32;

export class BinaryCopyWriter {
  private readonly full: Uint8Array[] = [];
  private buffer!: Buffer;
  private view!: DataView;
  private at = 0;
  /** Where the bytes begin that no chunk has yet. */
  private from = 0;
  /** Without the bytes that were lent. */
  private readonly own: Buffer[] = [];
  /** Bytes in the chunks before this one. */
  private before = 0;

  constructor() {
    this.begin(signature.length);
    signature.copy(this.buffer);
    this.at = signature.length;
  }

  private begin(bytes: number): void {
    const usual = bytes <= usualBytes ? spare.pop() : undefined;
    this.buffer = usual ?? Buffer.allocUnsafeSlow(Math.max(usualBytes, bytes));
    this.view = new DataView(this.buffer.buffer);
    this.own.push(this.buffer);
    this.at = 0;
    this.from = 0;
  }

  private reserve(bytes: number): void {
    if (this.at + bytes <= this.buffer.length) return;
    this.full.push(this.buffer.subarray(this.from, this.at));
    this.before += this.at;
    this.begin(bytes);
  }

  private int16(value: number): void {
    this.view.setInt16(this.at, value);
    this.at += 2;
  }

  private int32(value: number): void {
    this.view.setInt32(this.at, value);
    this.at += 4;
  }

  row(columns: number): void {
    this.reserve(2);
    this.int16(columns);
  }

  /** A row of an object. */
  fields(row: Readonly<Record<string, unknown>>, { count, names, steps }: CopiedFields): void {
    this.row(count);
    for (let index = 0; index < names.length; index += 1) {
      const value = row[names[index] as string];
      if (value === null || value === undefined) this.null();
      else (steps[index] as Write)(this, value as never, row);
    }
  }

  null(): void {
    this.reserve(4);
    this.int32(-1);
  }

  text(value: string): void {
    this.reserve(4 + value.length * 3);
    const written = this.characters(value, this.at + 4);
    this.int32(written);
    this.at += written;
  }

  /** How many bytes they are as UTF-8. */
  private characters(value: string, from: number): number {
    const { length } = value;
    if (length > shortText) return this.buffer.write(value, from, 'utf8');
    for (let index = 0; index < length; index += 1) {
      const code = value.charCodeAt(index);
      if (code >= 0x80) return this.buffer.write(value, from, 'utf8');
      this.buffer[from + index] = code;
    }
    return length;
  }

  bytes(value: Uint8Array): void {
    this.reserve(4 + value.length);
    this.int32(value.length);
    this.buffer.set(value, this.at);
    this.at += value.length;
  }

  /** As `bytes`, without a copy: nobody may change or free them before `send` resolves, and never where it rejects. */
  lend(value: Uint8Array): void {
    if (value.length < leastLent) {
      this.bytes(value);
      return;
    }
    this.reserve(4);
    this.int32(value.length);
    this.full.push(this.buffer.subarray(this.from, this.at), value);
    this.from = this.at;
    this.before += value.length;
  }

  jsonb(value: string): void {
    this.text(`\u0001${value}`);
  }

  int4(value: number): void {
    this.reserve(8);
    this.int32(4);
    this.int32(value);
  }

  int8(value: number): void {
    this.reserve(12);
    this.int32(8);
    const high = Math.floor(value / 2 ** 32);
    this.int32(high);
    this.view.setUint32(this.at, value - high * 2 ** 32);
    this.at += 4;
  }

  float8(value: number): void {
    this.reserve(12);
    this.int32(8);
    this.view.setFloat64(this.at, value);
    this.at += 8;
  }

  bool(value: boolean): void {
    this.reserve(5);
    this.int32(1);
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
    this.int32(8 + digits.length * 2);
    this.int16(digits.length);
    this.int16(weight);
    this.int16(negative ? 0x4000 : 0);
    this.int16(scale);
    for (const digit of digits) this.int16(digit);
  }

  /** The head of an array: its length follows with its end. Returns where it is. */
  private beginArray(values: number, elementType: number): number {
    this.reserve(24);
    const { at } = this;
    this.at += 4;
    this.int32(values === 0 ? 0 : 1);
    this.int32(0);
    this.int32(elementType);
    if (values === 0) return at;
    this.int32(values);
    this.int32(1);
    return at;
  }

  /** The length of an array stands before it, and may be in an earlier chunk than its end. */
  private array<T>(values: readonly (T | null)[], elementType: number, write: (value: T) => void): void {
    const at = this.beginArray(values.length, elementType);
    const { view } = this;
    const start = this.before + at + 4;
    for (let index = 0; index < values.length; index += 1) {
      const value = values[index];
      if (value == null) {
        this.null();
        // The server's own arrays say whether a null is among the values.
        view.setInt32(at + 8, 1);
      } else write(value);
    }
    view.setInt32(at, this.before + this.at - start);
  }

  /** @param values bytes in hex. */
  bytesArray(values: readonly string[]): void {
    this.array(values, 17, (value) => this.bytes(Buffer.from(value, 'hex')));
  }

  textArray(values: readonly (string | null)[]): void {
    this.array(values, 25, (value) => this.text(value));
  }

  /** Not by `array`, which would make an object of each number: most of a call is words. */
  float8Array(values: readonly (number | null)[]): void {
    this.reserve(24 + values.length * 12);
    const head = this.beginArray(values.length, 701);
    const { view } = this;
    let { at } = this;
    for (let index = 0; index < values.length; index += 1) {
      const value = values[index];
      view.setInt32(at, value == null ? -1 : 8);
      at += 4;
      if (value == null) view.setInt32(head + 8, 1);
      else {
        view.setFloat64(at, value);
        at += 8;
      }
    }
    view.setInt32(head, at - head - 4);
    this.at = at;
  }

  /** The written rows for `BinaryCopyWriter.send`; the writer must not be used afterwards. */
  end(): readonly Uint8Array[] {
    this.reserve(2);
    this.int16(-1);
    return [...this.full, this.buffer.subarray(this.from, this.at)];
  }

  /** The ended rows whose first field, a text, is one of `keys`; the others must not be used afterwards. */
  static keep(chunks: readonly Uint8Array[], keys: ReadonlySet<string>): readonly Uint8Array[] {
    const all = Buffer.concat(chunks);
    release(chunks);
    const kept = [all.subarray(0, signature.length)];
    let at = signature.length;
    while (at < all.length - 2) {
      const from = at;
      const key = all.toString('utf8', at + 6, at + 6 + all.readInt32BE(at + 2));
      at += 2;
      for (let columns = all.readInt16BE(from); columns > 0; columns -= 1) at += 4 + Math.max(0, all.readInt32BE(at));
      if (keys.has(key)) kept.push(all.subarray(from, at));
    }
    // A memory of their own.
    return [new Uint8Array(Buffer.concat([...kept, all.subarray(at)]))];
  }

  send(client: PoolClient, target: string): Promise<void> {
    return BinaryCopyWriter.send(client, target, this.end(), this.own);
  }

  /**
   * Sends ended rows as `COPY target FROM STDIN (FORMAT binary)`; they must not be used afterwards.
   * @param target the relation, and its columns in the order in which rows were written.
   */
  static send(client: PoolClient, target: string, chunks: readonly Uint8Array[], own = chunks): Promise<void> {
    return new Promise((resolve, reject) => {
      client.query({
        // pg puts its time limit around this.
        callback: (error?: Error) => (error ? reject(error) : resolve()),
        // In one piece, and without waiting for consent: a server that refuses a copy passes over the rest of it.
        submit(connection: Connection) {
          const { stream } = connection;
          stream.cork();
          connection.query(`COPY ${target} FROM STDIN (FORMAT binary)`);
          for (const chunk of chunks) {
            stream.write(headOf('d', chunk.length));
            stream.write(chunk);
          }
          stream.write(headOf('c', 0));
          stream.uncork();
        },
        handleCopyInResponse() {},
        handleCommandComplete() {},
        handleReadyForQuery() {
          // The server has received these chunks.
          release(own);
          this.callback();
        },
        handleError(error: Error) {
          this.callback(error);
        },
      });
    });
  }
}

type Write = (writer: BinaryCopyWriter, value: never, row: Readonly<Record<string, unknown>>) => void;

/** How the fields of objects become rows of `count` columns. */
export interface CopiedFields {
  readonly count: number;
  readonly names: readonly string[];
  readonly steps: readonly Write[];
}

/** How values of a type are written. Timestamps are microseconds since the Unix epoch; JSON and decimals are text. */
export const copyWriters = {
  text: (writer, value: string) => writer.text(value),
  timestamp: (writer, value: number) => writer.timestamptz(value),
  float: (writer, value: number) => writer.float8(value),
  int: (writer, value: number) => writer.int4(value),
  bool: (writer, value: boolean) => writer.bool(value),
  json: (writer, value: string) => writer.jsonb(value),
  decimal: (writer, value: string) => writer.numeric(value),
} satisfies Readonly<Record<string, Write>>;

/** Each message of the protocol begins with its type and its length, which counts itself. */
const headOf = (type: string, bytes: number): Buffer => {
  const head = Buffer.from(`${type}0000`);
  head.writeUInt32BE(bytes + 4, 1);
  return head;
};

const release = (chunks: readonly Uint8Array[]): void => {
  for (const { buffer } of chunks)
    if (buffer.byteLength === usualBytes && spare.length < mostSpare) spare.push(Buffer.from(buffer as ArrayBuffer));
    // Otherwise they would wait for a collection of the whole heap.
    else structuredClone(undefined, { transfer: [buffer as ArrayBuffer] });
};

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
