/** Brings the records of a file or stream in, as observations with source `import`. */
import { isUtf8 } from 'node:buffer';
import { access, constants, open, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { pipeline, Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import type { Observation, RejectedRecord } from '../../../schemas/observation.ts';
import { identifyRecord, importObservedAt, type LedgerRow } from '../../calls/fold.ts';
import { terminal } from '../../lib/errors.ts';
import { readRecord } from '../../lib/json-record.ts';
import { parseQuietly, valueAt } from '../../lib/parse-json.ts';
import { readPageBody } from '../../source/list/page-body.ts';
import type { IngestDeps } from '../deps.ts';
import { createPipeline } from '../load/ingest.ts';
import { BrokenArray, type Bytes, headOfForm, peek, type SplitRecord, splitRecords } from './split-records.ts';

interface ImportInput {
  /** A path, or a stream with the name under which its lines are reported. */
  readonly from: string | { readonly name: string; readonly bytes: Bytes };
  /** observed_at of every record, in microseconds; else each record's own time is taken. */
  readonly observedAt?: number;
  /** Path of the records in an answer of the list; none = the answer is an array. */
  readonly records?: string;
}

export interface ImportProgress {
  /** Bytes of the file that were read, packed as they are. */
  readonly bytes: number;
  /** Size of the file; null for a stream. */
  readonly size: number | null;
  readonly records: number;
  /** Records that went to quarantine. */
  readonly refused: number;
  /** Calls that were unknown. */
  readonly added: number;
  /** Calls with a new revision, the unknown ones too. */
  readonly changed: number;
  /** Of these, known calls of which no value changed: only their first sight is earlier. */
  readonly earlier: number;
}

interface ImportOptions {
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: ImportProgress) => void;
  /** Bytes of records that one transaction takes. */
  readonly batchBytes?: number;
  /** Longest record. */
  readonly recordBytes?: number;
}

/** Batches that are folded and loaded at once. */
const lanes = 3;
const batchRecords = 500;
const defaultBatchBytes = 4 * 1024 * 1024;
/** Four times the largest delivery that the receiver takes by default. */
const defaultRecordBytes = 64 * 1024 * 1024;

/**
 * Reads NDJSON, a JSON array or answers of the list in batches of bounded bytes; memory holds a batch, or one answer. The
 * first bytes tell gzip, never the name.
 * Unreadable records go to quarantine under `name:line`. To end an interrupted import, run it again: records that came before change nothing.
 * @throws CallsyncError IMPORT_… if the file is unreadable; earlier records stay in the ledger.
 */
export const importFile = async (deps: IngestDeps, input: ImportInput, options: ImportOptions = {}) => {
  if (input.observedAt !== undefined && input.observedAt > Date.now() * 1000 + deps.clockSkew)
    throw terminal('IMPORT_TIME_AHEAD', 'The time given for the imported records is in the future.');
  const file = await openInput(input.from);
  try {
    return await importOpened(deps, input, file, options);
  } finally {
    file.close();
  }
};

const importOpened = async (deps: IngestDeps, input: ImportInput, file: OpenedInput, options: ImportOptions) => {
  const now = Date.now() * 1000;
  const counts = { records: 0, refused: 0, added: 0, changed: 0, earlier: 0 };
  let bytes = 0;
  const counted = async function* (): Bytes {
    for await (const chunk of file.bytes) {
      bytes += chunk.length;
      yield chunk;
    }
  };
  const progress = (): ImportProgress => ({ bytes, size: file.size, ...counts });

  const failed = new AbortController();
  const lane = async (batches: AsyncIterable<readonly SplitRecord[]>): Promise<void> => {
    const ingesting = createPipeline(deps);
    try {
      for await (const batch of batches) {
        options.signal?.throwIfAborted();
        const read = readBatch(batch, { name: file.name, now, given: input.observedAt, ...deps });
        const folded = await ingesting.take({ ...read, origin: 'import' }).catch((cause: unknown) => {
          failed.abort(cause);
          // Closed first: the other lanes wait for bytes, and the next ones of a stream may never come.
          file.close();
          throw cause;
        });
        counts.records += batch.length;
        counts.refused += folded.rejected;
        counts.added += folded.changed.filter(({ revision }) => revision === 1).length;
        counts.changed += folded.changed.length;
        counts.earlier += folded.changed.filter(isOnlyEarlier).length;
        options.onProgress?.(progress());
      }
    } finally {
      await ingesting.finish();
    }
  };

  try {
    const plain = await unpack(file.name, counted());
    const records = splitRecords(plain, options.recordBytes ?? defaultRecordBytes);
    const opened = openAnswers(records, input.records ?? '');
    const batches = batchesOf(opened, options.batchBytes ?? defaultBatchBytes);
    const ended = await Promise.allSettled(Array.from({ length: lanes }, () => lane(batches)));
    failed.signal.throwIfAborted();
    for (const one of ended) if (one.status === 'rejected') throw one.reason;
  } catch (cause) {
    options.signal?.throwIfAborted();
    throw brokenFile(cause, file.name) ?? cause;
  }
  options.onProgress?.(progress());
  return progress();
};

const isOnlyEarlier = ({ revision, fieldChanges }: LedgerRow): boolean =>
  revision > 1 && Object.values(fieldChanges).every(([since]) => since < revision);

/** Batches of bounded bytes; records before a broken place come too. */
async function* batchesOf(records: AsyncIterable<SplitRecord>, limit: number): AsyncGenerator<readonly SplitRecord[]> {
  let batch: SplitRecord[] = [];
  let size = 0;
  try {
    for await (const record of records) {
      batch.push(record);
      size += record.bytes.length;
      if (size < limit && batch.length < batchRecords) continue;
      yield batch;
      [batch, size] = [[], 0];
    }
  } catch (cause) {
    if (batch.length > 0) yield batch;
    throw cause;
  }
  if (batch.length > 0) yield batch;
}

/** Replaces each saved answer of the list by its records. The first record tells whether a file has answers. */
async function* openAnswers(records: AsyncIterable<SplitRecord>, path: string): AsyncGenerator<SplitRecord> {
  let opens: boolean | undefined = path === '' ? false : undefined;
  for await (const record of records) {
    const value: unknown = opens === false ? undefined : parseQuietly(record.bytes);
    const isAnswer: boolean = Array.isArray(valueAt(value, path)) && 'reason' in identifyRecord(value);
    opens ??= isAnswer;
    const page = isAnswer ? readPageBody(Buffer.from(record.bytes), path) : undefined;
    if (typeof page === 'object')
      for (const raw of [...page.parts(Number.POSITIVE_INFINITY)].flat()) yield { ...record, bytes: raw.bytes() };
    else yield record;
  }
}

/** Files that are no text in UTF-8: first bytes, form, and the command that converts one, if one can. */
const foreignForms: readonly (readonly [first: string, form: string, command?: string])[] = [
  ['\xff\xfe', 'in UTF-16', 'iconv -f UTF-16 -t UTF-8 FILE'],
  ['\xfe\xff', 'in UTF-16', 'iconv -f UTF-16 -t UTF-8 FILE'],
  ['\x28\xb5\x2f\xfd', 'packed by zstd', 'zstd -dc FILE'],
  ['\xfd7zXZ', 'packed by xz', 'xz -dc FILE'],
  ['BZh', 'packed by bzip2', 'bzip2 -dc FILE'],
  ['PK\x03\x04', 'packed by zip', 'unzip -p FILE'],
  ['PAR1', 'in Parquet'],
];

/** Plain bytes. gzip is unpacked as it is read; memory holds a chunk. @throws CallsyncError IMPORT_ENCODING */
const unpack = async (name: string, packed: Bytes): Promise<Bytes> => {
  const { head, rest } = await peek(packed, headOfForm);
  const begins = head.toString('latin1');
  // An error of the source ends the unpacking too.
  if (begins.startsWith('\x1f\x8b'))
    return await unpack(
      name,
      pipeline(Readable.from(rest, { objectMode: false }), createGunzip(), () => undefined),
    );
  const binary = /^[^\n]*\0/.test(begins) ? ['', 'no text'] : [];
  const [, form, command] = foreignForms.find(([first]) => begins.startsWith(first)) ?? binary;
  if (form === undefined) return rest;
  throw terminal('IMPORT_ENCODING', `The file ${name} is ${form}.`, {
    hint:
      command === undefined
        ? 'Import lines of JSON, such as those that callsync export FOLDER writes.'
        : `Convert it on the way: ${command} | callsync import -`,
  });
};

type OpenedInput = Awaited<ReturnType<typeof openInput>>;

const openInput = async (from: ImportInput['from']) => {
  if (typeof from !== 'string')
    return { ...from, size: null, close: () => void (from.bytes as Partial<Readable>).destroy?.() };
  const name = basename(from);
  const size = await checkReadable(from);
  const stream = (await open(from)).createReadStream({ highWaterMark: 256 * 1024 });
  return { name, size, bytes: stream, close: () => void stream.destroy() };
};

/** @returns the size @throws CallsyncError IMPORT_FILE_UNREADABLE */
export const checkReadable = async (file: string): Promise<number> => {
  try {
    const found = await stat(file);
    if (found.isDirectory()) throw Object.assign(new Error('a folder'), { code: 'EISDIR' });
    await access(file, constants.R_OK);
    return found.size;
  } catch (cause) {
    const why = (cause as { code?: string }).code;
    throw terminal('IMPORT_FILE_UNREADABLE', `The file ${file} cannot be read (${why}).`, { cause });
  }
};

/** Undefined if the file did not cause the error. */
const brokenFile = (cause: unknown, name: string): Error | undefined => {
  const came = 'what came before is imported';
  if (cause instanceof BrokenArray)
    return terminal('IMPORT_FILE_BROKEN', `The JSON array in ${name} breaks at line ${cause.line}; ${came}.`, {
      hint: 'Repair or complete the file, then run callsync import FILE.',
      cause,
    });
  const { code } = cause as { code?: unknown };
  if (typeof code !== 'string' || !code.startsWith('Z_')) return undefined;
  return terminal('IMPORT_FILE_BROKEN', `The compressed file ${name} is damaged or cut off; ${came}.`, {
    hint: 'Fetch it again, then run callsync import FILE.',
    cause,
  });
};

/** Source of the time of imported records. */
type ReadRules = Parameters<typeof importObservedAt>[1] & {
  /** File name, as the origin of refused records. */
  readonly name: string;
};

const noTime = 'no time of its own in the past, and none was given for the import';

/** The observations of a batch, and the records that go to quarantine. */
const readBatch = (batch: readonly SplitRecord[], rules: ReadRules) => {
  const observations: Observation[] = [];
  const rejected: RejectedRecord[] = [];
  const reject = (record: SplitRecord, reason: string): RejectedRecord => ({
    reason,
    body: record.bytes,
    source: 'import',
    origin: `${rules.name}:${record.line}`,
    receivedAt: new Date(rules.now / 1000),
  });
  for (const record of batch) {
    const read = record.isWhole
      ? readImported(record.bytes, rules)
      : { reason: 'too long; only its beginning is kept' };
    if ('reason' in read) rejected.push(reject(record, read.reason));
    else observations.push(read.observation);
  }
  return { observations, rejected };
};

/** One record's bytes → observation, or the reason why it is none. */
export const readImported = (
  bytes: Buffer,
  rules: Omit<ReadRules, 'name'>,
): { readonly observation: Observation } | { readonly reason: string } => {
  const { value } = readRecord(bytes);
  if (value === undefined) return { reason: 'not JSON' };
  if (!isUtf8(bytes)) return { reason: 'not valid UTF-8' };
  const identified = identifyRecord(value);
  if ('reason' in identified) return identified;
  const observedAt = importObservedAt(identified.record, rules);
  if (observedAt === undefined) return { reason: noTime };
  const { callId, record: fields } = identified;
  return { observation: { callId, source: 'import', observedAt, fields } };
};
