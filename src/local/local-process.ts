/** Servers that we start for ourselves on loopback: PostgreSQL, Temporal's development server, the BigQuery emulator. */
import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

export interface LocalProcess {
  /** 0 when the program could not be started at all. */
  readonly pid: number;
  /** Why it is not running any more; undefined while it runs. */
  failure(): string | undefined;
}

export interface LocalProcessOptions {
  readonly program: string;
  readonly args: readonly string[];
  /** Takes standard output and standard error. */
  readonly logFile: string;
  readonly cwd: string;
  readonly env?: NodeJS.ProcessEnv;
  readonly uid?: number;
  readonly gid?: number;
  /** What ends it when we exit without having stopped it; SIGINT by default. */
  readonly exitSignal?: NodeJS.Signals;
}

/** What we started and still have to end, with the signal for it. */
const ours = new Map<number, NodeJS.Signals>();
let watchesExit = false;

const endAtExit = (pid: number, signal: NodeJS.Signals): void => {
  ours.set(pid, signal);
  if (watchesExit) return;
  watchesExit = true;
  process.once('exit', () => {
    for (const [started, ending] of ours) sendSignal(started, ending);
  });
};

/** From here on it may outlive us: somebody else decides about its end. */
export const letOutlive = (pid: number): void => {
  ours.delete(pid);
};

/** In a group of its own, so that Ctrl-C reaches us and not a server that we still need to stop properly. */
export const startLocalProcess = ({
  program,
  args,
  logFile,
  exitSignal = 'SIGINT',
  ...options
}: LocalProcessOptions): LocalProcess => {
  const output = openSync(logFile, 'a', 0o600);
  const child = spawn(program, args, { ...options, detached: true, stdio: ['ignore', output, output] });
  closeSync(output);
  const pid = child.pid ?? 0;
  if (pid > 0) endAtExit(pid, exitSignal);
  let failure: string | undefined;
  child.once('error', (cause) => {
    failure = cause.message;
  });
  child.once('exit', (code, name) => {
    letOutlive(pid);
    failure ??= `it ended with ${name ?? `code ${code}`}`;
  });
  child.unref();
  return { pid, failure: () => failure };
};

/** Asks with `signal`; after the deadline, insists with `lastSignal`. Resolves when the process is gone. */
export const stopLocalProcess = async (
  pid: number,
  { signal, lastSignal, deadlineMs }: { signal: NodeJS.Signals; lastSignal: NodeJS.Signals; deadlineMs: number },
): Promise<void> => {
  letOutlive(pid);
  sendSignal(pid, signal);
  const deadline = Date.now() + deadlineMs;
  while (isAlive(pid)) {
    if (Date.now() > deadline) sendSignal(pid, lastSignal);
    await delay(20);
  }
};

export const isAlive = (pid: number): boolean => {
  return sendSignal(pid, 0);
};

/** False when there is no such process. */
export const sendSignal = (pid: number, signal: NodeJS.Signals | 0): boolean => {
  if (!(pid > 0)) return false;
  try {
    return process.kill(pid, signal);
  } catch (cause) {
    return (cause as NodeJS.ErrnoException).code === 'EPERM';
  }
};

/** The wanted port on loopback if it is free, otherwise any free one. */
export const findFreePort = async (wanted = 0): Promise<number> => {
  return (await tryPort(wanted)) || (await tryPort(0));
};

const tryPort = (port: number): Promise<number> => {
  return new Promise((done) => {
    const probe = createServer();
    probe.once('error', () => done(0));
    probe.listen(port, '127.0.0.1', () => {
      const found = (probe.address() as AddressInfo).port;
      probe.close(() => done(found));
    });
  });
};
