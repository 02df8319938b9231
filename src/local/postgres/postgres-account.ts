/** PostgreSQL refuses to run as root: as root, its processes run as the account `postgres`. */
import { execFile } from 'node:child_process';
import { stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { promisify } from 'node:util';
import { terminal } from '../../lib/errors.ts';

const run = promisify(execFile);

export interface Account {
  readonly uid: number;
  readonly gid: number;
}

/** The account for PostgreSQL's processes, made if it is missing; undefined = our own, which is not root's. */
export const resolvePostgresAccount = async (): Promise<Account | undefined> => {
  if (process.getuid?.() !== 0) return undefined;
  const existing = await findAccount();
  if (existing !== undefined) return existing;
  try {
    await run('useradd', ['--system', '--user-group', '--no-create-home', '--shell', '/usr/sbin/nologin', 'postgres']);
  } catch (cause) {
    // Two processes may have tried at once: what counts is whether the account is there now.
    const made = await findAccount();
    if (made !== undefined) return made;
    throw terminal('STORE_NO_ACCOUNT', 'PostgreSQL does not run as root and no account "postgres" could be made.', {
      hint: 'Run callsync as another user, or make the account: useradd --system postgres.',
      cause,
    });
  }
  return findAccount();
};

const findAccount = async (): Promise<Account | undefined> => {
  try {
    const [uid, gid] = await Promise.all([run('id', ['-u', 'postgres']), run('id', ['-g', 'postgres'])]);
    return { uid: Number.parseInt(uid.stdout, 10), gid: Number.parseInt(gid.stdout, 10) };
  } catch {
    return undefined;
  }
};

/** Whether the account may pass through every folder above `path`, itself included. */
export const mayReach = async (account: Account, path: string): Promise<boolean> => {
  for (let folder = resolve(path); ; folder = dirname(folder)) {
    const info = await stat(folder).catch(() => undefined);
    if (info !== undefined) {
      const shift = info.uid === account.uid ? 6 : info.gid === account.gid ? 3 : 0;
      if (((info.mode >> shift) & 1) === 0) return false;
    }
    if (folder === dirname(folder)) return true;
  }
};
