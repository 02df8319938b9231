/**
 * The files of the spool, and their records.
 * Names tell the state of a file. `N.spool` waits to be drained, `N.spool.parked` holds one delivery that the store
 * refuses, `N.spool.damaged` had unreadable bytes in its middle. N grows, gives the order, and is never used twice.
 * A record: `CSR1` · length of meta (u32) · length of body (u32) · SHA-256 over both lengths, meta and body · meta
 * (JSON) · body.
 */
import { createHash } from 'node:crypto';
import { constants, type Stats } from 'node:fs';
import { type FileHandle, open, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { terminal } from '../../lib/errors.ts';
import { loadTryLock } from '../../lib/file-lock.ts';
import type { Delivery } from '../../store/delivery/inbox-writer.ts';

/** A file to which nothing is added any more. */
export interface SealedSegment {
  readonly path: string;
  readonly bytes: number;
  readonly records: number;
  /** Arrival of the first record in the file. */
  readonly oldest: Date | undefined;
  /** Bytes in its middle were damaged; the file is kept when it has been drained. */
  readonly damaged: boolean;
}

const pattern = /^(\d{12})\.spool(\.parked|\.damaged)?$/;

/** All files of a spool folder, oldest first. */
const listSegments = async (dir: string) =>
  (await readdir(dir))
    .flatMap((name) => {
      const [, digits, suffix = ''] = pattern.exec(name) ?? [];
      return digits === undefined ? [] : [{ name, number: Number(digits), suffix }];
    })
    .sort((left, right) => left.number - right.number);

/** @param number is of the folder's next file. */
const segmentPath = (dir: string, number: number): string => join(dir, `${String(number).padStart(12, '0')}.spool`);

/**
 * Renames every waiting file, and parked files after them, because the store may accept them now. A receiver that
 * still writes to an old file (on file systems without locks) then notices its loss.
 * @returns the files to drain, in order, and the number of the next new one.
 */
export const takeOverSegments = async (dir: string): Promise<{ paths: string[]; nextNumber: number }> => {
  const found = await listSegments(dir);
  const waiting = [...found.filter((one) => one.suffix === ''), ...found.filter((one) => one.suffix === '.parked')];
  let nextNumber = (found.at(-1)?.number ?? 0) + 1;
  const paths: string[] = [];
  for (const { name } of waiting) {
    const path = segmentPath(dir, nextNumber++);
    await rename(join(dir, name), path);
    paths.push(path);
  }
  if (paths.length > 0) await syncFolder(dir);
  return { paths, nextNumber };
};

/** Checks every record. A half-written record at the end was never answered and is cut off; other bytes there are damage. */
export const recoverSegment = async (path: string): Promise<SealedSegment & { readonly cutBytes: number }> => {
  await using file = await open(path, 'r+');
  const { size } = await file.stat();
  let records = 0;
  let oldest: Date | undefined;
  let damaged = false;
  let at = 0;
  for await (const { delivery, start, end } of readRecords(file, 0, size)) {
    records += 1;
    oldest ??= delivery.receivedAt;
    damaged ||= start > at;
    at = end;
  }
  const cutBytes = at < size && (await isHalfWritten(file, at, size)) ? size - at : 0;
  if (cutBytes > 0) {
    await file.truncate(at);
    await file.datasync();
  }
  const bytes = size - cutBytes;
  return { path, bytes, records, oldest, damaged: damaged || at < bytes, cutBytes };
};

/** Appends to a new file; the folder is synced, so that the file itself survives a crash. */
export const createSegment = async (dir: string, number: number) => {
  const path = segmentPath(dir, number);
  const file = await open(path, constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY, 0o600);
  await syncFolder(dir);
  let written: SealedSegment = { path, bytes: 0, records: 0, oldest: undefined, damaged: false };
  return {
    /** The durable part. */
    written: () => written,
    /**
     * Durable when it resolves. After a failure nothing of it counts, and the segment must be sealed.
     * @throws if the disk fails, or if the file is no longer in the folder, because a reader of the folder would miss it
     */
    append: async (bytes: Buffer, records: number, oldest: Date): Promise<void> => {
      const before = written;
      try {
        await file.appendFile(bytes);
        await file.datasync();
        // Checked after the write: the new owner reads all writes before its takeover.
        if (!(await isFileAt(file, path))) throw Object.assign(new Error('gone'), { code: 'SEGMENT_GONE' });
      } catch (error) {
        await file.truncate(before.bytes).catch(() => {});
        throw error;
      }
      const { bytes: size, records: count } = before;
      written = { ...before, bytes: size + bytes.length, records: count + records, oldest: before.oldest ?? oldest };
    },
    seal: (): SealedSegment => {
      // All counted bytes are synced: the drain may read the file while it is closed.
      file.close().catch(() => {});
      return written;
    },
  };
};

/** Removes a drained segment; a damaged one is kept under another name. */
export const discardSegment = async (dir: string, segment: SealedSegment): Promise<void> => {
  if (segment.damaged) await rename(segment.path, `${segment.path}.damaged`);
  else await rm(segment.path, { force: true });
  await syncFolder(dir);
};

/** Writes one record to a separate file, which is not drained until the next takeover. Durable when it resolves. */
export const parkRecord = async (dir: string, number: number, record: Buffer): Promise<void> => {
  await writeFile(`${segmentPath(dir, number)}.parked`, record, { flag: 'wx', mode: 0o600, flush: true });
  await syncFolder(dir);
};

const syncFolder = async (dir: string): Promise<void> => {
  await using folder = await open(dir, 'r');
  await folder.sync();
};

/** Deletes damaged files older than `before`. Returns the bytes of the other files, and the number of deleted files. */
export const expireDamaged = async (dir: string, before: Date): Promise<{ bytes: number; deleted: number }> => {
  let bytes = 0;
  let deleted = 0;
  for (const { name } of (await listSegments(dir)).filter((one) => one.suffix === '.damaged')) {
    const path = join(dir, name);
    const { mtime, size } = await stat(path);
    if (mtime >= before) bytes += size;
    else {
      await rm(path);
      deleted += 1;
    }
  }
  return { bytes, deleted };
};

const magic = Buffer.from('CSR1');
const headBytes = magic.length + 8 + 32;
/** No record is larger: more than this in a length field is damage. */
const largestPart = 1024 * 1024 * 1024;

type Meta = readonly [
  arrivalId: string,
  deliveryId: string | null,
  hookId: string | null,
  agent: string | null,
  receivedAtMs: number,
  signingKey: string | null,
  bodyHash: string,
  /** Why the store refused it, where it is parked. */
  reason?: string | null,
  privacyVersion?: string,
];

/** @param reason why the store refused the delivery, for a person who opens a parked file; never read back. */
export const encodeRecord = (delivery: Delivery, reason?: string): Buffer => {
  const meta: [...Meta] = [
    delivery.arrivalId,
    delivery.deliveryId,
    delivery.hookId,
    delivery.agent,
    delivery.receivedAt.getTime(),
    delivery.signingKey,
    delivery.bodyHash.toString('base64'),
  ];
  const { privacyVersion } = delivery;
  if (reason !== undefined || privacyVersion !== undefined) meta.push(reason ?? null);
  if (privacyVersion !== undefined) meta.push(privacyVersion);
  const metaBytes = Buffer.from(JSON.stringify(meta));
  const lengths = Buffer.alloc(8);
  lengths.writeUInt32BE(metaBytes.length, 0);
  lengths.writeUInt32BE(delivery.body.length, 4);
  return Buffer.concat([magic, lengths, checksum(lengths, metaBytes, delivery.body), metaBytes, delivery.body]);
};

/** The whole and undamaged records from `offset` on. `end` = offset of the byte behind the record. */
export async function* readRecords(file: FileHandle, offset: number, fileBytes: number) {
  for (let at = offset; at < fileBytes; ) {
    const found = (await readRecord(file, at, fileBytes)) ?? (await findRecord(file, at + 1, fileBytes));
    if (found === undefined) return;
    yield found;
    at = found.end;
  }
}

/** The record that begins at `offset`; undefined when there is no whole and undamaged one. */
const readRecord = async (file: FileHandle, offset: number, fileBytes: number) => {
  if (offset + headBytes > fileBytes) return undefined;
  const head = await readExactly(file, offset, headBytes);
  if (head === undefined || !head.subarray(0, magic.length).equals(magic)) return undefined;
  const lengths = head.subarray(magic.length, magic.length + 8);
  const metaLength = lengths.readUInt32BE(0);
  const bodyLength = lengths.readUInt32BE(4);
  const end = offset + headBytes + metaLength + bodyLength;
  if (bodyLength > largestPart || end > fileBytes) return undefined;
  const content = await readExactly(file, offset + headBytes, metaLength + bodyLength);
  if (content === undefined) return undefined;
  const meta = content.subarray(0, metaLength);
  const body = content.subarray(metaLength);
  if (!checksum(lengths, meta, body).equals(head.subarray(magic.length + 8))) return undefined;
  return { delivery: toDelivery(JSON.parse(meta.toString('utf8')) as Meta, body), start: offset, end };
};

/** Whether the file ends within a record whose written part is in order. */
const isHalfWritten = async (file: FileHandle, offset: number, fileBytes: number): Promise<boolean> => {
  const head = await readExactly(file, offset, Math.min(headBytes, fileBytes - offset));
  if (head === undefined || !head.subarray(0, magic.length).equals(magic.subarray(0, head.length))) return false;
  if (head.length < headBytes) return true;
  return offset + headBytes + head.readUInt32BE(magic.length) + head.readUInt32BE(magic.length + 4) > fileBytes;
};

/** The next undamaged record at or behind `offset`; undefined when there is none. */
const findRecord = async (file: FileHandle, offset: number, fileBytes: number) => {
  const step = 1024 * 1024;
  for (let at = offset; at + headBytes <= fileBytes; at += step) {
    // The steps overlap by the magic's length, so that one across two steps is found.
    const bytes = await readExactly(file, at, Math.min(step + magic.length - 1, fileBytes - at));
    if (bytes === undefined) return undefined;
    for (let hit = bytes.indexOf(magic); hit !== -1; hit = bytes.indexOf(magic, hit + 1)) {
      const found = await readRecord(file, at + hit, fileBytes);
      if (found !== undefined) return found;
    }
  }
  return undefined;
};

const checksum = (lengths: Buffer, meta: Buffer, body: Buffer): Buffer =>
  createHash('sha256').update(lengths).update(meta).update(body).digest();

const toDelivery = (meta: Meta, body: Buffer): Delivery => {
  const [arrivalId, deliveryId, hookId, agent, receivedAtMs, signingKey, bodyHash, , privacyVersion] = meta;
  return {
    arrivalId,
    deliveryId,
    hookId,
    agent,
    receivedAt: new Date(receivedAtMs),
    signingKey,
    body,
    bodyHash: Buffer.from(bodyHash, 'base64'),
    privacyVersion,
  };
};

const readExactly = async (file: FileHandle, offset: number, length: number): Promise<Buffer | undefined> => {
  const bytes = Buffer.allocUnsafe(length);
  let done = 0;
  while (done < length) {
    const { bytesRead } = await file.read(bytes, done, length - done, offset + done);
    if (bytesRead === 0) return undefined;
    done += bytesRead;
  }
  return bytes;
};

/** One receiver at a time per spool folder. */
export type SpoolLock = Awaited<ReturnType<typeof lockSpool>>;

/** A receiver that is just being replaced may still be closing. */
const waitMs = 3_000;
const retryMs = 100;

/** @throws CallsyncError SPOOL_IN_USE, SPOOL_LOCK_UNSUPPORTED */
export const lockSpool = async (dir: string, options: { readonly waitMs?: number } = {}) => {
  const tryLock = await loadTryLock();
  const path = join(dir, 'lock');
  const giveUpAt = performance.now() + (options.waitMs ?? waitMs);
  for (;;) {
    const file = await open(path, constants.O_RDWR | constants.O_CREAT, 0o600);
    const isHeld = () => isFileAt(file, path);
    // The file may have been replaced between the two steps. callsync never removes the file here, because two
    // receivers would then each lock a file of their own.
    if (tryLock(file.fd) && (await isHeld())) return { isHeld, release: () => file.close() };
    await file.close();
    if (performance.now() > giveUpAt)
      throw terminal('SPOOL_IN_USE', `Another receiver uses the spool folder ${dir}.`, {
        hint: 'Stop it, or give each receiver its own webhook.spool.dir.',
      });
    await sleep(retryMs);
  }
};

/** Whether the path still leads to the open file. */
const isFileAt = async (file: FileHandle, path: string): Promise<boolean> => {
  const [opened, found] = await Promise.all([file.stat(), stat(path).catch((): Stats | undefined => undefined)]);
  return opened.nlink > 0 && found?.ino === opened.ino && found.dev === opened.dev;
};
