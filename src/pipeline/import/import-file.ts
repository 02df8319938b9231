/** Brings the records of a file or stream in, as observations with source `import`. */
import { createReadStream } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { pipeline, Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import type { Observation, RejectedRecord } from '../../../schemas/observation.ts';
import { identifyRecord, importObservedAt } from '../../calls/record.ts';
import { terminal } from '../../lib/errors.ts';
import { type ImportState, importKey, readImportState, saveImportState } from '../../store/status/progress.ts';
import type { IngestDeps } from '../deps.ts';
import { createPipeline } from '../load/ingest.ts';
import {
  BrokenArray,
  type Bytes,
  findForm,
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

export interface ImportResult extends ImportProgress {
  /** True when the file had been imported before, and nothing was read. */
  readonly alreadyDone: boolean;
}

export interface ImportOptions {
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: ImportProgress) => void;
  /** Bytes of records that one transaction takes. */
  readonly batchBytes?: number;
  /** Longest record. */
  readonly recordBytes?: number;
}

const headBytes = 64 * 1024;
const batchRecords = 500;
const defaultBatchBytes = 4 * 1024 * 1024;
/** Four times the largest delivery that the receiver takes by default. */
const defaultRecordBytes = 64 * 1024 * 1024;

interface Opened {
  readonly name: string;
  readonly size: number | null;
  /** Under which progress is stored; undefined for a stream, which cannot be resumed. */
  readonly key: string | undefined;
  readonly bytes: Bytes;
  readonly close: () => void;
}

/**
 * Reads NDJSON or a JSON array in batches of bounded bytes; memory stays constant. The first bytes tell gzip, never
 * the name.
 * Unreadable records go to quarantine under `name:line`. An interrupted import resumes.
 * @throws CallsyncError IMPORT_… if the file is unreadable; earlier records stay in the ledger.
 */
export const importFile = async (
  deps: IngestDeps,
  input: ImportInput,
  options: ImportOptions = {},
): Promise<ImportResult> => {
  const now = Date.now() * 1000;
  if (input.observedAt !== undefined && input.observedAt > now + deps.clockSkew) {
    throw terminal('IMPORT_TIME_AHEAD', 'The time given for the imported records is in the future.', {
      hint: 'Give the time at which the file was written.',
    });
  }
  const file = await openInput(input.from);
  try {
    const known =
      file.key === undefined || input.restart === true ? undefined : await readImportState(deps.store, file.key);
    if (known?.done !== true) return await importOpened(deps, input, { file, state: known, now }, options);
    const { records, refused, changed } = known;
    return { bytes: file.size ?? 0, size: file.size, records, refused, changed, alreadyDone: true };
  } finally {
    file.close();
  }
};

const importOpened = async (
  deps: IngestDeps,
  input: ImportInput,
  { file, state, now }: { readonly file: Opened; readonly state: ImportState | undefined; readonly now: number },
  options: ImportOptions,
): Promise<ImportResult> => {
  let bytes = 0;
  const counted = async function* (): Bytes {
    for await (const chunk of file.bytes) {
      bytes += chunk.length;
      yield chunk;
    }
  };
  let { records = 0, refused = 0, changed = 0 } = state ?? {};
  let position: Position | undefined;
  const ingesting = createPipeline(deps);
  const progress = (): ImportProgress => ({ bytes, size: file.size, records, refused, changed });
  const remember = async (done: boolean): Promise<void> => {
    if (file.key === undefined || position === undefined) return;
    const saved: ImportState = { ...position, records, refused, changed, done };
    await saveImportState(deps.store, file.key, saved);
  };

  const take = async (batch: readonly SplitRecord[]): Promise<void> => {
    const read = readBatch(batch, { name: file.name, now, given: input.observedAt, ...deps });
    const folded = await ingesting.take({ ...read, origin: 'import' });
    records += batch.length;
    refused += folded.rejected;
    changed += folded.changed.length;
    position = batch.at(-1)?.next;
    await remember(false);
    options.onProgress?.(progress());
  };

  let batch: SplitRecord[] = [];
  let size = 0;
  const limit = options.batchBytes ?? defaultBatchBytes;
  try {
    const { start, rest } = await beginning({ name: file.name, packed: counted() }, state);
    position = start;
    for await (const record of splitRecords(rest, start, options.recordBytes ?? defaultRecordBytes)) {
      options.signal?.throwIfAborted();
      batch.push(record);
      size += record.bytes.length;
      if (size < limit && batch.length < batchRecords) continue;
      await take(batch);
      batch = [];
      size = 0;
    }
  } catch (cause) {
    options.signal?.throwIfAborted();
    const broken = brokenFile(cause, file.name);
    if (broken === undefined) throw cause;
    if (batch.length > 0) await take(batch);
    await ingesting.finish();
    throw broken;
  }
  if (batch.length > 0) await take(batch);
  await ingesting.finish();
  await remember(true);
  options.onProgress?.(progress());
  return { ...progress(), alreadyDone: false };
};

/** Plain bytes from where reading starts or goes on. */
const beginning = async (
  { name, packed }: { readonly name: string; readonly packed: Bytes },
  state: ImportState | undefined,
): Promise<{ readonly start: Position; readonly rest: Bytes }> => {
  const { head, rest } = await peek(packed, 4);
  const begins = head.toString('hex');
  if (/^(fffe|feff)/.test(begins))
    throw terminal('IMPORT_ENCODING', `The file ${name} is in UTF-16.`, { hint: 'Convert it to UTF-8 first.' });
  if (begins === '28b52ffd')
    throw terminal('IMPORT_ENCODING', `The file ${name} is packed by zstd.`, {
      hint: 'Unpack it on the way: zstd -dc FILE | callsync import -',
    });
  const plain = begins.startsWith('1f8b') ? unpack(rest) : rest;
  const found = state === undefined ? await findForm(plain) : { start: state, rest: plain };
  return { start: found.start, rest: skip(found.rest, found.start.offset) };
};

/** Unpacks gzip as it is read; memory holds a chunk. An error of the source ends the unpacking too. */
const unpack = (bytes: Bytes): Bytes =>
  pipeline(Readable.from(bytes, { objectMode: false }), createGunzip(), () => undefined);

/** The stream without its first `count` bytes. */
async function* skip(bytes: Bytes, count: number): AsyncGenerator<Buffer> {
  let left = count;
  for await (const chunk of bytes) {
    const from = Math.min(left, chunk.length);
    left -= from;
    if (from < chunk.length) yield chunk.subarray(from);
  }
}

const openInput = async (from: ImportInput['from']): Promise<Opened> => {
  if (typeof from !== 'string') {
    return { name: from.name, size: null, key: undefined, bytes: from.bytes, close: () => undefined };
  }
  const path = resolve(from);
  const name = basename(path);
  try {
    const { size } = await stat(path);
    const handle = await open(path);
    try {
      const head = Buffer.alloc(Math.min(headBytes, size));
      await handle.read(head, 0, head.length, 0);
      const stream = createReadStream(path, { highWaterMark: 256 * 1024 });
      return { name, size, key: importKey({ path, size, head }), bytes: stream, close: () => void stream.destroy() };
    } finally {
      await handle.close();
    }
  } catch (cause) {
    throw terminal(
      'IMPORT_FILE_UNREADABLE',
      `The file ${name} cannot be read (${(cause as { code?: string }).code}).`,
      {
        hint: 'Check that it exists, is a file, and may be read.',
        cause,
      },
    );
  }
};

/** Undefined for what is not the file's fault. */
const brokenFile = (cause: unknown, name: string): Error | undefined => {
  const came = 'what came before is imported';
  if (cause instanceof BrokenArray) {
    return terminal('IMPORT_FILE_BROKEN', `The JSON array in ${name} breaks at line ${cause.line}; ${came}.`, {
      hint: 'Repair or complete the file and import it again.',
      cause,
    });
  }
  const { code } = cause as { code?: unknown };
  if (typeof code !== 'string' || !code.startsWith('Z_')) return undefined;
  return terminal('IMPORT_FILE_BROKEN', `The compressed file ${name} is damaged or cut off; ${came}.`, {
    hint: 'Fetch it again and import it again.',
    cause,
  });
};

/** Source of the time of imported records. */
interface ReadRules {
  /** Name of the file, for the origin of what is refused. */
  readonly name: string;
  /** Microseconds since the epoch. */
  readonly now: number;
  /** observed_at of every record, where the user gave one. */
  readonly given: number | undefined;
  readonly processedField: string;
  /** Microseconds that a record's own time may be ahead. */
  readonly clockSkew: number;
}

const noTime = 'no time of its own in the past, and none was given for the import';

/** The observations of a batch, and the records that go to quarantine. */
const readBatch = (
  batch: readonly SplitRecord[],
  rules: ReadRules,
): {
  readonly observations: readonly Observation[];
  readonly rejected: readonly RejectedRecord[];
  readonly refuse: (observation: Observation, reason: string) => RejectedRecord;
} => {
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
  return {
    observations,
    rejected,
    refuse: (observation, reason) => reject(cutFrom.get(observation) as SplitRecord, reason),
  };
};

/** One record's bytes → observation, or why it is none. */
export const readImported = (
  bytes: Buffer,
  rules: Omit<ReadRules, 'name'>,
): { readonly observation: Observation } | { readonly reason: string } => {
  let record: unknown;
  try {
    record = JSON.parse(bytes.toString('utf8'));
  } catch {
    return { reason: 'not JSON' };
  }
  const identified = identifyRecord(record);
  if ('reason' in identified) return identified;
  const observedAt = importObservedAt(identified.record, rules);
  if (observedAt === undefined) return { reason: noTime };
  return { observation: { callId: identified.callId, source: 'import', observedAt, fields: identified.record } };
};
