/** The spool: keeps deliveries durably and in order while the store is away. */
import { chmod, mkdir, open, stat, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { WebhookConfig } from '../../../schemas/config/webhook.ts';
import { terminal, transient } from '../../lib/errors.ts';
import { passable } from '../../lib/new-folder.ts';
import type { Delivery } from '../../store/delivery/inbox-writer.ts';
import { errorCode, type ReceiverLog } from '../server/receiver-log.ts';
import {
  discardSegment,
  encodeRecord,
  expireDamaged,
  findRecord,
  lockSpool,
  parkRecord,
  readRecord,
  recoverSegment,
  type SealedSegment,
  SegmentWriter,
  type SpoolLock,
  takeOverSegments,
} from './spool-files.ts';

interface SpoolStatus {
  readonly records: number;
  readonly bytes: number;
  /** Arrival of the oldest delivery that waits. */
  readonly oldest: Date | undefined;
  /** Deliveries that the store refuses; they are not among `records`. */
  readonly parked: number;
  /** Whether the last delivery offered was refused for want of room, or could not be written. */
  readonly full: boolean;
}

export interface Spool {
  /** Durable when it resolves; rejects with a transient error when there is no room or the disk fails. */
  append(deliveries: readonly Delivery[]): Promise<void>;
  /** The oldest deliveries, at most `limit` and 8 MiB, at least one; none when nothing waits. Deliveries stay until `advance`. */
  read(limit: number): Promise<readonly Delivery[]>;
  /** Takes away the deliveries that `read` returned last: the store has them. */
  advance(): Promise<void>;
  /** Takes away the only delivery that `read` returned last, and keeps it in a separate file until the next start. */
  park(reason: string): Promise<void>;
  status(): SpoolStatus;
  close(): Promise<void>;
}

interface SpoolOptions {
  readonly dir: string;
  readonly config: Omit<WebhookConfig['spool'], 'dir'>;
  /** How long to wait for a receiver that has the folder. */
  readonly lockWaitMs?: number;
  readonly log: ReceiverLog;
}

interface Waiting {
  readonly bytes: Buffer;
  readonly records: number;
  readonly oldest: Date;
  resolve(): void;
  reject(error: unknown): void;
}

/** Last result of `read`, and its end in the oldest segment. */
type Reading = { readonly deliveries: readonly Delivery[]; readonly end: number };

const groupBytes = 8 * 1024 * 1024;
/** How long one reading of the free disk space is reused. */
const freeSpaceMs = 1_000;
const expiryIntervalMs = 24 * 3_600_000;

/**
 * Opens the folder (created if absent, readable only by the owner), and recovers records after a crash.
 * @throws CallsyncError SPOOL_UNUSABLE, SPOOL_IN_USE, SPOOL_LOCK_UNSUPPORTED
 */
export const openSpool = async (options: SpoolOptions): Promise<Spool> => {
  const { dir, log } = options;
  await makeFolder(dir, log);
  const lock = await lockSpool(dir, { waitMs: options.lockWaitMs });
  try {
    const sealed: SealedSegment[] = [];
    const { paths, nextNumber } = await takeOverSegments(dir);
    for (const path of paths) {
      const segment = await recoverSegment(path);
      if (segment.cutBytes > 0) log.warn({ bytes: segment.cutBytes }, 'Cut off a half-written record of the spool.');
      if (segment.damaged) log.error({ file: path }, 'A spool file is damaged; its other records are kept.');
      if (segment.records === 0 && !segment.damaged) await discardSegment(dir, segment);
      else sealed.push(segment);
    }
    const records = sealed.reduce((sum, segment) => sum + segment.records, 0);
    if (records > 0) log.info({ records }, 'Deliveries wait in the spool.');
    const spool = new DiskSpool(options, lock, sealed, nextNumber);
    await spool.expire();
    return spool;
  } catch (error) {
    await lock.release();
    throw error;
  }
};

const makeFolder = async (dir: string, log: ReceiverLog): Promise<void> => {
  try {
    await mkdir(dirname(dir), passable);
    await mkdir(dir, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw terminal('SPOOL_UNUSABLE', `The spool folder ${dir} cannot be made.`, {
      hint: 'Set webhook.spool.dir to a folder that the receiver can write to.',
      cause: error,
    });
  }
  // An existing folder may be open to other users, but it holds call data.
  if (((await stat(dir)).mode & 0o077) === 0) return;
  await chmod(dir, 0o700).catch((error: unknown) =>
    log.warn({ code: errorCode(error), dir }, 'Other users can open the spool folder, and its mode cannot be changed.'),
  );
};

class DiskSpool implements Spool {
  readonly #options: SpoolOptions;
  #lock: SpoolLock;
  readonly #sealed: SealedSegment[];
  readonly #expiry: NodeJS.Timeout;
  #nextNumber: number;
  #damagedBytes = 0;
  #parked = { records: 0, bytes: 0 };
  #writer: SegmentWriter | undefined;
  #waiting: Waiting[] = [];
  #writing: Promise<void> = Promise.resolve();
  /** Part of the oldest segment that the store has. */
  #drained = { bytes: 0, records: 0 };
  #reading: Reading | undefined;
  #full = false;
  #free: { bytes: number; readAt: number } = { bytes: 0, readAt: Number.NEGATIVE_INFINITY };

  constructor(options: SpoolOptions, lock: SpoolLock, sealed: SealedSegment[], nextNumber: number) {
    this.#options = options;
    this.#lock = lock;
    this.#sealed = sealed;
    this.#nextNumber = nextNumber;
    this.#expiry = setInterval(() => this.expire().catch(() => {}), expiryIntervalMs);
    this.#expiry.unref();
  }

  /** Deletes damaged files that have been kept for long enough. */
  async expire(): Promise<void> {
    const { dir, config, log } = this.#options;
    const { bytes, deleted } = await expireDamaged(dir, new Date(Date.now() - config.damaged_retention));
    this.#damagedBytes = bytes;
    if (deleted > 0) log.info({ files: deleted }, 'Deleted damaged spool files after webhook.spool.damaged_retention.');
  }

  append(deliveries: readonly Delivery[]): Promise<void> {
    const [first] = deliveries;
    if (first === undefined) return Promise.resolve();
    const bytes = Buffer.concat(deliveries.map((one) => encodeRecord(one)));
    return new Promise((resolve, reject) => {
      this.#waiting.push({ bytes, records: deliveries.length, oldest: first.receivedAt, resolve, reject });
      if (this.#waiting.length === 1) this.#writing = this.#writing.then(() => this.#writeGroups());
    });
  }

  async read(limit: number): Promise<readonly Delivery[]> {
    for (;;) {
      if (this.#sealed.length === 0) await this.#alone(() => this.#seal());
      const [segment] = this.#sealed;
      if (segment === undefined) return [];
      try {
        this.#reading = await this.#readFrom(segment, limit);
      } catch (error) {
        await this.#giveUp(segment, error);
        continue;
      }
      if (this.#reading.deliveries.length > 0) return this.#reading.deliveries;
      await this.#discardOldest(segment);
    }
  }

  async advance(): Promise<void> {
    const [segment] = this.#sealed;
    const reading = this.#reading;
    if (segment === undefined || reading === undefined) return;
    this.#reading = undefined;
    this.#drained = { bytes: reading.end, records: this.#drained.records + reading.deliveries.length };
    if (reading.end >= segment.bytes) await this.#discardOldest(segment);
  }

  async park(reason: string): Promise<void> {
    const [delivery] = this.#reading?.deliveries ?? [];
    if (delivery === undefined) return;
    const record = encodeRecord(delivery, reason);
    await parkRecord(this.#options.dir, this.#nextNumber++, record);
    this.#parked = { records: this.#parked.records + 1, bytes: this.#parked.bytes + record.length };
    await this.advance();
  }

  status(): SpoolStatus {
    const parts = this.#writer ? [...this.#sealed, this.#writer] : this.#sealed;
    return {
      records: parts.reduce((sum, part) => sum + part.records, 0) - this.#drained.records,
      bytes: parts.reduce((sum, part) => sum + part.bytes, this.#damagedBytes + this.#parked.bytes),
      oldest: this.#reading?.deliveries[0]?.receivedAt ?? parts.find((part) => part.oldest)?.oldest,
      parked: this.#parked.records,
      full: this.#full,
    };
  }

  async close(): Promise<void> {
    clearInterval(this.#expiry);
    await this.#alone(() => this.#seal());
    await this.#lock.release();
  }

  /** Runs between two groups of writes, never at the same time as one. */
  #alone(work: () => Promise<void>): Promise<void> {
    const done = this.#writing.then(work);
    this.#writing = done.catch(() => {});
    return done;
  }

  async #writeGroups(): Promise<void> {
    while (this.#waiting.length > 0) {
      const group = await this.#takeGroup();
      const [first] = group;
      if (first === undefined) continue;
      try {
        await this.#writeGroup(group, first.oldest);
        this.#full = false;
        for (const one of group) one.resolve();
      } catch (error) {
        this.#full = true;
        this.#options.log.error({ code: errorCode(error) }, 'The spool cannot be written to.');
        for (const one of group)
          one.reject(transient('SPOOL_FAILED', 'callsync cannot write to the spool.', { cause: error }));
        // A failed sync leaves unknown bytes on disk: never append to them.
        await this.#seal();
      }
    }
  }

  /** The next entries that fit; the spool refuses the others. */
  async #takeGroup(): Promise<Waiting[]> {
    const group: Waiting[] = [];
    let bytes = 0;
    let room = await this.#room();
    while (this.#waiting.length > 0 && bytes < groupBytes) {
      const one = this.#waiting.shift() as Waiting;
      if (one.bytes.length > room) {
        if (!this.#full)
          this.#options.log.error(
            { bytes: this.status().bytes },
            'The spool is full; the receiver refuses deliveries.',
          );
        this.#full = true;
        one.reject(transient('SPOOL_FULL', 'The spool is full.'));
        continue;
      }
      room -= one.bytes.length;
      bytes += one.bytes.length;
      group.push(one);
    }
    return group;
  }

  async #writeGroup(group: readonly Waiting[], oldest: Date): Promise<void> {
    await this.#keepLock();
    if (this.#writer && this.#writer.bytes >= this.#options.config.segment_bytes) await this.#seal();
    this.#writer ??= await SegmentWriter.create(this.#options.dir, this.#nextNumber++);
    const bytes = Buffer.concat(group.map((one) => one.bytes));
    await this.#writer.append(
      bytes,
      group.reduce((sum, one) => sum + one.records, 0),
      oldest,
    );
    this.#free.bytes -= bytes.length;
  }

  /** Locks the folder again where somebody removed the lock file or the whole folder, unless another receiver has it now. */
  async #keepLock(): Promise<void> {
    if (await this.#lock.isHeld()) return;
    const { dir, log } = this.#options;
    await makeFolder(dir, log);
    const lock = await lockSpool(dir, { waitMs: 0 });
    await this.#lock.release();
    this.#lock = lock;
    await this.#seal();
  }

  async #room(): Promise<number> {
    const { dir, config } = this.#options;
    if (performance.now() - this.#free.readAt > freeSpaceMs) {
      const disk = await statfs(dir).catch(() => undefined);
      if (disk === undefined) return 0;
      this.#free = { bytes: disk.bavail * disk.bsize, readAt: performance.now() };
    }
    return Math.min(config.max_bytes - this.status().bytes, this.#free.bytes - config.min_free_bytes);
  }

  async #seal(): Promise<void> {
    const writer = this.#writer;
    if (writer === undefined) return;
    this.#writer = undefined;
    const segment = writer.seal();
    if (segment.records > 0) this.#sealed.push(segment);
    else await discardSegment(this.#options.dir, segment).catch(() => {});
  }

  async #discardOldest(segment: SealedSegment): Promise<void> {
    await discardSegment(this.#options.dir, segment);
    if (segment.damaged) this.#damagedBytes += segment.bytes;
    this.#forgetOldest();
  }

  #forgetOldest(): void {
    this.#sealed.shift();
    this.#drained = { bytes: 0, records: 0 };
    this.#full = false;
  }

  /** A lost or unreadable file must not hold up the files after it. */
  async #giveUp(segment: SealedSegment, error: unknown): Promise<void> {
    const code = errorCode(error);
    const left = { file: segment.path, records: segment.records - this.#drained.records };
    if (code === 'ENOENT') {
      this.#options.log.error(left, 'A spool file is missing, so its deliveries are lost.');
      this.#forgetOldest();
    } else if (code === 'EIO') {
      this.#options.log.error(left, 'A spool file cannot be read; it is kept as damaged.');
      await this.#discardOldest({ ...segment, damaged: true });
    } else throw error;
  }

  async #readFrom(segment: SealedSegment, limit: number): Promise<Reading> {
    const deliveries: Delivery[] = [];
    let at = this.#drained.bytes;
    let bytes = 0;
    const file = await open(segment.path, 'r');
    try {
      while (at < segment.bytes && deliveries.length < limit && bytes < groupBytes) {
        const found = await readRecord(file, at, segment.bytes);
        if (found === undefined) {
          at = (await findRecord(file, at + 1, segment.bytes)) ?? segment.bytes;
          continue;
        }
        deliveries.push(found.delivery);
        bytes += found.end - at;
        at = found.end;
      }
    } finally {
      await file.close();
    }
    return { deliveries, end: at };
  }
}
