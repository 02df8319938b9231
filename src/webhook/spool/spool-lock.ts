/**
 * One receiver at a time per spool folder. The kernel holds the lock as long as the file is open: a process that is frozen
 * keeps it, one that is killed loses it, and process ids, host names and clocks play no part.
 */
import { constants, type Stats } from 'node:fs';
import { type FileHandle, open, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type CallsyncError, terminal } from '../../lib/errors.ts';

export interface SpoolLock {
  /** False once the lock file was removed or replaced: then another receiver can lock the folder too. */
  isHeld(): Promise<boolean>;
  release(): Promise<void>;
}

/** A receiver that is just being replaced may still be closing. */
const waitMs = 3_000;
const retryMs = 100;

/** @throws CallsyncError SPOOL_IN_USE, SPOOL_LOCK_UNSUPPORTED */
export const lockSpool = async (dir: string, options: { readonly waitMs?: number } = {}): Promise<SpoolLock> => {
  const tryLock = await loadTryLock();
  const path = join(dir, 'lock');
  const giveUpAt = performance.now() + (options.waitMs ?? waitMs);
  for (;;) {
    const file = await open(path, constants.O_RDWR | constants.O_CREAT, 0o600);
    const isHeld = () => isFileAt(file, path);
    // The file may have been replaced between the two steps. It is never removed here: two receivers would then each lock
    // a file of their own.
    if (tryLock(file.fd) && (await isHeld())) return { isHeld, release: () => file.close() };
    await file.close();
    if (performance.now() > giveUpAt) throw inUse(dir);
    await sleep(retryMs);
  }
};

/** Whether the path still leads to the open file. */
export const isFileAt = async (file: FileHandle, path: string): Promise<boolean> => {
  const [opened, found] = await Promise.all([file.stat(), stat(path).catch((): Stats | undefined => undefined)]);
  return opened.nlink > 0 && found?.ino === opened.ino && found.dev === opened.dev;
};

const inUse = (dir: string): CallsyncError =>
  terminal('SPOOL_IN_USE', `Another receiver uses the spool folder ${dir}.`, {
    hint: 'Stop it, or give each receiver its own webhook.spool.dir.',
  });

/** Loaded on demand: it is native code, which other commands do not need. */
const loadTryLock = async (): Promise<(fd: number) => boolean> => {
  try {
    return (await import('fs-native-extensions')).tryLock;
  } catch (cause) {
    throw terminal('SPOOL_LOCK_UNSUPPORTED', 'Files cannot be locked on this platform.', {
      hint: 'Run the receiver on Linux (glibc), macOS or Windows, on x64 or arm64.',
      cause,
    });
  }
};
