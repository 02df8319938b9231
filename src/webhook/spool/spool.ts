/** The spool: keeps deliveries durably and in order while the store is away. */
import { appendFile, chmod, mkdir, open, stat, statfs } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { WebhookConfig } from '../../../schemas/config/webhook.ts';
import { errorCode, terminal, transient } from '../../lib/errors.ts';
import { passable } from '../../lib/new-folder.ts';
import type { Delivery } from '../../store/delivery/inbox-writer.ts';
import type { ReceiverLog } from '../server/receiver-log.ts';
import type { SealedSegment, SpoolLock } from './spool-files.ts';
import * as files from './spool-files.ts';

export type Spool = Awaited<ReturnType<typeof openSpool>>;

interface SpoolOptions {
  readonly dir: string;
  readonly config: Omit<WebhookConfig['spool'], 'dir'>;
  /** How long to wait for a receiver that has the folder. */
  readonly lockWaitMs?: number;
  readonly log: ReceiverLog;
}

/** Last result of `read`, and its end in the oldest segment. */
type LastRead = { readonly deliveries: readonly Delivery[]; readonly end: number; readonly damaged: boolean };

const readBytes = 8 * 1024 * 1024;
/** How long one reading of the free disk space is reused. */
const freeSpaceMs = 1_000;
const expiryIntervalMs = 24 * 3_600_000;

/**
 * Opens the folder (created if absent, readable only by the owner), and recovers records after a crash.
 * @throws CallsyncError SPOOL_UNUSABLE, SPOOL_IN_USE, SPOOL_LOCK_UNSUPPORTED
 */
export const openSpool = async (options: SpoolOptions) => {
  const { dir, log } = options;
  await makeFolder(dir, log);
  const lock = await files.lockSpool(dir, { waitMs: options.lockWaitMs });
  try {
    const sealed: SealedSegment[] = [];
    const { paths, nextNumber } = await files.takeOverSegments(dir);
    for (const path of paths) {
      const segment = await files.recoverSegment(path);
      if (segment.cutBytes > 0) log.warn({ bytes: segment.cutBytes }, 'Cut off a half-written record of the spool.');
      if (segment.damaged) tellDamaged(log, path);
      if (segment.records === 0 && !segment.damaged) await files.discardSegment(dir, segment);
      else sealed.push(segment);
    }
    const records = sealed.reduce((sum, segment) => sum + segment.records, 0);
    if (records > 0) log.info({ records }, 'Deliveries wait in the spool.');
    const spool = createSpool(options, lock, sealed, nextNumber);
    await spool.expire();
    return spool;
  } catch (error) {
    await lock.release();
    throw error;
  }
};

const tellDamaged = (log: ReceiverLog, file: string): void =>
  log.error({ file }, 'A spool file is damaged; its other records are kept.');

const makeFolder = async (dir: string, log: ReceiverLog): Promise<void> => {
  try {
    await mkdir(dirname(dir), passable);
    await mkdir(dir, { recursive: true, mode: 0o700 });
    await appendFile(join(dir, 'lock'), '', { mode: 0o600 });
  } catch (cause) {
    throw terminal('SPOOL_UNUSABLE', `The spool folder ${dir} cannot be opened (${errorCode(cause)}).`, { cause });
  }
  // An existing folder may be open to other users, but it holds call data.
  if (((await stat(dir)).mode & 0o077) === 0) return;
  await chmod(dir, 0o700).catch((error: unknown) =>
    log.warn({ code: errorCode(error), dir }, 'Other users can open the spool folder, and its mode cannot be changed.'),
  );
};

