/** The records of one list response; of large ones only the small fields are parsed at once. */
import { isUtf8 } from 'node:buffer';
import { notScanned, readRecord, scanFields } from '../../lib/json-record.ts';
import * as sign from '../../lib/json-signs.ts';
import { keepNumbers, parseQuietly, pathKeys, valueAt } from '../../lib/parse-json.ts';

// Bound here: a look into another module for each byte takes as long as the byte.
const { quote, backslash, comma, colon, openBracket, closeBracket, openBrace, closeBrace, isBlank } = sign;

export interface RawRecord {
  /** As `readRecord` has it; undefined when its bytes are not JSON. */
  readonly value: unknown;
  /** Exact bytes as they came; looked up when asked for. */
  bytes(): Buffer;
}

export interface PageBody {
  /** The document; whether its records are still in it is left open. */
  readonly envelope: unknown;
  /** Bytes that the page came in. */
  readonly size: number;
  /** Records on the page, the overlap with the page before included. */
  readonly count: number;
  /** The records in parts of about `maxBytes` of JSON. */
  parts(maxBytes: number): Iterable<readonly RawRecord[]>;
  /** That of the bytes, where nothing else has a part of it. Old by now, it would wait for a collection of the whole heap. */
  readonly memory?: ArrayBuffer | undefined;
  /** Whether the records that were handed on have copies of their bytes. */
  readonly isCopied: boolean;
}

/** The memory of a smaller body may be shared. */
const sharedBytes = 32 * 1024;
/** Records of a larger page are copied, so that none of them keeps the whole page in memory. */
const largeBytes = 8 * 1024 * 1024;

/** @param path dotted path of the array of records; null, {} and "" there count as no records. */
export const readPageBody = (body: Buffer, path: string): PageBody | 'malformed' | 'no_array' => {
  const scanned = scanPage(body, path);
  if (scanned === 'malformed') return scanned;
  if (scanned !== undefined) return scannedPage(body, scanned);
  const envelope = parseQuietly(body);
  const isNothing = path !== '' && ['null', '{}', '""'].includes(JSON.stringify(valueAt(envelope, path)));
  return isNothing ? emptyPage(envelope, body.length) : 'no_array';
};

/** A page without records, such as the answer 204. */
export const emptyPage = (envelope: unknown, size = 0): PageBody => ({
  envelope,
  size,
  count: 0,
  parts: () => [],
  isCopied: false,
});

/** Size of the parts of a large page. Values, text and rows of a part take several times its size in memory. */
const scannedPartBytes = 2 * 1024 * 1024;

/** A double may not hold the last digits of such a whole number: as a cursor it would lead to another place. */
const isLong = (number: string): boolean => /^-?\d{16,}$/.test(number);

const scannedPage = (body: Buffer, { envelope, spans, isText }: Exclude<ScannedPage, string | undefined>): PageBody => {
  const size = body.length;
  const isLarge = size > largeBytes;
  return {
    envelope: JSON.parse(keepNumbers(envelope, /\d{16}/, isLong)),
    size,
    count: spans.length,
    memory: size > sharedBytes ? (body.buffer as ArrayBuffer) : undefined,
    isCopied: isLarge,
    *parts(maxBytes) {
      let part: RawRecord[] = [];
      let size = 0;
      const partBytes = isLarge ? Math.min(maxBytes, scannedPartBytes) : maxBytes;
      for (const [from, to, fields] of spans) {
        if (part.length > 0 && size + to - from > partBytes) {
          yield part;
          part = [];
          size = 0;
        }
        const bytes = body.subarray(from, to);
        const { value } = readRecord(isLarge ? Buffer.from(bytes) : bytes, isText ? fields : notScanned, from);
        part.push({ value, bytes: () => body.subarray(from, to) });
        size += to - from;
      }
      if (part.length > 0) yield part;
    },
  };
};

// Finds the records inside the bytes of a list response without building the whole document, to bound memory. A
// broken record leaves its neighbours intact, and a refused one keeps its exact bytes.

/** Start and end of a record, and what its fields are like. */
type RecordSpan = readonly [from: number, to: number, fields: typeof notScanned];

class MalformedList extends Error {}

/** `envelope` = the JSON of the document without its records. Undefined when there is no array at the path. */
type ScannedPage = (ReturnType<typeof scanArray> & { readonly isText: boolean }) | 'malformed' | undefined;

const scanPage = (bytes: Buffer, path: string): ScannedPage => {
  try {
    const scanned = scanRecords(bytes, path);
    return scanned && { ...scanned, isText: isUtf8(bytes) };
  } catch (error) {
    if (error instanceof MalformedList) return 'malformed';
    throw error;
  }
};

