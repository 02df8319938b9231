/** The parts of starting PostgreSQL: create its database folder, find it running, launch it. */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chown, mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { terminal } from '../../lib/errors.ts';
import { findFreePort, isAlive, minimalEnvironment, type StopRules, startServer } from '../local-process.ts';
import type { Account, PostgresBinaries } from './locate-binaries.ts';

interface Cluster {
  /** Holds the log, and the data folder while it is made. */
  readonly home: string;
  readonly data: string;
  readonly account: Account | undefined;
  readonly binaries: PostgresBinaries;
}

export interface RunningServer {
  readonly pid: number;
  readonly port: number;
}

/** The role that made the cluster. Nothing but this folder's files uses it. */
export const administrator = 'callsync_admin';
const startDeadlineMs = 60_000;
/** SIGINT is PostgreSQL's fast shutdown: it ends sessions and writes everything. SIGQUIT does not wait. */
export const stopRules: StopRules = { signal: 'SIGINT', lastSignal: 'SIGQUIT', stopDeadlineMs: 30_000 };
const [adminFile, ownerFile] = ['admin.password', 'callsync.password'];

/** The administrator's. @throws CallsyncError STORE_DATA_DIR for a folder of a version whose own role was the superuser. */
export const readAdminPassword = async (data: string): Promise<string> => {
  const password = await readFile(join(data, adminFile), 'utf8').catch((cause: { code?: string }) => {
    if (cause.code !== 'ENOENT') throw cause;
    throw terminal(
      'STORE_DATA_DIR',
      `An unreleased version of callsync, whose role was a superuser, created ${data}.`,
      {
        hint: `Move that folder away: callsync then creates a new database and reads all calls again. Or set store.data_dir to another folder.`,
      },
    );
  });
  return password.trim();
};

/** For `psql`. */
export const keepOwnerPassword = async (data: string, password: string): Promise<void> => {
  const partial = join(data, `${ownerFile}.${randomBytes(4).toString('hex')}`);
  await writeFile(partial, `${password}\n`, { mode: 0o600 });
  await rename(partial, join(data, ownerFile));
};

/** Into a folder of its own and then renamed: a crash, or two processes at once, never leave half a database behind. */
export const createCluster = async ({ home, data, account, binaries }: Cluster, durable: boolean): Promise<void> => {
  const suffix = randomBytes(4).toString('hex');
  const partial = `${data}.${suffix}`;
  const passwordFile = join(home, `password.${suffix}`);
  try {
    await mkdir(partial, { mode: 0o700 });
    await writeFile(passwordFile, `${randomBytes(24).toString('hex')}\n`, { mode: 0o600 });
    if (account !== undefined) {
      await chown(partial, account.uid, account.gid);
      await chown(passwordFile, account.uid, account.gid);
    }
    await promisify(execFile)(
      binaries.initdb,
      [
        ...['--pgdata', partial, '--username', administrator, '--pwfile', passwordFile, '--auth', 'scram-sha-256'],
        // The collation inside PostgreSQL: the same on every machine, whatever locales it has.
        ...['--encoding', 'UTF8', '--locale-provider', 'builtin', '--builtin-locale', 'C.UTF-8', '--locale', 'C'],
        ...(durable ? [] : ['--no-sync']),
      ],
      { ...account, cwd: '/', env: minimalEnvironment() },
    );
    await rename(passwordFile, join(partial, adminFile));
    await rename(partial, data).catch(async (cause: unknown) => {
      if ((await stat(join(data, 'PG_VERSION')).catch(() => undefined)) === undefined) throw cause;
    });
  } catch (cause) {
    throw terminal('STORE_INIT', `The embedded PostgreSQL database could not be created in ${home}.`, {
      hint: 'Check that the folder is writable and the disk has room, or set store.url to a server of your own.',
      cause,
    });
  } finally {
    await rm(partial, { recursive: true, force: true });
    await rm(passwordFile, { force: true });
  }
};

/** From postmaster.pid: line 1 the process, line 4 the port, line 8 the state. Waits while that server is starting. */
export const findRunning = async (data: string): Promise<RunningServer | undefined> => {
  const deadline = Date.now() + startDeadlineMs;
  while (Date.now() < deadline) {
    const { pid, port, ready } = await readPidFile(data);
    if (!isAlive(pid)) return undefined;
    // The file of a killed server says "ready" too, for as long as its process is not quite gone.
    if (ready && (await accepts(port))) return { pid, port };
    await delay(25);
  }
  return undefined;
};

/**
 * Starts a server of our own. Undefined = another process was quicker, also to the port, or the last server is not quite gone: look
 * again.
 */
export const launch = async (
  { home, data, account, binaries }: Cluster,
  wantedPort: number | undefined,
  settings: Readonly<Record<string, string>>,
): Promise<RunningServer | undefined> => {
  const port = wantedPort || (await findFreePort(await lastPort(data)));
  const logFile = join(home, 'postgres.log');
  const logStart = (await stat(logFile).catch(() => ({ size: 0 }))).size;
  const outcome = await startServer(
    {
      program: binaries.postgres,
      args: [
        ...['-D', data, '-p', String(port), '-c', 'listen_addresses=127.0.0.1', '-c', 'unix_socket_directories='],
        ...Object.entries(settings).flatMap(([key, value]) => ['-c', `${key}=${value}`]),
      ],
      cwd: '/',
      logFile,
      ...account,
    },
    {
      ...stopRules,
      startDeadlineMs,
      async probe(pid) {
        const file = await readPidFile(data);
        return file.pid === pid && file.ready ? true : undefined;
      },
    },
  );
  if ('ready' in outcome) return { pid: outcome.pid, port };
  const said = (await readFile(logFile)).subarray(logStart).toString();
  // PostgreSQL says one of these when a postmaster, or a child of a killed one, still holds the data.
  if (/lock file .* already exists|shared memory block .* still in use/.test(said)) return undefined;
  // A port that nobody asked for was free a moment ago.
  if (!wantedPort && /could not bind .*: Address already in use/.test(said)) return undefined;
  const reason = said.split('\n').findLast((line) => /FATAL|could not/.test(line)) ?? outcome.failure;
  throw terminal('STORE_START', `The embedded PostgreSQL did not start: ${reason}.`, {
    hint: `See ${logFile}, or set store.url to a server of your own.`,
  });
};

const readPidFile = async (data: string): Promise<RunningServer & { ready: boolean }> => {
  const lines = (await readFile(join(data, 'postmaster.pid'), 'utf8').catch(() => '')).split('\n');
  return { pid: Number(lines[0]), port: Number(lines[3]), ready: lines[7]?.trim() === 'ready' };
};

const lastPort = async (data: string): Promise<number> => {
  const options = await readFile(join(data, 'postmaster.opts'), 'utf8').catch(() => '');
  return Number(/"-p" "(\d+)"/.exec(options)?.[1] ?? 0);
};

const accepts = (port: number): Promise<boolean> => {
  return new Promise((done) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('error', () => done(false));
    socket.once('connect', () => {
      socket.destroy();
      done(true);
    });
  });
};
