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
/** Bytes that quarantine keeps of a record that is too long. */
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

/**
 * Follows brackets and strings of an array. Only parsing tells whether an element is JSON, so a bad one leaves its
 * neighbours intact.
 */
const trackArray = () => {
  let depth = 0;
  let inString = false;
  let escaped = false;
  return (byte: number): 'content' | 'blank' | 'next' | 'end' => {
    if (inString) {
      if (escaped) escaped = false;
      else if (byte === backslash) escaped = true;
      else if (byte === quote) inString = false;
      return 'content';
    }
    if (isBlank(byte)) return 'blank';
    if (depth === 0 && (byte === comma || byte === closing)) return byte === comma ? 'next' : 'end';
    if (byte === quote) inString = true;
    else if (byte === 0x7b || byte === 0x5b) depth += 1;
    else if ((byte === 0x7d || byte === closing) && depth > 0) depth -= 1;
    return 'content';
  };
};

/** Ends each record at the end of its line. */
const trackLines =
  () =>
  (byte: number): 'content' | 'blank' | 'next' =>
    byte === newline ? 'next' : isBlank(byte) ? 'blank' : 'content';

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const closing = 0x5d;

/**
 * Every record from a position on; memory holds one, or the beginning of one that is longer than `limit`.
 * @param bytes begin at `start`: in an array behind the opening bracket or an element.
 * @throws BrokenArray where the array does not end, or more follows its end.
 */
export async function* splitRecords(bytes: Bytes, start: Position, limit: number): AsyncGenerator<SplitRecord> {
  const { form } = start;
  const track = form === 'array' ? trackArray() : trackLines();
  let { offset, line } = start;
  let [first, length, ended] = [0, 0, false];
  let held: Buffer[] = [];
  const hold = (part: Buffer): void => {
    length += part.length;
    held.push(part);
    if (length > limit) held = [Buffer.from(Buffer.concat(held).subarray(0, keptOfLong))];
  };
  const cut = (next: number): SplitRecord => {
    const record = { bytes: Buffer.concat(held), isWhole: length <= limit, line: first };
    [held, first, length] = [[], 0, 0];
    return { ...record, next: { form, offset: next, line } };
  };
  for await (const chunk of bytes) {
    let from = 0;
    for (let at = 0; at < chunk.length; at += 1) {
      const byte = chunk[at] as number;
      const found = track(byte);
      if (ended && found !== 'blank') throw new BrokenArray(line);
      if (found === 'content' && first === 0) [first, from] = [line, at];
      if (byte === newline) line += 1;
      if (found !== 'next' && found !== 'end') continue;
      if (first > 0) {
        hold(chunk.subarray(from, at));
        yield cut(offset + (form === 'array' ? at : at + 1));
      }
      ended = found === 'end';
    }
    // A copy: the stream may use the chunk again, and a small part must not hold all of it.
    if (first > 0) hold(Buffer.from(chunk.subarray(from)));
    offset += chunk.length;
  }
  if (form === 'array' && !ended) throw new BrokenArray(line);
  if (first > 0) yield cut(offset);
}
