/** Brings the records of a file or stream in, as observations with source `import`. */
import { hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { pipeline, Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import type { Observation, RejectedRecord } from '../../../schemas/observation.ts';
import { identifyRecord, importObservedAt } from '../../calls/fold.ts';
import { terminal } from '../../lib/errors.ts';
import { readRecord } from '../../lib/json-record.ts';
import { parseQuietly, valueAt } from '../../lib/parse-json.ts';
import { readPageBody } from '../../source/list/page-body.ts';
import { readMeta, writeMeta } from '../../store/meta.ts';
import type { IngestDeps } from '../deps.ts';
import { createPipeline } from '../load/ingest.ts';
import {
  BrokenArray,
  type Bytes,
  beginning,
  headOfForm,
  type Position,
  peek,
  type SplitRecord,
  splitRecords,
} from './split-records.ts';

interface ImportInput {
  /** A path, or a stream with the name under which its lines are reported. Only the import of a file can be resumed. */
  readonly from: string | { readonly name: string; readonly bytes: Bytes };
  /** observed_at of every record, in microseconds; else each record's own time is taken. */
  readonly observedAt?: number;
  /** Begin again, although an earlier import has already read part of the file. */
  readonly restart?: boolean;
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
  /** Calls whose document changed. */
  readonly changed: number;
}

/** Kept in `meta` for a file. Records before the position are in the ledger. */
type ImportState = Position & Pick<ImportProgress, 'records' | 'refused' | 'changed'> & { readonly done: boolean };

const untouched: ImportState = { ...beginning, records: 0, refused: 0, changed: 0, done: false };

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
const headBytes = 64 * 1024;
const batchRecords = 500;
const defaultBatchBytes = 4 * 1024 * 1024;
/** Four times the largest delivery that the receiver takes by default. */
const defaultRecordBytes = 64 * 1024 * 1024;

/**
 * Reads NDJSON, a JSON array or answers of the list in batches of bounded bytes; memory holds a batch, or one answer. The
 * first bytes tell gzip, never the name.
 * Unreadable records go to quarantine under `name:line`. An interrupted import resumes.
 * @throws CallsyncError IMPORT_… if the file is unreadable; earlier records stay in the ledger.
 */
export const importFile = async (deps: IngestDeps, input: ImportInput, options: ImportOptions = {}) => {
  if (input.observedAt !== undefined && input.observedAt > Date.now() * 1000 + deps.clockSkew)
    throw terminal('IMPORT_TIME_AHEAD', 'The time given for the imported records is in the future.', {
      hint: 'Give the time at which the file was written: callsync import FILE --observed-at TIME.',
    });
  const file = await openInput(input.from);
  try {
    return await importOpened(deps, input, file, options);
  } finally {
    file.close();
  }
};

/**
 * `alreadyDone` = true when the file had been imported before, and nothing was read.
 */
const importOpened = async (deps: IngestDeps, input: ImportInput, file: OpenedInput, options: ImportOptions) => {
  const now = Date.now() * 1000;
  const mayResume = file.key !== undefined && input.restart !== true;
  const earlier = mayResume ? await readMeta<ImportState>(deps.store, file.key as string) : undefined;
  let state = earlier ?? untouched;
  let bytes = 0;
  const counted = async function* (): Bytes {
    for await (const chunk of file.bytes) {
      bytes += chunk.length;
      yield chunk;
    }
  };
  const progress = (): ImportProgress => {
    const { records, refused, changed } = state;
    return { bytes, size: file.size, records, refused, changed };
  };
  if (state.done) return { ...progress(), bytes: file.size ?? 0, alreadyDone: true };
  const remember = async (news: Partial<ImportState>): Promise<void> => {
    state = { ...state, ...news };
    if (file.key !== undefined) await writeMeta(deps.store, file.key, state);
  };

  // Batches are recorded in their order, because an interrupted import continues behind the last recorded one.
  let recorded: Promise<void> = Promise.resolve();
  const lane = async (batches: AsyncIterable<readonly SplitRecord[]>): Promise<void> => {
    const ingesting = createPipeline(deps);
    try {
      for await (const batch of batches) {
        options.signal?.throwIfAborted();
        const read = readBatch(batch, { name: file.name, now, given: input.observedAt, ...deps });
        const before = recorded;
        recorded = ingesting.take({ ...read, origin: 'import' }).then(async (folded) => {
          await before;
          const next = batch.at(-1)?.next;
          state = {
            ...state,
            records: state.records + batch.length,
            refused: state.refused + folded.rejected,
            changed: state.changed + folded.changed.length,
          };
          if (next !== undefined) await remember(next);
          options.onProgress?.(progress());
        });
        // Closed first: the other lanes wait for bytes, and the next ones of a stream may never come.
        await recorded.catch((cause: unknown) => {
          file.close();
          throw cause;
        });
      }
    } finally {
      await ingesting.finish();
    }
  };

  try {
    const plain = await unpack(file.name, counted());
    const records = splitRecords(plain, earlier, options.recordBytes ?? defaultRecordBytes);
    const opened = openAnswers(records, input.records ?? '');
    const batches = batchesOf(opened, options.batchBytes ?? defaultBatchBytes);
    const ended = await Promise.allSettled(Array.from({ length: lanes }, () => lane(batches)));
    await recorded;
    for (const one of ended) if (one.status === 'rejected') throw one.reason;
  } catch (cause) {
    options.signal?.throwIfAborted();
    throw brokenFile(cause, file.name) ?? cause;
  }
  await remember({ done: true });
  options.onProgress?.(progress());
  return { ...progress(), alreadyDone: false };
};

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
    const page = isAnswer ? await readPageBody(Buffer.from(record.bytes), path) : undefined;
    if (typeof page === 'object')
      for (const raw of [...page.parts(Number.POSITIVE_INFINITY)].flat())
        yield { ...record, bytes: raw.bytes(), next: undefined };
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

/** `key` = under which progress is stored; undefined for a stream, which cannot be resumed. */
const openInput = async (from: ImportInput['from']) => {
  if (typeof from !== 'string')
    return { ...from, size: null, key: undefined, close: () => void (from.bytes as Partial<Readable>).destroy?.() };
  const path = resolve(from);
  const name = basename(path);
  try {
    const { size } = await stat(path);
    await using handle = await open(path);
    const head = Buffer.alloc(Math.min(headBytes, size));
    await handle.read(head, 0, head.length, 0);
    const stream = createReadStream(path, { highWaterMark: 256 * 1024 });
    // Hashed, since paths may name persons.
    const key = `import:${hash('sha256', `${path}\0${size}\0${hash('sha256', head)}`)}`;
    return { name, size, key, bytes: stream, close: () => void stream.destroy() };
  } catch (cause) {
    throw terminal(
      'IMPORT_FILE_UNREADABLE',
      `The file ${name} cannot be read (${(cause as { code?: string }).code}).`,
      { hint: 'Check that it exists, is a file, and may be read.', cause },
    );
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
  const cutFrom = new Map<Observation, SplitRecord>();
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
    else {
      observations.push(read.observation);
      cutFrom.set(read.observation, record);
    }
  }
  const refuse = (observation: Observation, reason: string) => reject(cutFrom.get(observation) as SplitRecord, reason);
  return { observations, rejected, refuse };
};

/** One record's bytes → observation, or the reason why it is none. */
export const readImported = (
  bytes: Buffer,
  rules: Omit<ReadRules, 'name'>,
): { readonly observation: Observation } | { readonly reason: string } => {
  const { value } = readRecord(bytes);
  if (value === undefined) return { reason: 'not JSON' };
  const identified = identifyRecord(value);
  if ('reason' in identified) return identified;
  const observedAt = importObservedAt(identified.record, rules);
  if (observedAt === undefined) return { reason: noTime };
  const { callId, record: fields } = identified;
  return { observation: { callId, source: 'import', observedAt, fields } };
};
