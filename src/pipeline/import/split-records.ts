/** Cuts the bytes of an import into records: one a line (NDJSON), objects over several lines, or the elements of one JSON array. */
import * as sign from '../../lib/json-signs.ts';

export type Bytes = AsyncIterable<Buffer>;
type Form = 'lines' | 'objects' | 'array';

export interface SplitRecord {
  /** Bytes of the record; only the first ones if the record is longer than the limit. */
  readonly bytes: Buffer;
  readonly isWhole: boolean;
  /** Line of its first character, from 1. */
  readonly line: number;
}

/** The array neither continues nor ends as an array does. The records before were cut out. */
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

/** Bytes from which the form of a file is told. */
export const headOfForm = 512;
const byteOrderMark = [0xef, 0xbb, 0xbf];
const braceAlone = /^\s*\{[ \t\r]*\n/;
/** Bytes that quarantine keeps of a record that is too long. */
const keptOfLong = 64 * 1024;
const newline = 0x0a;

/** Place of a byte: in a record, blank, behind a record, or behind all of them. */
type Track = (byte: number) => 'content' | 'blank' | 'next' | 'end';

/** By how much a byte outside strings changes the depth. */
const steps = new Int8Array(256);
steps[sign.openBrace] = steps[sign.openBracket] = 1;
steps[sign.closeBrace] = steps[sign.closeBracket] = -1;

/** Bytes that end a record at depth 0. */
const ends = {
  objects: { [newline]: 'next' },
  array: { [sign.comma]: 'next', [sign.closeBracket]: 'end' },
} as const satisfies Record<string, Record<number, ReturnType<Track>>>;

/**
 * Follows brackets and strings of an array, or of objects that end with a line. Only parsing tells whether an element is
 * JSON, so a bad one leaves its neighbours intact.
 */
const trackBrackets = (endsAt: Readonly<Record<number, ReturnType<Track>>>): Track => {
  let depth = 0;
  let inString = false;
  let escaped = false;
  return (byte) => {
    if (inString) {
      inString = escaped || byte !== sign.quote;
      escaped = !escaped && byte === sign.backslash;
      return 'content';
    }
    const end = depth === 0 ? endsAt[byte] : undefined;
    if (end !== undefined) return end;
    if (sign.isBlank(byte)) return 'blank';
    inString = byte === sign.quote;
    depth = Math.max(0, depth + (steps[byte] as number));
    return 'content';
  };
};

/** Ends each record at the end of its line. */
const trackLines: Track = (byte) => (byte === newline ? 'next' : sign.isBlank(byte) ? 'blank' : 'content');

const endOfLine = (chunk: Buffer, from: number): number => {
  const end = chunk.indexOf(newline, from);
  return end === -1 ? chunk.length : end;
};

const trackOf = (form: Form): Track => (form === 'lines' ? trackLines : trackBrackets(ends[form]));

/** The bytes of the record that is being cut, or only the first ones if it is longer than `limit`. */
class Held {
  /** Line of its first character; 0 = none has begun. */
  line = 0;
  readonly #limit: number;
  #length = 0;
  #parts: Buffer[] = [];

  constructor(limit: number) {
    this.#limit = limit;
  }

  add(part: Buffer): void {
    this.#length += part.length;
    this.#parts.push(part);
    if (this.#length > this.#limit) this.#parts = [Buffer.from(Buffer.concat(this.#parts).subarray(0, keptOfLong))];
  }

  /** Empty from then on. */
  take(): SplitRecord {
    const record = { bytes: Buffer.concat(this.#parts), isWhole: this.#length <= this.#limit, line: this.line };
    [this.#parts, this.#length, this.line] = [[], 0, 0];
    return record;
  }
}

/**
 * Every record; memory holds one, or the beginning of one that is longer than `limit`. An array starts with its
 * bracket, objects over several lines with a brace alone, everything else is read line by line.
 * @throws BrokenArray where the array does not end, or more follows its end.
 */
export async function* splitRecords(given: Bytes, limit: number): AsyncGenerator<SplitRecord> {
  const { head, rest } = await peek(given, headOfForm);
  const held = new Held(limit);
  let form = 'lines' as Form;
  let track: Track | undefined;
  let [offset, line, ended] = [0, 1, false];
  /** Tells the form by the first byte that is neither blank nor a byte order mark. */
  const begin = (byte: number, place: number): ReturnType<Track> => {
    if (sign.isBlank(byte) || byte === byteOrderMark[place]) return 'blank';
    form = byte === sign.openBracket ? 'array' : braceAlone.test(head.toString()) ? 'objects' : 'lines';
    track = trackOf(form);
    return form === 'array' ? 'blank' : track(byte);
  };
  const take = function* (chunk: Buffer): Generator<SplitRecord> {
    let from = 0;
    for (let at = 0; at < chunk.length; at += 1) {
      const byte = chunk[at] as number;
      const found = track === undefined ? begin(byte, offset + at) : track(byte);
      if (ended && found !== 'blank') throw new BrokenArray(line);
      if (found === 'content' && held.line === 0) [held.line, from] = [line, at];
      if (found === 'content' && form === 'lines') {
        at = endOfLine(chunk, at) - 1;
        continue;
      }
      if (byte === newline) line += 1;
      if (found !== 'next' && found !== 'end') continue;
      if (held.line > 0) {
        held.add(chunk.subarray(from, at));
        yield held.take();
      }
      ended = found === 'end';
    }
    // A copy: the stream may use the chunk again, and a small part must not hold all of it.
    if (held.line > 0) held.add(Buffer.from(chunk.subarray(from)));
    offset += chunk.length;
  };
  for await (const chunk of rest) yield* take(chunk);
  if (form === 'array' && !ended) throw new BrokenArray(line);
  if (held.line > 0) yield held.take();
}
