/** A real Temporal server on loopback, kept in one file, for those who have not configured a cluster. */
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Connection } from '@temporalio/client';
import { terminal } from '../../errors.ts';
import {
  findFreePort,
  isAlive,
  letOutlive,
  sendSignal,
  startLocalProcess,
  stopLocalProcess,
} from '../local-process.ts';
import { type ServerUse, useServer } from '../server-users.ts';
import { locateTemporalCli } from './locate-cli.ts';

export type SearchAttributeKind = 'Text' | 'Keyword' | 'Int' | 'Double' | 'Bool' | 'Datetime' | 'KeywordList';

export interface TemporalDevServerOptions {
  /** Folder of this server alone: its database file, its log, its last ports. */
  readonly dataDir: string;
  /** 0 or absent = the port used last if it is free, else any free one. */
  readonly port?: number;
  readonly uiPort?: number;
  /** True leaves the web interface out. */
  readonly headless?: boolean;
  /** Namespaces beside `default`. */
  readonly namespaces?: readonly string[];
  /** Registered in every namespace; those that exist already are left as they are. */
  readonly searchAttributes?: Readonly<Record<string, SearchAttributeKind>>;
  /** Settings of the server, by their dotted names. */
  readonly dynamicConfig?: Readonly<Record<string, string | number | boolean>>;
  readonly cliPath?: string | undefined;
  readonly log?: (message: string) => void;
}

export interface TemporalDevServer {
  /** host:port of the gRPC front end. */
  readonly address: string;
  readonly uiUrl: string | undefined;
  readonly pid: number;
  /** False: the server was running already. */
  readonly started: boolean;
  /** Ends our use of it; the last user, in this process or another, ends the server, whoever started it. */
  stop(): Promise<void>;
}

/** What is kept beside the database, so that a second process joins and a restart keeps its addresses. */
interface Ports {
  readonly pid: number;
  readonly port: number;
  readonly uiPort: number | undefined;
}

const startDeadlineMs = 60_000;
const stopDeadlineMs = 15_000;

/** Starts the server, or joins the one that already runs on this data. Errors: `CallsyncError` `TEMPORAL_…`. */
export const startTemporalDevServer = async (options: TemporalDevServerOptions): Promise<TemporalDevServer> => {
  const home = resolve(options.dataDir);
  await mkdir(home, { recursive: true });
  const use = useServer(home);
  try {
    return await joinOrLaunch(home, options, use);
  } catch (cause) {
    use.leave();
    throw cause;
  }
};

const joinOrLaunch = async (
  home: string,
  options: TemporalDevServerOptions,
  use: ServerUse,
): Promise<TemporalDevServer> => {
  const last = await readPorts(home);
  if (last !== undefined && isAlive(last.pid) && (await isReady(last.port, options))) return describe(last, false, use);
  const cli = await locateTemporalCli({ configured: options.cliPath, log: options.log ?? (() => undefined) });
  const deadline = Date.now() + startDeadlineMs;
  while (true) {
    const outcome = await launch(cli, home, last, options, deadline);
    if (typeof outcome !== 'string') return describe(outcome, true, use);
    // A server that is still going down holds the file for some seconds.
    if (!outcome.includes('SQLITE_BUSY') || Date.now() > deadline) {
      throw terminal('TEMPORAL_START', `The Temporal development server did not start: ${outcome}`, {
        hint: `See ${join(home, 'temporal.log')}, or set temporal.address to a server of your own.`,
      });
    }
    const winner = await readPorts(home);
    if (winner !== undefined && isAlive(winner.pid) && (await isReady(winner.port, options))) {
      return describe(winner, false, use);
    }
    await delay(250);
  }
};

const describe = (ports: Ports, started: boolean, use: ServerUse): TemporalDevServer => {
  use.of(ports.pid);
  letOutlive(ports.pid);
  const leaveAtExit = () => void (use.leave() && sendSignal(ports.pid, 'SIGTERM'));
  process.once('exit', leaveAtExit);
  return {
    address: `127.0.0.1:${ports.port}`,
    uiUrl: ports.uiPort === undefined ? undefined : `http://127.0.0.1:${ports.uiPort}`,
    pid: ports.pid,
    started,
    async stop() {
      process.off('exit', leaveAtExit);
      if (!use.leave()) return;
      await stopLocalProcess(ports.pid, { signal: 'SIGTERM', lastSignal: 'SIGKILL', deadlineMs: stopDeadlineMs });
    },
  };
};

/** The addresses of the ready server, or why it ended. */
const launch = async (
  cli: string,
  home: string,
  last: Ports | undefined,
  options: TemporalDevServerOptions,
  deadline: number,
): Promise<Ports | string> => {
  const port = options.port || (await findFreePort(last?.port));
  const uiPort = options.headless ? undefined : options.uiPort || (await findFreePort(last?.uiPort));
  const logFile = join(home, 'temporal.log');
  await rm(logFile, { force: true });
  const server = startLocalProcess({
    program: cli,
    args: [
      ...['server', 'start-dev', '--ip', '127.0.0.1', '--port', String(port)],
      ...(uiPort === undefined ? ['--headless'] : ['--ui-port', String(uiPort)]),
      ...['--db-filename', join(home, 'temporal.db')],
      // A third of the time per activity under load, and still safe when the server is killed.
      ...['--sqlite-pragma', 'journal_mode=WAL', '--sqlite-pragma', 'synchronous=NORMAL'],
      ...(options.namespaces ?? []).flatMap((name) => ['--namespace', name]),
      ...Object.entries(options.searchAttributes ?? {}).flatMap((pair) => ['--search-attribute', pair.join('=')]),
      ...Object.entries(options.dynamicConfig ?? {}).flatMap((pair) => ['--dynamic-config-value', pair.join('=')]),
    ],
    cwd: home,
    logFile,
    exitSignal: 'SIGTERM',
  });
  while (server.failure() === undefined && Date.now() < deadline) {
    if (await isReady(port, options)) {
      const ports = { pid: server.pid, port, uiPort };
      await writePorts(home, ports);
      return ports;
    }
    await delay(50);
  }
  sendSignal(server.pid, 'SIGKILL');
  const lastLine = (await readFile(logFile, 'utf8')).trim().split('\n').at(-1);
  return lastLine || server.failure() || `no answer within ${startDeadlineMs / 1000} s`;
};

/** Ready means: every namespace answers and knows every search attribute. */
const isReady = async (port: number, options: TemporalDevServerOptions): Promise<boolean> => {
  let connection: Connection | undefined;
  try {
    connection = await Connection.connect({ address: `127.0.0.1:${port}`, connectTimeout: 1_000 });
    const wanted = Object.keys(options.searchAttributes ?? {});
    for (const namespace of ['default', ...(options.namespaces ?? [])]) {
      await connection.workflowService.describeNamespace({ namespace });
      if (wanted.length === 0) continue;
      const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
      if (!wanted.every((name) => name in customAttributes)) return false;
    }
    return true;
  } catch {
    return false;
  } finally {
    await connection?.close();
  }
};

const readPorts = async (home: string): Promise<Ports | undefined> => {
  try {
    return JSON.parse(await readFile(join(home, 'temporal.json'), 'utf8')) as Ports;
  } catch {
    return undefined;
  }
};

const writePorts = async (home: string, ports: Ports): Promise<void> => {
  const partial = join(home, `temporal.json.${process.pid}`);
  await writeFile(partial, JSON.stringify(ports));
  await rename(partial, join(home, 'temporal.json'));
};
