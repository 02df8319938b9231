/** Cuts the bytes of an import into records: one a line (NDJSON), or the elements of one JSON array. */
export type Bytes = AsyncIterable<Buffer>;

type Form = 'lines' | 'array';

/** A position between two records, from which reading can resume. */
export interface Position {
  readonly form: Form;
  /** Plain bytes before it. */
  readonly offset: number;
  /** Number of the line it is on, from 1. */
  readonly line: number;
}

export interface SplitRecord {
  /** Its bytes; only their beginning when it is longer than the limit. */
  readonly bytes: Buffer;
  readonly isWhole: boolean;
  /** Line of its first character, from 1. */
  readonly line: number;
  /** Where to go on after it. */
  readonly next: Position;
}

/** The array does not go on or end as an array does; the records before were cut. */
export class BrokenArray extends Error {
  readonly line: number;
  constructor(line: number) {
    super(`broken array at line ${line}`);
    this.line = line;
  }
}

/** The first `count` bytes (fewer at the end) and a stream that still begins with them. */
export const peek = async (bytes: Bytes, count: number): Promise<{ readonly head: Buffer; readonly rest: Bytes }> => {
  const iterator = bytes[Symbol.asyncIterator]();
  const chunks: Buffer[] = [];
  for (let held = 0; held < count; ) {
    const { value, done } = await iterator.next();
    if (done === true) break;
    chunks.push(value);
    held += value.length;
  }
  const rest = async function* (): AsyncGenerator<Buffer> {
    try {
      yield* chunks;
      yield* { [Symbol.asyncIterator]: () => iterator };
    } finally {
      await iterator.return?.();
    }
  };
  return { head: Buffer.concat(chunks).subarray(0, count), rest: rest() };
};

const byteOrderMark = Buffer.from([0xef, 0xbb, 0xbf]);
/** What is kept of a record that is too long. */
const keptOfLong = 64 * 1024;
const newline = 0x0a;

const isBlank = (byte: number): boolean => byte === 0x20 || byte === 0x09 || byte === 0x0a || byte === 0x0d;

/** Looks at the beginning: an array starts with its bracket, everything else is read line by line. */
export const findForm = async (bytes: Bytes): Promise<{ readonly start: Position; readonly rest: Bytes }> => {
  const { head, rest } = await peek(bytes, 64 * 1024);
  let at = head.subarray(0, 3).equals(byteOrderMark) ? 3 : 0;
  const mark = at;
  let line = 1;
  while (at < head.length && isBlank(head[at] as number)) {
    if (head[at] === newline) line += 1;
    at += 1;
  }
  const start: Position =
    head[at] === 0x5b ? { form: 'array', offset: at + 1, line } : { form: 'lines', offset: mark, line: 1 };
  return { start, rest };
};

/** The bytes of the record at hand, at most `limit` of them. */
class Held {
  private chunks: Buffer[] = [];
  private readonly limit: number;
  private kept = 0;
  length = 0;

  constructor(limit: number) {
    this.limit = limit;
  }

  add(part: Buffer): void {
    if (part.length === 0) return;
    this.length += part.length;
    if (this.length <= this.limit) {
      this.chunks.push(part);
      this.kept += part.length;
    } else if (this.kept !== keptOfLong) {
      const beginning = Buffer.concat([...this.chunks, part]).subarray(0, keptOfLong);
      this.chunks = [Buffer.from(beginning)];
      this.kept = keptOfLong;
    }
  }

  take(): { readonly bytes: Buffer; readonly isWhole: boolean } {
    const isWhole = this.length <= this.limit;
    const bytes = this.chunks.length === 1 ? (this.chunks[0] as Buffer) : Buffer.concat(this.chunks);
    this.chunks = [];
    this.kept = 0;
    this.length = 0;
    return { bytes, isWhole };
  }
}

const hasContent = (bytes: Buffer): boolean => {
  for (const byte of bytes) if (!isBlank(byte)) return true;
  return false;
};

/** @param bytes begin at `start`. */
async function* splitLines(bytes: Bytes, start: Position, limit: number): AsyncGenerator<SplitRecord> {
  const held = new Held(limit);
  let { offset, line } = start;
  const cut = (): SplitRecord | undefined => {
    const of = line;
    line += 1;
    const record = held.take();
    if (!hasContent(record.bytes)) return undefined;
    return { ...record, line: of, next: { form: 'lines', offset, line } };
  };
  for await (const chunk of bytes) {
    let from = 0;
    for (;;) {
      const end = chunk.indexOf(newline, from);
      if (end < 0) break;
      held.add(chunk.subarray(from, end));
      offset += end + 1 - from;
      from = end + 1;
      const record = cut();
      if (record !== undefined) yield record;
    }
    // A copy: the stream may use the chunk again, and a small part must not hold all of it.
    const rest = Buffer.from(chunk.subarray(from));
    held.add(rest);
    offset += rest.length;
  }
  const last = cut();
  if (last !== undefined) yield last;
}

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;

/**
 * Elements by brackets and strings only: whether one is JSON is seen when it is parsed, so that a bad one does not
 * take its neighbours along.
 * @param bytes begin at `start`, behind the opening bracket or an element.
 * @throws BrokenArray where the array does not end, or more follows its end.
 */
async function* splitArray(bytes: Bytes, start: Position, limit: number): AsyncGenerator<SplitRecord> {
  const held = new Held(limit);
  let { offset, line } = start;
  let first = line;
  let depth = 0;
  let inString = false;
  let escaped = false;
  let started = false;
  let ended = false;
  for await (const chunk of bytes) {
    let from = 0;
    for (let at = 0; at < chunk.length; at += 1) {
      const byte = chunk[at] as number;
      if (byte === newline) line += 1;
      if (inString) {
        if (escaped) escaped = false;
        else if (byte === backslash) escaped = true;
        else if (byte === quote) inString = false;
        continue;
      }
      if (isBlank(byte)) continue;
      if (ended) throw new BrokenArray(line);
      if (depth === 0 && (byte === comma || byte === 0x5d)) {
        held.add(chunk.subarray(from, at));
        const next: Position = { form: 'array', offset: offset + at, line };
        const record = held.take();
        if (started) yield { ...record, line: first, next };
        from = at + 1;
        started = false;
        ended = byte !== comma;
        continue;
      }
      if (!started) {
        started = true;
        first = line;
        from = at;
        held.take();
      }
      if (byte === quote) inString = true;
      else if (byte === 0x7b || byte === 0x5b) depth += 1;
      else if ((byte === 0x7d || byte === 0x5d) && depth > 0) depth -= 1;
    }
    if (started) held.add(Buffer.from(chunk.subarray(from)));
    offset += chunk.length;
  }
  if (!ended) throw new BrokenArray(line);
}

/** Every record from a position on. */
export const splitRecords = (bytes: Bytes, start: Position, limit: number): AsyncGenerator<SplitRecord> =>
  start.form === 'lines' ? splitLines(bytes, start, limit) : splitArray(bytes, start, limit);
