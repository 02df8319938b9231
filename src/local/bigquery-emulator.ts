/** A local BigQuery on loopback, for demos and tests: REST, and gRPC for the Storage APIs. Not the real service. */

import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, open, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join, resolve } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { request as send } from 'undici';
import { terminal } from '../lib/errors.ts';
import { loadTryLock } from '../lib/file-lock.ts';
import { minimalEnvironment, type StopRules, startServer, stopLocalProcess } from './local-process.ts';
import { cacheFolderOf, findInstalled, makeCacheFolder } from './locate-program.ts';

const startDeadlineMs = 90_000;
const stopRules: StopRules = { signal: 'SIGTERM', lastSignal: 'SIGKILL', stopDeadlineMs: 15_000 };

/** Installs the emulator first where that has not been done. Errors: `CallsyncError` `BIGQUERY_EMULATOR`. */
export const startBigQueryEmulator = async (options: {
  /** Folder for its log and, unless `ephemeral`, its data, which the next start finds again. */
  readonly dataDir: string;
  /** True keeps everything in memory. */
  readonly ephemeral?: boolean;
  /** Project of requests that name none; `demo` by default. */
  readonly project?: string;
  /** 0 or absent = any free port. */
  readonly restPort?: number;
  readonly grpcPort?: number;
  /** Environment with CALLSYNC_BQEMULATOR and PATH; by default that of this process. */
  readonly env?: NodeJS.ProcessEnv;
  readonly log?: (message: string) => void;
}) => {
  const { project = 'demo', log = () => undefined } = options;
  const { program, home: ownHome } = await locateEmulator({ log, env: options.env });
  const env = ownHome === undefined ? {} : { HOME: ownHome };
  const home = resolve(options.dataDir);
  await mkdir(home, { recursive: true });
  const logFile = join(home, 'bqemulator.log');
  await rm(logFile, { force: true });
  const args = [
    ...['start', '--project', project, '--rest-host', '127.0.0.1', '--grpc-host', '127.0.0.1'],
    ...['--rest-port', '0', '--grpc-port', String(options.grpcPort ?? 0)],
    ...(options.ephemeral ? ['--ephemeral'] : ['--persistent', '--data-dir', join(home, 'data')]),
    ...['--log-format', 'json', '--log-level', 'info'],
  ];
  let upstreamPort = 0;
  const queue = createQueue(() => upstreamPort);
  try {
    await once(queue.listen(options.restPort ?? 0, '127.0.0.1'), 'listening');
  } catch (cause) {
    throw terminal('BIGQUERY_EMULATOR', `The local BigQuery cannot listen on port ${options.restPort}.`, {
      hint: 'callsync bigquery-emulator --port 0 takes any free port.',
      cause,
    });
  }
  // Does not keep a process alive, nor does the emulator.
  queue.unref();
  const outcome = await startServer(
    { program, args, cwd: home, logFile, env },
    { ...stopRules, startDeadlineMs, probe: () => findPorts(logFile) },
  );
  if ('failure' in outcome) {
    queue.close();
    throw terminal('BIGQUERY_EMULATOR', `The local BigQuery did not start: ${outcome.failure}.`, {
      hint: `See ${logFile}.`,
    });
  }
  const { pid, ready } = outcome;
  upstreamPort = ready.rest;
  return {
    /** For the client's `apiEndpoint`; no credentials. */
    restUrl: `http://127.0.0.1:${(queue.address() as AddressInfo).port}`,
    /** host:port of the Storage Read and Write APIs, without TLS. */
    grpcAddress: `127.0.0.1:${ready.grpc}`,
    project,
    pid,
    async stop() {
      queue.close();
      queue.closeAllConnections();
      await stopLocalProcess(pid, stopRules);
    },
  };
};

/** Longer than any client keeps an idle connection, so that none is closed under a request. */
const keepAliveTimeout = 120_000;

/**
 * Lets one request at a time through to the emulator. The emulator runs all statements on one connection to DuckDB from
 * several threads. An overlapping listing can therefore get the rows of another statement (bqemulator 1.4.0).
 */
const createQueue = (upstreamPort: () => number): Server => {
  let last: Promise<void> = Promise.resolve();
  return createServer({ keepAliveTimeout, requestTimeout: 0 }, async (request, response) => {
    const body = await buffer(request).catch(() => undefined);
    if (body === undefined) return;
    // A lost emulator is a lost connection.
    last = last.then(() => forward(upstreamPort(), request, body, response)).catch(() => void response.destroy());
  });
};

/** Resolves when the emulator has answered, also where the client has left. */
const forward = async (port: number, request: IncomingMessage, body: Buffer, response: ServerResponse) => {
  const { connection: _, 'content-length': __, 'transfer-encoding': ___, ...headers } = request.headers;
  const answer = await send(`http://127.0.0.1:${port}${request.url}`, {
    ...{ method: request.method as 'GET', headers, body: body.length === 0 ? null : body },
    ...{ reset: true, headersTimeout: 0, bodyTimeout: 0 },
  });
  const bytes = Buffer.from(await answer.body.arrayBuffer());
  const { connection: ____, 'transfer-encoding': _____, ...rest } = answer.headers;
  response.writeHead(answer.statusCode, { ...rest, 'content-length': bytes.length }).end(bytes);
};

