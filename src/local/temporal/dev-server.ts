/** A real Temporal server on loopback with its data in one file, if no cluster is configured. */
import { chmod, mkdir, readFile, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { Connection } from '@temporalio/client';
import { type CallsyncError, terminal } from '../../lib/errors.ts';
import { replaceFile } from '../../lib/new-folder.ts';
import { parseQuietly } from '../../lib/parse-json.ts';
import { findFreePort, isAlive, type StopRules, startServer } from '../local-process.ts';
import { shareServer } from '../shared-server.ts';
import { locateTemporalCli } from './locate-cli.ts';

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

/**
 * Undefined while a stopping server still holds the database file for some seconds, or if another process took the
 * port.
 */
const launch = async (home: string, options: TemporalDevServerOptions): Promise<Ports | undefined> => {
  const { namespace = 'default' } = options;
  const program = await locateTemporalCli({ configured: options.cliPath, log: options.log ?? (() => undefined) });
  const last = await readPorts(home);
  const port = options.port || (await findFreePort(last?.port));
  const uiPort = options.headless ? undefined : options.uiPort || (await findFreePort(last?.uiPort));
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
    const lines = (await readFile(logFile, 'utf8')).trim().split('\n');
    // A panic stands before its stack.
    const reason = lines.find((line) => line.startsWith('panic:')) || lines.at(-1) || outcome.failure;
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

const readPorts = async (home: string): Promise<Ports | undefined> => {
  const bytes = await readFile(join(home, 'temporal.json')).catch(() => Buffer.alloc(0));
  return parseQuietly(bytes) as Ports | undefined;
};
