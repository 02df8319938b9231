/** Where deliveries wait, durably and in order, while the store is away. */
import { mkdir, open, statfs } from 'node:fs/promises';
import { terminal, transient } from '../../errors.ts';
import type { Delivery } from '../../store/delivery/inbox-writer.ts';
import { errorCode, type ReceiverLog } from '../server/receiver-log.ts';
import { lockSpool, type SpoolLock } from './spool-lock.ts';
import { encodeRecord, findRecord, readRecord } from './spool-record.ts';
import {
  damagedBytes,
  discardSegment,
  listSegments,
  nextSegmentNumber,
  recoverSegment,
  type SealedSegment,
  SegmentWriter,
  segmentPath,
} from './spool-segments.ts';

export interface SpoolStatus {
  readonly records: number;
  readonly bytes: number;
  /** Arrival of the oldest delivery that waits. */
  readonly oldest: Date | undefined;
  /** Whether the last delivery offered was refused for want of room, or could not be written. */
  readonly full: boolean;
}

export interface Spool {
  /** Durable when it resolves; rejects with a transient error when there is no room or the disk fails. */
  append(deliveries: readonly Delivery[]): Promise<void>;
  /** Hands over what waits, oldest first, until nothing is left. What `insert` rejects stays, and stops the drain. */
  drain(insert: (batch: readonly Delivery[]) => Promise<void>): Promise<void>;
  status(): SpoolStatus;
  close(): Promise<void>;
}

export interface SpoolOptions {
  readonly dir: string;
  readonly maxBytes: number;
  readonly minFreeBytes: number;
  readonly segmentBytes: number;
  readonly log: ReceiverLog;
}

interface Waiting {
  readonly bytes: Buffer;
  readonly records: number;
  readonly oldest: Date;
  resolve(): void;
  reject(error: unknown): void;
}

const groupBytes = 8 * 1024 * 1024;
const batchRecords = 128;
/** For how long the disk's free space is taken as known. */
const freeSpaceMs = 1_000;