/** @param firstNumber of the next file */
const createSpool = (options: SpoolOptions, firstLock: SpoolLock, sealed: SealedSegment[], firstNumber: number) => {
  const { dir, config, log } = options;
  let lock = firstLock;
  let nextNumber = firstNumber;
  let damagedBytes = 0;
  let parked = { records: 0, bytes: 0 };
  let writer: Awaited<ReturnType<typeof files.createSegment>> | undefined;
  let writing: Promise<void> = Promise.resolve();
  /** Part of the oldest segment that the store has. */
  let drained = { bytes: 0, records: 0 };
  let reading: LastRead | undefined;
  let full = false;
  let free = { bytes: 0, readAt: Number.NEGATIVE_INFINITY };

  /** Deletes damaged files that have been kept for long enough. */
  const expire = async (): Promise<void> => {
    const { bytes, deleted } = await files.expireDamaged(dir, new Date(Date.now() - config.damaged_retention));
    damagedBytes = bytes;
    if (deleted > 0) log.info({ files: deleted }, 'Deleted damaged spool files after webhook.spool.damaged_retention.');
  };
  const expiry = setInterval(() => expire().catch(() => {}), expiryIntervalMs).unref();

  const status = () => {
    const parts = writer === undefined ? sealed : [...sealed, writer.written()];
    return {
      records: parts.reduce((sum, part) => sum + part.records, 0) - drained.records,
      bytes: parts.reduce((sum, part) => sum + part.bytes, damagedBytes + parked.bytes),
      /** Arrival of the oldest delivery that waits. */
      oldest: reading?.deliveries[0]?.receivedAt ?? parts.find((part) => part.oldest)?.oldest,
      /** Deliveries that the store refuses; they are not among `records`. */
      parked: parked.records,
      /** Whether the last delivery offered was refused for want of room, or could not be written. */
      full,
    };
  };

  const seal = async (): Promise<void> => {
    const segment = writer?.seal();
    writer = undefined;
    if (segment === undefined) return;
    if (segment.records > 0) sealed.push(segment);
    else await files.discardSegment(dir, segment).catch(() => {});
  };

  /** Works on the file that is written to, after earlier such work. */
  const inTurn = (work: () => Promise<void>): Promise<void> => {
    const done = writing.then(work);
    writing = done.catch(() => {});
    return done;
  };

  const room = async (): Promise<number> => {
    if (performance.now() - free.readAt > freeSpaceMs) {
      const disk = await statfs(dir).catch(() => undefined);
      if (disk === undefined) return 0;
      free = { bytes: disk.bavail * disk.bsize, readAt: performance.now() };
    }
    return Math.min(config.max_bytes - status().bytes, free.bytes - config.min_free_bytes);
  };

  /** Locks the folder again where somebody removed the lock file or the whole folder, unless another receiver has it now. */
  const keepLock = async (): Promise<void> => {
    if (await lock.isHeld()) return;
    await makeFolder(dir, log);
    const again = await files.lockSpool(dir, { waitMs: 0 });
    await lock.release();
    lock = again;
    await seal();
  };

  const write = async (bytes: Buffer, records: number, oldest: Date): Promise<void> => {
    if (bytes.length > (await room())) {
      if (!full) log.error({ bytes: status().bytes }, 'The spool is full; the receiver refuses deliveries.');
      full = true;
      throw transient('SPOOL_FULL', 'The spool is full.');
    }
    try {
      await keepLock();
      if (writer !== undefined && writer.written().bytes >= config.segment_bytes) await seal();
      writer ??= await files.createSegment(dir, nextNumber++);
      await writer.append(bytes, records, oldest);
      free.bytes -= bytes.length;
      full = false;
    } catch (error) {
      full = true;
      log.error({ code: errorCode(error) }, 'The spool cannot be written to.');
      // A failed sync leaves unknown bytes on disk: never append to them.
      await seal();
      throw transient('SPOOL_FAILED', 'callsync cannot write to the spool.', { cause: error });
    }
  };

  const forgetOldest = (): void => {
    sealed.shift();
    drained = { bytes: 0, records: 0 };
    full = false;
  };

  const discardOldest = async (segment: SealedSegment): Promise<void> => {
    await files.discardSegment(dir, segment);
    if (segment.damaged) damagedBytes += segment.bytes;
    forgetOldest();
  };

  /** A lost or unreadable file must not hold up the files after it. */
  const giveUp = async (segment: SealedSegment, error: unknown): Promise<void> => {
    const code = errorCode(error);
    const left = { file: segment.path, records: segment.records - drained.records };
    if (code === 'ENOENT') {
      log.error(left, 'A spool file is missing, so its deliveries are lost.');
      forgetOldest();
    } else if (code === 'EIO') {
      log.error(left, 'A spool file cannot be read; it is kept as damaged.');
      await discardOldest({ ...segment, damaged: true });
    } else throw error;
  };

  /** Takes away the deliveries that `read` returned last: the store has them. */
  const advance = async (): Promise<void> => {
    const [segment] = sealed;
    if (segment === undefined || reading === undefined) return;
    const { end, deliveries } = reading;
    reading = undefined;
    drained = { bytes: end, records: drained.records + deliveries.length };
    if (end >= segment.bytes) await discardOldest(segment);
  };

  return {
    expire,
    status,
    advance,
    /** Durable when it resolves; rejects with a transient error when there is no room or the disk fails. */
    append: async (deliveries: readonly Delivery[]): Promise<void> => {
      const [first] = deliveries;
      if (first === undefined) return;
      const bytes = Buffer.concat(deliveries.map((one) => files.encodeRecord(one)));
      await inTurn(() => write(bytes, deliveries.length, first.receivedAt));
    },
    /** The oldest deliveries, at most `limit` and 8 MiB, at least one; none when nothing waits. Deliveries stay until `advance`. */
    read: async (limit: number): Promise<readonly Delivery[]> => {
      for (;;) {
        if (sealed.length === 0) await inTurn(seal);
        const [segment] = sealed;
        if (segment === undefined) return [];
        try {
          reading = await readFrom(segment, drained.bytes, limit);
        } catch (error) {
          await giveUp(segment, error);
          continue;
        }
        if (reading.damaged && !segment.damaged) tellDamaged(log, segment.path);
        const damaged = segment.damaged || reading.damaged;
        sealed[0] = { ...segment, damaged };
        if (reading.deliveries.length > 0) return reading.deliveries;
        await discardOldest(sealed[0]);
      }
    },
    /** Takes away the only delivery that `read` returned last, and keeps it in a separate file until the next start. */
    park: async (reason: string): Promise<void> => {
      const [delivery] = reading?.deliveries ?? [];
      if (delivery === undefined) return;
      const record = files.encodeRecord(delivery, reason);
      await files.parkRecord(dir, nextNumber++, record);
      parked = { records: parked.records + 1, bytes: parked.bytes + record.length };
      await advance();
    },
    close: async (): Promise<void> => {
      clearInterval(expiry);
      await inTurn(seal);
      await lock.release();
    },
  };
};

/** @param start in the segment */
const readFrom = async (segment: SealedSegment, start: number, limit: number): Promise<LastRead> => {
  const deliveries: Delivery[] = [];
  let [bytes, end, damaged] = [0, start, false];
  await using file = await open(segment.path, 'r');
  for await (const found of files.readRecords(file, start, segment.bytes)) {
    deliveries.push(found.delivery);
    bytes += found.end - found.start;
    damaged ||= found.start > end;
    end = found.end;
    if (deliveries.length >= limit || bytes >= readBytes) return { deliveries, end, damaged };
  }
  return { deliveries, end: segment.bytes, damaged: damaged || end < segment.bytes };
};
