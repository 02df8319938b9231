/** A local BigQuery on loopback, for demos and tests: REST, and gRPC for the Storage APIs. Not the real service. */
import { mkdir, readFile, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { terminal } from '../../lib/errors.ts';
import { type StopRules, startServer, stopLocalProcess } from '../local-process.ts';
import { locateEmulator } from './locate-emulator.ts';
import { type EmulatorQueue, openEmulatorQueue } from './request-queue.ts';

interface BigQueryEmulatorOptions {
  /** Folder for its log and, unless `ephemeral`, its data, which the next start finds again. */
  readonly dataDir: string;
  /** True keeps everything in memory. */
  readonly ephemeral?: boolean;
  /** Project of requests that name none; `demo` by default. */
  readonly project?: string;
  /** 0 or absent = any free port. */
  readonly restPort?: number;
  readonly grpcPort?: number;
  /** Where CALLSYNC_BQEMULATOR and PATH are looked up; that of this process by default. */
  readonly env?: NodeJS.ProcessEnv;
  readonly log?: (message: string) => void;
}

export interface BigQueryEmulator {
  /** For the client's `apiEndpoint`; no credentials. */
  readonly restUrl: string;
  /** host:port of the Storage Read and Write APIs, without TLS. */
  readonly grpcAddress: string;
  readonly project: string;
  readonly pid: number;
  stop(): Promise<void>;
}

const startDeadlineMs = 90_000;
const stopRules: StopRules = { signal: 'SIGTERM', lastSignal: 'SIGKILL', stopDeadlineMs: 15_000 };

/** Installs the emulator first where that has not been done. Errors: `CallsyncError` `BIGQUERY_EMULATOR`. */
export const startBigQueryEmulator = async (options: BigQueryEmulatorOptions): Promise<BigQueryEmulator> => {
  const { project = 'demo', log = () => undefined } = options;
  const { program, home: ownHome } = await locateEmulator({
    log,
    ...(options.env === undefined ? {} : { env: options.env }),
  });
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
  const outcome = await startServer(
    { program, args, cwd: home, logFile, env },
    { ...stopRules, startDeadlineMs, probe: () => findPorts(logFile) },
  );
  if ('failure' in outcome) {
    throw terminal('BIGQUERY_EMULATOR', `The local BigQuery did not start: ${outcome.failure}.`, {
      hint: `See ${logFile}.`,
    });
  }
  const { pid, ready: ports } = outcome;
  const queue = await openQueue(ports.rest, options.restPort ?? 0, pid);
  return {
    restUrl: `http://127.0.0.1:${queue.port}`,
    grpcAddress: `127.0.0.1:${ports.grpc}`,
    project,
    pid,
    async stop() {
      await queue.close();
      await stopLocalProcess(pid, stopRules);
    },
  };
};

const openQueue = async (upstreamPort: number, port: number, pid: number): Promise<EmulatorQueue> => {
  try {
    return await openEmulatorQueue(upstreamPort, port);
  } catch (cause) {
    await stopLocalProcess(pid, stopRules);
    throw terminal('BIGQUERY_EMULATOR', `The local BigQuery cannot listen on port ${port}.`, {
      hint: 'Choose another port, or 0 for any free one.',
      cause,
    });
  }
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

const answers = async (port: number): Promise<boolean> => {
  try {
    return (await fetch(`http://127.0.0.1:${port}/bigquery/v2/projects/demo/datasets`)).ok;
  } catch {
    return false;
  }
};
