/** The records of one list response: small ones parsed at once, of larger ones only the small fields. */
import { isUtf8 } from 'node:buffer';
import { parseQuietly, valueAt } from '../../lib/parse-json.ts';
import { readRecord } from '../../lib/scan-value.ts';
import { MalformedList, type RecordSpan, scanRecords } from './record-scan.ts';

export interface RawRecord {
  /** The parsed record; undefined when its bytes are not JSON. */
  readonly value: unknown;
  /** The fields of `value` that are parsed only when they are read. */
  readonly encoded?: ReadonlyMap<string, Buffer>;
  /** Exact bytes as they came; looked up when asked for. */
  bytes(): Buffer;
}

export interface PageBody {
  /** The document; whether its records are still in it is left open. */
  readonly envelope: unknown;
  readonly count: number;
  /** The records in parts of about `maxBytes` of JSON. */
  parts(maxBytes: number): Iterable<readonly RawRecord[]>;
  /** Lets go of the bytes of a large page: a suspended loop may hold its last records while it waits for the next. */
  dispose(): void;
}

/** Up to this size a whole document is parsed in one go. */
const wholeBytes = 32 * 1024;
/** Records of a larger page are copied, so that none of them keeps the whole page in memory. */
const largeBytes = 8 * 1024 * 1024;

/** @param path dotted path of the array of records; null there counts as no records. */
export const readPageBody = (body: Buffer, path: string): PageBody | 'malformed' | 'no_array' => {
  const parsed = body.length <= wholeBytes ? parseQuietly(body) : undefined;
  if (parsed !== undefined) {
    const records = valueAt(parsed, path);
    if (Array.isArray(records)) return wholePage(body, path, parsed, records);
    return records === null && path !== '' ? emptyPage(parsed) : 'no_array';
  }
  try {
    const scanned = scanRecords(body, path);
    if (scanned !== undefined) return scannedPage(body, scanned.envelope, scanned.spans);
    const envelope = parseQuietly(body);
    return path !== '' && valueAt(envelope, path) === null ? emptyPage(envelope) : 'no_array';
  } catch (error) {
    if (error instanceof MalformedList) return 'malformed';
    throw error;
  }
};

/** A page without records, such as the answer 204. */
export const emptyPage = (envelope: unknown): PageBody => ({
  envelope,
  count: 0,
  parts: () => [],
  dispose: () => undefined,
});

const wholePage = (body: Buffer, path: string, envelope: unknown, records: readonly unknown[]): PageBody => {
  let spans: readonly RecordSpan[] | undefined;
  const bytesOf = (index: number): Buffer => {
    spans ??= scanRecords(body, path)?.spans ?? [];
    const [from, to] = spans[index] ?? [0, 0];
    return body.subarray(from, to);
  };
  return {
    envelope,
    count: records.length,
    dispose: () => undefined,
    *parts(maxBytes) {
      const perPart = Math.max(1, Math.floor((records.length * maxBytes) / Math.max(1, body.length)));
      for (let from = 0; from < records.length; from += perPart)
        yield records
          .slice(from, from + perPart)
          .map((value, index) => ({ value, bytes: () => bytesOf(from + index) }));
    },
  };
};

/** Size of the parts of a large page. Values, text and rows of a part take several times its size in memory. */
const scannedPartBytes = 2 * 1024 * 1024;

const scannedPage = (body: Buffer, envelope: unknown, spans: readonly RecordSpan[]): PageBody => {
  let held: Buffer | undefined = body;
  const isLarge = body.length > largeBytes;
  const isText = isUtf8(body);
  const bytesAt = (from: number, to: number): Buffer => held?.subarray(from, to) ?? Buffer.alloc(0);
  return {
    envelope,
    count: spans.length,
    dispose: () => {
      held = undefined;
    },
    *parts(maxBytes) {
      let part: RawRecord[] = [];
      let size = 0;
      const partBytes = isLarge ? Math.min(maxBytes, scannedPartBytes) : maxBytes;
      for (const span of spans) {
        const [from, to, fields = []] = span;
        if (part.length > 0 && size + to - from > partBytes) {
          yield part;
          part = [];
          size = 0;
        }
        const bytes = bytesAt(from, to);
        const read = readRecord(isLarge ? Buffer.from(bytes) : bytes, isText ? fields : [], from);
        part.push({ ...read, bytes: () => bytesAt(from, to) });
        size += to - from;
      }
      if (part.length > 0) yield part;
    },
  };
};
