/** A real Temporal server on loopback with its data in one file, if no cluster is configured. */

import { execFile } from 'node:child_process';
import { hash } from 'node:crypto';
import { chmod, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { Connection } from '@temporalio/client';
import { type CallsyncError, terminal } from '../lib/errors.ts';
import { replaceFile } from '../lib/new-folder.ts';
import { parseQuietly } from '../lib/parse-json.ts';
import { trimSlashes } from '../lib/trim-slashes.ts';
import { findFreePort, isAlive, type StopRules, shareServer, startServer } from './local-process.ts';
import { cacheFolderOf, findInstalled, isExecutable, makeCacheFolder } from './locate-program.ts';

interface TemporalDevServerOptions {
  /** Folder of this server alone: its database file, its log, its last ports. */
  readonly dataDir: string;
  /** 0 or absent = the port used last if it is free, else any free one. */
  readonly port?: number;
  readonly uiPort?: number;
  /** True leaves the web interface out. */
  readonly headless?: boolean;
  /** Made beside `default`. */
  readonly namespace?: string;
  readonly cliPath?: string | undefined;
  readonly log?: (message: string) => void;
}

/** Kept in a file beside the database, so that a second process can join and a restart keeps the addresses. */
type Ports = { readonly pid: number; readonly port: number; readonly uiPort: number | undefined };

const startDeadlineMs = 60_000;
const stopRules: StopRules = { signal: 'SIGTERM', lastSignal: 'SIGKILL', stopDeadlineMs: 15_000 };

/** Starts the server, or joins the one that already runs on this data. @throws CallsyncError TEMPORAL_… */
export const startTemporalDevServer = async (options: TemporalDevServerOptions) => {
  const home = resolve(options.dataDir);
  await mkdir(home, { recursive: true });
  // The server creates its database readable by everybody: nobody else may enter its folder.
  await chmod(home, 0o700);
  const { server, started, stop } = await shareServer(home, {
    ...stopRules,
    startDeadlineMs,
    async find() {
      const last = await readPorts(home);
      return last !== undefined && isAlive(last.pid) && (await isReady(last.port, options)) ? last : undefined;
    },
    launch: () => launch(home, options),
    blocked: () => startError(home, 'another process holds its database'),
  });
  return {
    /** host:port of the gRPC front end. */
    address: `127.0.0.1:${server.port}`,
    uiUrl: server.uiPort === undefined ? undefined : `http://127.0.0.1:${server.uiPort}`,
    pid: server.pid,
    /** False: the server was running already. */
    started,
    /**
     * Ends our use of it; the last user, in this process or another, ends the server, also when another one started
     * it.
     */
    stop,
  };
};

/** Whether a process of a server lives on the data in this folder. */
export const isTemporalRunning = async (home: string): Promise<boolean> => {
  const last = await readPorts(home);
  return last !== undefined && isAlive(last.pid);
};

const startError = (home: string, reason: string): CallsyncError =>
  terminal('TEMPORAL_START', `The Temporal development server did not start: ${reason}`, {
    hint: `See ${join(home, 'temporal.log')}, or set temporal.address to a server of your own.`,
  });

/** Undefined while the last server lives or still holds the database file, or if another process took the port. */
const launch = async (home: string, options: TemporalDevServerOptions): Promise<Ports | undefined> => {
  const { namespace = 'default' } = options;
  const program = await locateTemporalCli({ configured: options.cliPath, log: options.log ?? (() => undefined) });
  const last = await readPorts(home);
  // A server that lives and is too slow to answer: SQLite would let a second one work on its data, unknown to its workers.
  if (last !== undefined && isAlive(last.pid) && (await findFreePort(last.port)) !== last.port) return undefined;
  const { port, uiPort } = await choosePorts(last, options);
  const logFile = join(home, 'temporal.log');
  await rm(logFile, { force: true });
  const args = [
    ...['server', 'start-dev', '--ip', '127.0.0.1', '--port', String(port)],
    ...(uiPort === undefined ? ['--headless'] : ['--ui-port', String(uiPort)]),
    ...['--db-filename', join(home, 'temporal.db')],
    // A third of the time per activity under load, and still safe when the server is killed.
    ...['--sqlite-pragma', 'journal_mode=WAL', '--sqlite-pragma', 'synchronous=NORMAL'],
    ...(namespace === 'default' ? [] : ['--namespace', namespace]),
  ];
  const probe = async () => (await isReady(port, options)) || undefined;
  const outcome = await startServer({ program, args, cwd: home, logFile }, { ...stopRules, startDeadlineMs, probe });
  if ('failure' in outcome) {
    const reason = (await readReason(logFile)) || outcome.failure;
    if (reason.includes('SQLITE_BUSY') || isOtherPort(reason, [options.port, options.uiPort])) return undefined;
    throw startError(home, reason);
  }
  // SQLite gives files beside the database the mode of the database.
  for (const suffix of ['', '-wal', '-shm'])
    await chmod(join(home, `temporal.db${suffix}`), 0o600).catch(() => undefined);
  const ports = { pid: outcome.pid, port, uiPort };
  await replaceFile(join(home, 'temporal.json'), JSON.stringify(ports));
  return ports;
};

/** The last ports if they are free, unless others are asked for. */
const choosePorts = async (last: Ports | undefined, { port, uiPort, headless }: TemporalDevServerOptions) => ({
  port: port || (await findFreePort(last?.port)),
  uiPort: headless ? undefined : uiPort || (await findFreePort(last?.uiPort)),
});

/** The last line, or a panic, which stands before its stack. */
const readReason = async (logFile: string): Promise<string | undefined> => {
  const lines = (await readFile(logFile, 'utf8')).trim().split('\n');
  return lines.find((line) => line.startsWith('panic:')) ?? lines.at(-1);
};

/** Whether a port is taken that nobody asked for, such as one of the server's own choice: it was free a moment ago. */
const isOtherPort = (reason: string, asked: readonly (number | undefined)[]): boolean =>
  reason.includes('assigning ephemeral port') ||
  (reason.includes('address already in use') && !asked.some((port) => port && reason.includes(`:${port}:`)));

/** Whether its namespace answers. */
const isReady = async (port: number, { namespace = 'default' }: TemporalDevServerOptions): Promise<boolean> => {
  let connection: Connection | undefined;
  try {
    connection = await Connection.connect({ address: `127.0.0.1:${port}`, connectTimeout: 1_000 });
    await connection.workflowService.describeNamespace({ namespace });
    return true;
  } catch {
    return false;
  } finally {
    await connection?.close();
  }
};

const readPorts = async (home: string): Promise<Ports | undefined> =>
  parseQuietly(await readFile(join(home, 'temporal.json')).catch(() => '')) as Ports | undefined;

// Finds the Temporal CLI, which holds the development server; downloads or builds it when there is none.

const run = promisify(execFile);
const version = '1.5.1';
const program = 'temporal';
/** Longest time to find out that the release cannot be reached, in milliseconds. */
const reachMs = 5_000;
/** Longest silence of a transfer that has begun. */
const stallMs = 30_000;

interface LocateTemporalCliOptions {
  /** `temporal.cli` of the configuration; wins over everything, and must exist. */
  readonly configured?: string | undefined;
  /**
   * Environment with proxies of the download (HTTPS_PROXY, HTTP_PROXY, NO_PROXY) and a mirror of the releases
   * (CALLSYNC_TEMPORAL_RELEASES). By default, the environment of this process.
   */
  readonly env?: NodeJS.ProcessEnv;
  readonly log: (message: string) => void;
}

/** In this order: configured, CALLSYNC_TEMPORAL_CLI, PATH, our cache, the official release, a build by Go. Returns its path. */
export const locateTemporalCli = async (options: LocateTemporalCliOptions): Promise<string> => {
  const found = await findTemporalCli(options);
  if (found !== undefined) return found;
  const { env = process.env, log } = options;
  const folder = cacheFolder(env);
  await makeCacheFolder(folder);
  const partial = await mkdtemp(join(folder, 'partial-'));
  try {
    if (!(await download(partial, env, log))) await build(partial, env, log);
    await rename(join(partial, program), join(folder, program));
  } finally {
    await rm(partial, { recursive: true, force: true });
  }
  return join(folder, program);
};

/** The same without download and build; undefined if either would be needed. */
export const findTemporalCli = async (options: Omit<LocateTemporalCliOptions, 'log'>): Promise<string | undefined> => {
  const { configured, env = process.env } = options;
  const installed = await findInstalled(program, {
    configured: configured ?? env.CALLSYNC_TEMPORAL_CLI,
    env,
    refuse: (path) =>
      terminal('TEMPORAL_CLI', `There is no program at ${path}, the configured path of the Temporal CLI.`, {
        hint: 'Correct temporal.cli or CALLSYNC_TEMPORAL_CLI, or remove both.',
      }),
  });
  if (installed !== undefined) return installed;
  const cached = join(cacheFolder(env), program);
  return (await isExecutable(cached)) ? cached : undefined;
};

const cacheFolder = (env: NodeJS.ProcessEnv): string => cacheFolderOf(`temporal-${version}`, env);

/**
 * Unpacks the program of the official release into a folder once its archive has the published checksum. False when the release cannot
 * be reached, has nothing for this platform, or its transfer breaks. @throws CallsyncError TEMPORAL_CLI for a wrong checksum
 */
const download = async (folder: string, env: NodeJS.ProcessEnv, log: (message: string) => void): Promise<boolean> => {
  const releases = env.CALLSYNC_TEMPORAL_RELEASES || 'https://github.com/temporalio/cli/releases/download';
  const base = `${trimSlashes(releases)}/v${version}`;
  const architecture = process.arch === 'x64' ? 'amd64' : process.arch;
  const archive = `temporal_cli_${version}_${process.platform}_${architecture}.tar.gz`;
  // Knows proxies, and is loaded by the few that download.
  const { EnvHttpProxyAgent, fetch } = await import('undici');
  const ofEither = (name: string): string => env[name.toLowerCase()] ?? env[name] ?? '';
  const dispatcher = new EnvHttpProxyAgent({
    httpProxy: ofEither('HTTP_PROXY'),
    httpsProxy: ofEither('HTTPS_PROXY'),
    noProxy: ofEither('NO_PROXY'),
    bodyTimeout: stallMs,
  });
  const get = async (url: string, signal: AbortSignal | null = null): Promise<Buffer | undefined> => {
    const response = await fetch(url, { dispatcher, signal }).catch(() => undefined);
    return response?.ok === true ? await response.arrayBuffer().then(Buffer.from, () => undefined) : undefined;
  };
  try {
    const sums = (await get(`${base}/checksums.txt`, AbortSignal.timeout(reachMs)))?.toString().split('\n') ?? [];
    const wanted = /^[0-9a-f]{64}/.exec(sums.find((one) => one.trim().endsWith(` ${archive}`))?.trim() ?? '')?.[0];
    if (wanted === undefined) {
      log(`No release of the Temporal CLI ${version} for this machine could be reached.`);
      return false;
    }
    log(`Downloading the Temporal CLI ${version}, once, into ${cacheFolder(env)}.`);
    const bytes = await get(`${base}/${archive}`);
    if (bytes === undefined) {
      log('The download of the Temporal CLI failed.');
      return false;
    }
    if (hash('sha256', bytes) !== wanted)
      throw terminal(
        'TEMPORAL_CLI',
        `The downloaded ${archive} does not have its published checksum; callsync deleted it.`,
        { hint: 'Install the Temporal CLI yourself and set temporal.cli, or ask the operator of the proxy.' },
      );
    await writeFile(join(folder, archive), bytes, { mode: 0o600 });
    await run('tar', ['-xzf', join(folder, archive), '-C', folder, program]);
    return true;
  } finally {
    // Nothing that matters is under way, and a connection to a silent host must not hold up the process.
    await dispatcher.destroy();
  }
};

/** @throws CallsyncError TEMPORAL_CLI */
const build = async (folder: string, env: NodeJS.ProcessEnv, log: (message: string) => void): Promise<void> => {
  log(
    `Building the Temporal CLI ${version} with Go, once, into ${cacheFolder(env)}: ` +
      'about 3 minutes on 2 cores, 250 MB, plus 3.2 GB in the caches of Go.',
  );
  const began = Date.now();
  try {
    await run('go', ['install', `github.com/temporalio/cli/cmd/temporal@v${version}`], {
      env: { ...env, GOBIN: folder },
    });
  } catch (cause) {
    const { code, stderr = '' } = cause as { readonly code?: unknown; readonly stderr?: string };
    const said =
      code === 'ENOENT'
        ? 'The Temporal CLI was not found, could not be downloaded, and Go is not installed to build it.'
        : `The Temporal CLI could not be built: ${stderr.trim().split('\n').at(-1)}`;
    throw terminal('TEMPORAL_CLI', said, {
      hint: 'Install Go 1.25 or newer, or the Temporal CLI (https://docs.temporal.io/cli), or set temporal.address to a server.',
      cause,
    });
  }
  log(`Built the Temporal CLI in ${Math.round((Date.now() - began) / 1000)} s.`);
};
