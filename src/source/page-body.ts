/** The records of one list response: small ones parsed at once, large ones part by part. */
import { valueAt } from './json-path.ts';
import { MalformedList, scanRecords } from './record-scan.ts';

export interface RawRecord {
  /** The parsed record; undefined when its bytes are not JSON. */
  readonly value: unknown;
  /** Exact bytes as they came; looked up when asked for. */
  bytes(): Buffer;
}

export interface PageBody {
  /** The document; whether its records are still in it is left open. */
  readonly envelope: unknown;
  readonly count: number;
  /** The records in parts of about `maxBytes` of JSON; large pages are parsed part by part. */
  parts(maxBytes: number): Iterable<readonly RawRecord[]>;
  /** Lets go of the bytes of a large page: a suspended loop may hold its last records while it waits for the next. */
  dispose(): void;
}

/** Up to this size a whole document is parsed in one go, which is faster; beyond it, memory comes first. */
const wholeBytes = 16 * 1024 * 1024;

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

export const emptyPage = (envelope: unknown): PageBody => ({
  envelope,
  count: 0,
  parts: () => [],
  dispose: () => undefined,
});

const wholePage = (body: Buffer, path: string, envelope: unknown, records: readonly unknown[]): PageBody => {
  let spans: readonly (readonly [number, number])[] | undefined;
  const bytesOf = (index: number): Buffer => {
    spans ??= scanRecords(body, path)?.spans ?? [];
    return body.subarray(...(spans[index] ?? [0, 0]));
  };
  return {
    envelope,
    count: records.length,
    dispose: () => undefined,
    *parts(maxBytes) {
      const perPart = Math.max(1, Math.floor((records.length * maxBytes) / Math.max(1, body.length)));
      for (let from = 0; from < records.length; from += perPart) {
        yield records
          .slice(from, from + perPart)
          .map((value, index) => ({ value, bytes: () => bytesOf(from + index) }));
      }
    },
  };
};

/** A part of a large page: what it becomes on its way (values, text, rows) is several times its size. */
const scannedPartBytes = 2 * 1024 * 1024;

const scannedPage = (body: Buffer, envelope: unknown, spans: readonly (readonly [number, number])[]): PageBody => {
  let held: Buffer | undefined = body;
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
      for (const [from, to] of spans) {
        if (part.length > 0 && size + to - from > Math.min(maxBytes, scannedPartBytes)) {
          yield part;
          part = [];
          size = 0;
        }
        part.push({ value: parseQuietly(bytesAt(from, to)), bytes: () => bytesAt(from, to) });
        size += to - from;
      }
      if (part.length > 0) yield part;
    },
  };
};

/** The value of JSON bytes, a byte order mark aside; undefined when they are not JSON. */
export const parseQuietly = (bytes: Buffer): unknown => {
  const text = bytes.toString('utf8');
  try {
    return JSON.parse(text.charCodeAt(0) === 0xfeff ? text.slice(1) : text);
  } catch {
    return undefined;
  }
};