/**
 * @param path dotted path of the array of records; empty = the document itself.
 * @returns undefined when there is no array at the path.
 * @throws MalformedList when the bytes are not JSON.
 */
const scanRecords = (bytes: Buffer, path: string) => {
  const start = skipBlank(bytes, bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0);
  if (start >= bytes.length) throw new MalformedList('empty');
  const first = locate(bytes, start, pathKeys(path), 'first');
  const found = first === undefined ? undefined : scanArray(bytes, start, first, path);
  if (found !== undefined) return found;
  const last = locate(bytes, start, pathKeys(path), 'last');
  if (last !== undefined && last !== first) return scanArray(bytes, start, last, path);
  parseText(bytes.toString('utf8', start));
  return undefined;
};

/** Stands for the records in the document around them. */
const placeholder = '\u0000records';

/** Undefined if a later repetition of a key replaces the array at this offset. */
const scanArray = (bytes: Buffer, start: number, array: number, path: string) => {
  const spans: RecordSpan[] = [];
  let at = skipBlank(bytes, array + 1);
  // Behind a comma there must be a record.
  while (bytes[at] !== closeBracket || spans.length > 0) {
    // Broken content is skipped by its brackets, so that its neighbours stay intact.
    const { to, sum } = scanFields(bytes, at) ?? { to: skipValue(bytes, at), sum: notScanned };
    spans.push([at, to, sum]);
    at = skipBlank(bytes, to);
    if (bytes[at] === closeBracket) break;
    if (bytes[at] !== comma) throw new MalformedList('records are not separated by commas');
    at = skipBlank(bytes, at + 1);
  }
  const before = bytes.toString('utf8', start, array);
  const after = bytes.toString('utf8', at + 1);
  if (valueAt(parseText(before + JSON.stringify(placeholder) + after), path) !== placeholder) return undefined;
  return { envelope: `${before}[]${after}`, spans };
};

const parseText = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    throw new MalformedList('not JSON');
  }
};

/** Offset of the array's opening bracket; which one, where keys are repeated. */
const locate = (bytes: Buffer, start: number, keys: readonly string[], which: 'first' | 'last'): number | undefined => {
  let at = start;
  for (const key of keys) {
    if (bytes[at] !== openBrace) return undefined;
    const found = findKey(bytes, at, key, which);
    if (found === undefined) return undefined;
    at = found;
  }
  return bytes[at] === openBracket ? at : undefined;
};

/** Offset of the value of a key; of a repeated key, the last one counts, as in JSON.parse. */
const findKey = (bytes: Buffer, object: number, key: string, which: 'first' | 'last'): number | undefined => {
  let found: number | undefined;
  let at = skipBlank(bytes, object + 1);
  while (bytes[at] === quote) {
    const end = skipString(bytes, at);
    const name = parseText(bytes.toString('utf8', at, end));
    at = skipBlank(bytes, end);
    if (bytes[at] !== colon) throw new MalformedList('a key without a value');
    at = skipBlank(bytes, at + 1);
    if (name === key) found = at;
    if (found !== undefined && which === 'first') return found;
    at = skipBlank(bytes, skipValue(bytes, at));
    if (bytes[at] !== comma) break;
    at = skipBlank(bytes, at + 1);
  }
  if (bytes[at] !== closeBrace) throw new MalformedList('an object does not end');
  return found;
};

const skipBlank = (bytes: Buffer, from: number): number => {
  let at = from;
  while (isBlank(bytes[at])) at++;
  return at;
};

/** Offset behind the string that starts at `from`. */
const skipString = (bytes: Buffer, from: number): number => {
  let at = from + 1;
  for (;;) {
    const end = bytes.indexOf(quote, at);
    if (end < 0) throw new MalformedList('a string does not end');
    let slashes = 0;
    while (bytes[end - 1 - slashes] === backslash) slashes++;
    if (slashes % 2 === 0) return end + 1;
    at = end + 1;
  }
};

/** Offset behind the value that starts at `from`: by brackets and strings only, its inside is checked when parsed. */
const skipValue = (bytes: Buffer, from: number): number => {
  let depth = 0;
  let at = from;
  while (at < bytes.length) {
    switch (bytes[at]) {
      case quote:
        at = skipString(bytes, at);
        if (depth === 0) return at;
        break;
      case openBrace:
      case openBracket:
        depth++;
        at++;
        break;
      case closeBrace:
      case closeBracket:
      case comma:
        if (depth === 0) {
          if (at === from) throw new MalformedList('a value is missing');
          return at;
        }
        if (bytes[at] !== comma) depth--;
        at++;
        if (depth === 0) return at;
        break;
      default:
        at++;
    }
  }
  throw new MalformedList('the response ends in the middle of a value');
};