/** The emulator writes its ports into its log once it listens, gRPC last. */
const findPorts = async (logFile: string): Promise<{ rest: number; grpc: number } | undefined> => {
  const lines = (await readFile(logFile, 'utf8').catch(() => '')).split('\n');
  const rest = findPort(lines, 'rest.listen');
  const grpc = findPort(lines, 'grpc.listen');
  return rest !== undefined && grpc !== undefined && (await answers(rest)) ? { rest, grpc } : undefined;
};

const findPort = (lines: readonly string[], event: string): number | undefined => {
  const line = lines.find((candidate) => candidate.startsWith('{') && candidate.includes(`"event": "${event}"`));
  return line === undefined ? undefined : (JSON.parse(line) as { port: number }).port;
};

const answers = (port: number): Promise<boolean> =>
  fetch(`http://127.0.0.1:${port}/bigquery/v2/projects/demo/datasets`).then(
    ({ ok }) => ok,
    () => false,
  );

/** Finds the local BigQuery (`bqemulator`, a Python program), or installs it into our cache folder. */

const run = promisify(execFile);
const emulatorVersion = '1.4.0';
const duckdbVersion = '1.5.5';
const quietInstall = ['install', '--no-input', '--quiet', '--disable-pip-version-check'];
const packages = [
  `bqemulator==${emulatorVersion}`,
  `duckdb==${duckdbVersion}`,
  `duckdb-extension-spatial==${duckdbVersion}`,
  'numpy',
];

/** DuckDB fetches this extension from the internet at its first start; the wheel contains it. */
const copyExtension = `
import duckdb, duckdb_extension_spatial, pathlib, shutil
platform = duckdb.sql('PRAGMA platform').fetchone()[0]
target = pathlib.Path.home() / '.duckdb' / 'extensions' / 'v${duckdbVersion}' / platform
target.mkdir(parents=True, exist_ok=True)
source = next(pathlib.Path(duckdb_extension_spatial.__path__[0]).rglob('spatial.duckdb_extension'))
if not (target / source.name).exists():
    shutil.copy(source, target / source.name)
`;

/**
 * In this order: CALLSYNC_BQEMULATOR, PATH, our cache, an installation into the cache.
 * `home` = home folder that holds its DuckDB extension; undefined for a program that somebody else installed.
 */
export const locateEmulator = async (input: {
  readonly env?: NodeJS.ProcessEnv | undefined;
  readonly log: (message: string) => void;
}) => {
  const { env = process.env, log } = input;
  const installed = await findInstalled('bqemulator', {
    configured: env.CALLSYNC_BQEMULATOR,
    env,
    refuse: (path) =>
      terminal('BIGQUERY_EMULATOR', `There is no program at ${path}, as CALLSYNC_BQEMULATOR says.`, {
        hint: 'Correct CALLSYNC_BQEMULATOR, or remove it.',
      }),
  });
  if (installed !== undefined) return { program: installed };
  const folder = cacheFolderOf(`bqemulator-${emulatorVersion}`, env);
  await makeCacheFolder(folder);
  const tryLock = await loadTryLock();
  const lock = await open(join(folder, 'installation.lock'), 'a+');
  try {
    while (!tryLock(lock.fd)) await delay(200);
    const ready = await stat(join(folder, 'ready')).catch(() => undefined);
    if (ready === undefined) await install(folder, log);
  } finally {
    await lock.close();
  }
  return { program: join(folder, 'venv', 'bin', 'bqemulator'), home: homeIn(folder) };
};

/** A separate home, because other programs may clear DuckDB's folder in the user's home. */
const homeIn = (folder: string): string => join(folder, 'home');

const install = async (folder: string, log: (message: string) => void): Promise<void> => {
  log(`Installing the local BigQuery (bqemulator ${emulatorVersion}) into ${folder}, once: about a minute, 600 MB.`);
  const venv = join(folder, 'venv');
  await rm(venv, { recursive: true, force: true });
  try {
    await run('python3', ['-m', 'venv', venv]);
    await run(join(venv, 'bin', 'pip'), [...quietInstall, ...packages]);
    await mkdir(homeIn(folder), { recursive: true });
    const env = { ...minimalEnvironment(), HOME: homeIn(folder) };
    await run(join(venv, 'bin', 'python'), ['-c', copyExtension], { env });
    await writeFile(join(folder, 'ready'), '');
  } catch (cause) {
    const said = (cause as { stderr?: string }).stderr?.trim().split('\n').at(-1) ?? (cause as Error).message;
    throw terminal('BIGQUERY_EMULATOR', `The local BigQuery could not be installed: ${said}`, {
      hint: 'Install Python 3.11 or newer with venv, check that pip reaches its package index, and try again.',
      cause,
    });
  }
};
