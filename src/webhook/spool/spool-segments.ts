/** The files of the spool: found, checked after a crash, written and removed. */
import { constants } from 'node:fs';
import { type FileHandle, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { findRecord, readRecord } from './spool-record.ts';

/** A file to which nothing is added any more. */
export interface SealedSegment {
  readonly path: string;
  readonly bytes: number;
  readonly records: number;
  /** Arrival of its first record. */
  readonly oldest: Date | undefined;
  /** Bytes in its middle were damaged; the file is kept aside when it has been drained. */
  readonly damaged: boolean;
}

const namePattern = /^(\d{12})\.spool$/;
const numberPattern = /^(\d{12})\.spool/;

export const segmentPath = (dir: string, number: number): string =>
  join(dir, `${String(number).padStart(12, '0')}.spool`);

/** Numbers of the segments in a folder, oldest first. */
export const listSegments = async (dir: string): Promise<number[]> => {
  const names = await readdir(dir);
  return names
    .flatMap((name) => namePattern.exec(name)?.[1] ?? [])
    .map(Number)
    .sort((left, right) => left - right);
};

/** A number that no segment of the folder has, not even one kept aside. */
export const nextSegmentNumber = async (dir: string): Promise<number> => {
  const names = await readdir(dir);
  return Math.max(0, ...names.map((name) => Number(numberPattern.exec(name)?.[1] ?? 0))) + 1;
};

/** Checks every record; what a crash left half-written at the end was never answered and is cut off. */
export const recoverSegment = async (path: string): Promise<SealedSegment & { readonly cutBytes: number }> => {
  const file = await open(path, 'r+');
  try {
    const { size } = await file.stat();
    let records = 0;
    let oldest: Date | undefined;
    let damaged = false;
    let at = 0;
    while (at < size) {
      const found = await readRecord(file, at, size);
      if (found) {
        records += 1;
        oldest ??= found.delivery.receivedAt;
        at = found.end;
        continue;
      }
      const next = await findRecord(file, at + 1, size);
      if (next === undefined) break;
      damaged = true;
      at = next;
    }
    if (at < size) {
      await file.truncate(at);
      await file.datasync();
    }
    return { path, bytes: at, records, oldest, damaged, cutBytes: size - at };
  } finally {
    await file.close();
  }
};

/** Appends to a new file; the folder is synced, so that the file itself survives a crash. */
export class SegmentWriter {
  readonly path: string;
  bytes = 0;
  records = 0;
  oldest: Date | undefined;
  readonly #file: FileHandle;

  private constructor(path: string, file: FileHandle) {
    this.path = path;
    this.#file = file;
  }

  static async create(dir: string, number: number): Promise<SegmentWriter> {
    const path = segmentPath(dir, number);
    const file = await open(path, constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY, 0o600);
    await syncFolder(dir);
    return new SegmentWriter(path, file);
  }

  /** Durable when it resolves. After a failure nothing of it counts, and the segment must be sealed. */
  async append(bytes: Buffer, records: number, oldest: Date): Promise<void> {
    try {
      let done = 0;
      while (done < bytes.length) {
        const { bytesWritten } = await this.#file.write(bytes, done, bytes.length - done, this.bytes + done);
        done += bytesWritten;
      }
      await this.#file.datasync();
    } catch (error) {
      await this.#file.truncate(this.bytes).catch(() => {});
      throw error;
    }
    this.bytes += bytes.length;
    this.records += records;
    this.oldest ??= oldest;
  }

  async seal(): Promise<SealedSegment> {
    // What counts was synced before.
    await this.#file.close().catch(() => {});
    return { path: this.path, bytes: this.bytes, records: this.records, oldest: this.oldest, damaged: false };
  }
}

/** Removes a drained segment; a damaged one is kept beside it under another name. */
export const discardSegment = async (dir: string, segment: SealedSegment): Promise<void> => {
  if (segment.damaged) await rename(segment.path, `${segment.path}.damaged`);
  else await rm(segment.path, { force: true });
  await syncFolder(dir);
};

const syncFolder = async (dir: string): Promise<void> => {
  const folder = await open(dir, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
};

/** Bytes of a folder's files that are kept aside. */
export const damagedBytes = async (dir: string): Promise<number> => {
  const names = (await readdir(dir)).filter((name) => name.endsWith('.damaged'));
  const sizes = await Promise.all(names.map(async (name) => (await stat(join(dir, name))).size));
  return sizes.reduce((sum, size) => sum + size, 0);
};
