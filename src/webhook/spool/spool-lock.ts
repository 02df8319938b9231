/** One receiver at a time per spool folder. */
import { open, readFile, rm, stat, utimes } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { terminal } from '../../errors.ts';

export interface SpoolLock {
  release(): Promise<void>;
}

const beatMs = 2_000;
const staleMs = 10_000;

/**
 * Waits at most `staleMs` for the lock of a receiver on another host (a replaced container); one whose process is
 * gone on this host is taken over at once. Throws when another receiver holds the folder.
 */
export const lockSpool = async (dir: string): Promise<SpoolLock> => {
  const path = join(dir, 'lock');
  const mine = JSON.stringify({ pid: process.pid, host: hostname() });
  const giveUpAt = Date.now() + staleMs + beatMs;
  while (!(await createLock(path, mine))) {
    const owner = await ownerOf(path);
    if (owner === 'gone') await rm(path, { force: true });
    else if (owner === 'here' || Date.now() > giveUpAt) {
      throw terminal('SPOOL_IN_USE', `Another receiver uses the spool folder ${dir}.`, {
        hint: 'Stop it, or give each receiver its own webhook.spool.dir.',
      });
    } else await sleep(beatMs / 4);
  }
  const timer = setInterval(() => {
    const now = new Date();
    utimes(path, now, now).catch(() => {});
  }, beatMs);
  timer.unref();
  return {
    async release() {
      clearInterval(timer);
      await rm(path, { force: true });
    },
  };
};

const createLock = async (path: string, content: string): Promise<boolean> => {
  try {
    const file = await open(path, 'wx', 0o600);
    await file.writeFile(content);
    await file.close();
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false;
    throw error;
  }
};

const ownerOf = async (path: string): Promise<'gone' | 'here' | 'elsewhere'> => {
  try {
    const { mtimeMs } = await stat(path);
    if (Date.now() - mtimeMs > staleMs) return 'gone';
    const { pid, host } = JSON.parse(await readFile(path, 'utf8')) as { pid: number; host: string };
    if (host !== hostname()) return 'elsewhere';
    // A lock of one's own number was left by a process before (numbers start anew in a container).
    return pid !== process.pid && isAlive(pid) ? 'here' : 'gone';
  } catch {
    // Just released, or not yet written.
    return 'elsewhere';
  }
};

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
};