/** Opens the folder (made if absent, readable by the owner only), and recovers what a crash left. */
export const openSpool = async (options: SpoolOptions): Promise<Spool> => {
  const { dir, log } = options;
  try {
    await mkdir(dir, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw terminal('SPOOL_UNUSABLE', `The spool folder ${dir} cannot be made.`, {
      hint: 'Set webhook.spool.dir to a folder that the receiver may write to.',
      cause: error,
    });
  }
  const lock = await lockSpool(dir);
  try {
    const sealed: SealedSegment[] = [];
    for (const number of await listSegments(dir)) {
      const segment = await recoverSegment(segmentPath(dir, number));
      if (segment.cutBytes > 0) log.warn({ bytes: segment.cutBytes }, 'Cut off a half-written record of the spool.');
      if (segment.damaged) log.error({ file: segment.path }, 'A spool file is damaged; its other records are kept.');
      if (segment.records === 0 && !segment.damaged) await discardSegment(dir, segment);
      else sealed.push(segment);
    }
    const records = sealed.reduce((sum, segment) => sum + segment.records, 0);
    if (records > 0) log.info({ records }, 'Deliveries wait in the spool.');
    return new DiskSpool(options, lock, sealed, await nextSegmentNumber(dir), await damagedBytes(dir));
  } catch (error) {
    await lock.release();
    throw error;
  }
};

class DiskSpool implements Spool {
  readonly #options: SpoolOptions;
  readonly #lock: SpoolLock;
  readonly #sealed: SealedSegment[];
  #nextNumber: number;
  #keptAside: number;
  #writer: SegmentWriter | undefined;
  #waiting: Waiting[] = [];
  #writing: Promise<void> = Promise.resolve();
  #drainedTo = 0;
  #drainedRecords = 0;
  #full = false;
  #free: { bytes: number; readAt: number } = { bytes: 0, readAt: Number.NEGATIVE_INFINITY };

  constructor(options: SpoolOptions, lock: SpoolLock, sealed: SealedSegment[], nextNumber: number, keptAside: number) {
    this.#options = options;
    this.#lock = lock;
    this.#sealed = sealed;
    this.#nextNumber = nextNumber;
    this.#keptAside = keptAside;
  }

  append(deliveries: readonly Delivery[]): Promise<void> {
    const [first] = deliveries;
    if (first === undefined) return Promise.resolve();
    const bytes = Buffer.concat(deliveries.map(encodeRecord));
    return new Promise((resolve, reject) => {
      this.#waiting.push({ bytes, records: deliveries.length, oldest: first.receivedAt, resolve, reject });
      if (this.#waiting.length === 1) this.#writing = this.#writing.then(() => this.#writeGroups());
    });
  }

  async drain(insert: (batch: readonly Delivery[]) => Promise<void>): Promise<void> {
    for (;;) {
      if (this.#sealed.length === 0) await this.#alone(() => this.#seal());
      const segment = this.#sealed[0];
      if (segment === undefined) return;
      await this.#drainSegment(segment, insert);
      await discardSegment(this.#options.dir, segment);
      if (segment.damaged) this.#keptAside += segment.bytes;
      this.#sealed.shift();
      this.#drainedTo = 0;
      this.#drainedRecords = 0;
      this.#full = false;
    }
  }

  status(): SpoolStatus {
    const parts = this.#writer ? [...this.#sealed, this.#writer] : this.#sealed;
    return {
      records: parts.reduce((sum, part) => sum + part.records, 0) - this.#drainedRecords,
      bytes: parts.reduce((sum, part) => sum + part.bytes, this.#keptAside),
      oldest: parts.find((part) => part.oldest)?.oldest,
      full: this.#full,
    };
  }

  async close(): Promise<void> {
    await this.#alone(() => this.#seal());
    await this.#lock.release();
  }

  /** Runs between two groups of writes, never beside one. */
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
        for (const one of group) {
          one.reject(transient('SPOOL_FAILED', 'The spool could not be written to.', { cause: error }));
        }
        // What a failed sync left on disk is unknown: never add to it.
        await this.#seal();
      }
    }
  }

  /** The next entries that fit; those for which there is no room are refused. */
  async #takeGroup(): Promise<Waiting[]> {
    const group: Waiting[] = [];
    let bytes = 0;
    let room = await this.#room();
    while (this.#waiting.length > 0 && bytes < groupBytes) {
      const one = this.#waiting.shift() as Waiting;
      if (one.bytes.length > room) {
        if (!this.#full)
          this.#options.log.error({ bytes: this.status().bytes }, 'The spool is full: deliveries are refused.');
        this.#full = true;
        one.reject(transient('SPOOL_FULL', 'There is no room left in the spool.'));
        continue;
      }
      room -= one.bytes.length;
      bytes += one.bytes.length;
      group.push(one);
    }
    return group;
  }

  async #writeGroup(group: readonly Waiting[], oldest: Date): Promise<void> {
    if (this.#writer && this.#writer.bytes >= this.#options.segmentBytes) await this.#seal();
    this.#writer ??= await SegmentWriter.create(this.#options.dir, this.#nextNumber++);
    const bytes = Buffer.concat(group.map((one) => one.bytes));
    await this.#writer.append(
      bytes,
      group.reduce((sum, one) => sum + one.records, 0),
      oldest,
    );
    this.#free.bytes -= bytes.length;
  }

  async #room(): Promise<number> {
    const { dir, maxBytes, minFreeBytes } = this.#options;
    if (performance.now() - this.#free.readAt > freeSpaceMs) {
      const disk = await statfs(dir).catch(() => undefined);
      if (disk === undefined) return 0;
      this.#free = { bytes: disk.bavail * disk.bsize, readAt: performance.now() };
    }
    return Math.min(maxBytes - this.status().bytes, this.#free.bytes - minFreeBytes);
  }

  async #seal(): Promise<void> {
    const writer = this.#writer;
    if (writer === undefined) return;
    this.#writer = undefined;
    const segment = await writer.seal();
    if (segment.records > 0) this.#sealed.push(segment);
    else await discardSegment(this.#options.dir, segment).catch(() => {});
  }

  async #drainSegment(segment: SealedSegment, insert: (batch: readonly Delivery[]) => Promise<void>): Promise<void> {
    const file = await open(segment.path, 'r');
    try {
      while (this.#drainedTo < segment.bytes) {
        const batch: Delivery[] = [];
        let at = this.#drainedTo;
        let bytes = 0;
        while (at < segment.bytes && batch.length < batchRecords && bytes < groupBytes) {
          const found = await readRecord(file, at, segment.bytes);
          if (found === undefined) {
            at = (await findRecord(file, at + 1, segment.bytes)) ?? segment.bytes;
            continue;
          }
          batch.push(found.delivery);
          bytes += found.end - at;
          at = found.end;
        }
        if (batch.length > 0) await insert(batch);
        this.#drainedTo = at;
        this.#drainedRecords += batch.length;
      }
    } finally {
      await file.close();
    }
  }
}
