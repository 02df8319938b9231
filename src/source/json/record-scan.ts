/**
 * Finds the records inside the bytes of a list response without building the whole document, to bound memory. A
 * broken record leaves its neighbours intact, and a refused one keeps its exact bytes.
 */

import { pathKeys, valueAt } from '../../lib/parse-json.ts';
import { type FieldSpan, scanFields } from '../../lib/scan-value.ts';

interface ScannedList {
  /** The document with its records left out. */
  readonly envelope: unknown;
  readonly spans: readonly RecordSpan[];
}

/** Start and end of a record; its fields where it is an object and valid JSON. */
export type RecordSpan = readonly [from: number, to: number, fields?: readonly FieldSpan[]];

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const colon = 0x3a;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;

export class MalformedList extends Error {}

/**
 * @param path dotted path of the array of records; empty = the document itself.
 * @returns undefined when there is no array at the path.
 * @throws MalformedList when the bytes are not JSON.
 */
export const scanRecords = (bytes: Buffer, path: string): ScannedList | undefined => {
  const start = skipBlank(bytes, bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0);
  if (start >= bytes.length) throw new MalformedList('empty');
  const first = locate(bytes, start, pathKeys(path), 'first');
  const found = first === undefined ? undefined : scanArray(bytes, start, first, path);
  if (found !== undefined) return found;
  const last = locate(bytes, start, pathKeys(path), 'last');
  if (last !== undefined && last !== first) return scanArray(bytes, start, last, path);
  parse(bytes, start, bytes.length);
  return undefined;
};

/** Stands for the records in the document around them. */
const placeholder = '\u0000records';

/** Undefined if a later repetition of a key replaces the array at this offset. */
const scanArray = (bytes: Buffer, start: number, array: number, path: string): ScannedList | undefined => {
  const spans: RecordSpan[] = [];
  let at = skipBlank(bytes, array + 1);
  if (bytes[at] !== closeBracket) {
    for (;;) {
      const span = scanRecord(bytes, at);
      spans.push(span);
      const end = span[1];
      at = skipBlank(bytes, end);
      if (bytes[at] === closeBracket) break;
      if (bytes[at] !== comma) throw new MalformedList('records are not separated by commas');
      at = skipBlank(bytes, at + 1);
    }
  }
  const before = bytes.toString('utf8', start, array);
  const after = bytes.toString('utf8', at + 1);
  if (valueAt(parseText(before + JSON.stringify(placeholder) + after), path) !== placeholder) return undefined;
  return { envelope: parseText(`${before}[]${after}`), spans };
};

/** Skips broken content by its brackets, so that its neighbours stay intact. */
const scanRecord = (bytes: Buffer, from: number): RecordSpan => {
  const found = scanFields(bytes, from);
  return found === undefined ? [from, skipValue(bytes, from)] : [from, found.to, found.fields];
};

const parse = (bytes: Buffer, from: number, to: number): unknown => parseText(bytes.toString('utf8', from, to));

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
    const name: unknown = parse(bytes, at, end);
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
  for (;;) {
    const byte = bytes[at];
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return at;
    at++;
  }
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
        if (depth === 0) {
          if (at === from) throw new MalformedList('a value is missing');
          return at;
        }
        at++;
        if (--depth === 0) return at;
        break;
      case comma:
        if (depth === 0) {
          if (at === from) throw new MalformedList('a value is missing');
          return at;
        }
        at++;
        break;
      default:
        at++;
    }
  }
  throw new MalformedList('the response ends in the middle of a value');
};
