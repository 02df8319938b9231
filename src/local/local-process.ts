/** Starts, keeps and stops server processes on loopback: PostgreSQL, Temporal's development server, the BigQuery emulator. */
import { type SpawnOptions, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { loadTryLock } from '../lib/file-lock.ts';
import { lazily, repeatEvery } from '../lib/timing.ts';

interface KeptServer {
  readonly pid: number;
  stop(): Promise<void>;
}

const lookEveryMs = 1_000;

/**
 * Watches the server until the returned function is called, which stops it. `start` must bring it back at the same address, where its clients connect again by
 * themselves. A start that fails is tried again.
 */
export const keepServer = (first: KeptServer, start: () => Promise<KeptServer>, say: (message: string) => void) => {
  let server = first;
  const stopLooking = repeatEvery(lookEveryMs, async () => {
    if (isAlive(server.pid)) return;
    say(`The server with process id ${server.pid} ended; callsync starts it again.`);
    try {
      await server.stop();
      server = await start();
    } catch (error) {
      say(`It did not start: ${(error as Error).message}`);
    }
  });
  return async () => {
    await stopLooking();
    await server.stop();
  };
};

/** `env` is added to `minimalEnvironment`. */
interface LocalProcessOptions extends Pick<SpawnOptions, 'cwd' | 'env' | 'uid' | 'gid'> {
  readonly program: string;
  readonly args: readonly string[];
  /** Takes standard output and standard error. */
  readonly logFile: string;
}

const passedOn = ['PATH', 'HOME', 'USER', 'LANG', 'LC_ALL', 'TZ', 'TMPDIR', 'LD_LIBRARY_PATH'];

/**
 * Environment that a server needs. The rest may hold secrets, and /proc/PID/environ shows it to the server's user.
 */
export const minimalEnvironment = (env = process.env): NodeJS.ProcessEnv =>
  Object.fromEntries(passedOn.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]])));

/** Processes that this process started and must end, each with its signal; `shareServer` decides about those it takes over. */
const started = new Map<number, NodeJS.Signals>();
process.once('exit', () => {
  for (const [pid, signal] of started) sendSignal(pid, signal);
});

type StartOutcome<T> = { readonly pid: number; readonly ready: T } | { readonly failure: string };

/**
 * Starts a server in a separate process group, so that Ctrl-C reaches only callsync, which stops the server properly.
 * Asks `probe` until it returns a value. A server that ends before, or is not ready after `startDeadlineMs`, is killed
 * with `rules.lastSignal`; then `failure` says why.
 */
export const startServer = async <T>(
  { program, args, logFile, env, ...options }: LocalProcessOptions,
  rules: StopRules & { readonly startDeadlineMs: number; probe(pid: number): Promise<T | undefined> },
): Promise<StartOutcome<T>> => {
  const output = openSync(logFile, 'a', 0o600);
  const child = spawn(program, args, {
    ...options,
    env: { ...minimalEnvironment(), ...env },
    detached: true,
    stdio: ['ignore', output, output],
  });
  closeSync(output);
  const { pid = 0 } = child;
  if (pid > 0) started.set(pid, rules.signal);
  let failure: string | undefined;
  child.once('error', (cause) => {
    failure = cause.message;
  });
  child.once('exit', (code, name) => {
    started.delete(pid);
    failure ??= `it ended with ${name ?? `code ${code}`}`;
  });
  child.unref();
  const deadline = Date.now() + rules.startDeadlineMs;
  while (failure === undefined && Date.now() < deadline) {
    const ready = await rules.probe(pid);
    if (ready !== undefined) return { pid, ready };
    await delay(25);
  }
  sendSignal(pid, rules.lastSignal);
  return { failure: failure ?? `it was not ready within ${rules.startDeadlineMs / 1000} s` };
};

export interface StopRules {
  readonly signal: NodeJS.Signals;
  /** Sent when the process has not ended after `stopDeadlineMs`. */
  readonly lastSignal: NodeJS.Signals;
  readonly stopDeadlineMs: number;
}

/** Resolves when the process is gone. */
export const stopLocalProcess = async (pid: number, { signal, lastSignal, stopDeadlineMs }: StopRules) => {
  started.delete(pid);
  sendSignal(pid, signal);
  const deadline = Date.now() + stopDeadlineMs;
  while (isAlive(pid)) {
    if (Date.now() > deadline) sendSignal(pid, lastSignal);
    await delay(20);
  }
};

/** Whether a process of that id runs, of any user. */
export const isAlive = (pid: number): boolean => sendSignal(pid, 0);

/** False when there is no such process. */
export const sendSignal = (pid: number, signal: NodeJS.Signals | 0): boolean => {
  if (!(pid > 0)) return false;
  try {
    return process.kill(pid, signal);
  } catch (cause) {
    return (cause as NodeJS.ErrnoException).code === 'EPERM';
  }
};

/** Linux gives ports from here on to programs that ask for any port. Other systems begin higher. */
const firstEphemeral = 32_768;

/**
 * The wanted port on loopback if it is free, otherwise a random one below `firstEphemeral`. The system gives no such port to
 * another program before the server of the caller takes it. If 20 of them are taken, any free port.
 */
export const findFreePort = async (wanted = 0): Promise<number> => {
  const drawn = Array.from({ length: 20 }, () => randomInt(10_000, firstEphemeral));
  for (const port of [wanted, ...drawn]) if (port > 0 && (await tryPort(port))) return port;
  return await tryPort(0);
};

const tryPort = (port: number): Promise<number> =>
  new Promise((done) => {
    const probe = createServer();
    probe.once('error', () => done(0));
    probe.listen(port, '127.0.0.1', () => {
      const found = (probe.address() as AddressInfo).port;
      probe.close(() => done(found));
    });
  });

// Servers that several callsync processes share. Commands on the same data join one server, and the last of them
// stops it. Each user shares a lock; the only holder is the last.

type Running = { readonly pid: number };

interface ServerRules<Server extends Running> extends StopRules {
  readonly startDeadlineMs: number;
  /** The server that runs on this data, if any. */
  find(): Promise<Server | undefined>;
  /** Starts one; undefined when another process was quicker or the last server still holds the data. */
  launch(): Promise<Server | undefined>;
  /** The error when neither succeeds before the deadline. */
  blocked(): Error;
}

const tryEveryMs = 100;

/**
 * Joins the server on the data in `home`, or starts one.
 * @returns the server. `started`: it was not running. `stop` ends our use, as an exit of the process does.
 * @throws the errors of `launch` and `blocked`, and CallsyncError SPOOL_LOCK_UNSUPPORTED
 */
export const shareServer = async <Server extends Running>(home: string, rules: ServerRules<Server>) => {
  const tryLock = await loadTryLock();
  const deadline = Date.now() + rules.startDeadlineMs;
  const openLock = (): number => openSync(join(home, 'users.lock'), 'a+', 0o600);
  mkdirSync(home, { recursive: true });
  const use = openLock();
  // Open from the start, because the folder may be gone when this user leaves.
  const alone = openLock();
  /** Synchronous, because an exiting process can do nothing else. If it is the last, nobody can join before `free`. */
  const leave = (): { readonly isLast: boolean; free(): void } => {
    closeSync(use);
    return { isLast: tryLock(alone), free: () => closeSync(alone) };
  };
  try {
    // Before looking: a server that is found afterwards is not ended by the user that leaves meanwhile.
    while (!tryLock(use, { shared: true })) await pause(deadline, rules);
    for (;;) {
      const running = await rules.find();
      const server = running ?? (await rules.launch());
      if (server === undefined) {
        await pause(deadline, rules);
        continue;
      }
      started.delete(server.pid);
      const leaveAtExit = () => void (leave().isLast && sendSignal(server.pid, rules.signal));
      process.once('exit', leaveAtExit);
      const stop = lazily(async () => {
        process.off('exit', leaveAtExit);
        const { isLast, free } = leave();
        // Another user may have started a server in place of a killed one.
        if (isLast) await stopLocalProcess(((await rules.find().catch(() => undefined)) ?? server).pid, rules);
        free();
      });
      return { server, started: running === undefined, stop };
    }
  } catch (cause) {
    closeSync(use);
    closeSync(alone);
    throw cause;
  }
};

const pause = async (deadline: number, { blocked }: Pick<ServerRules<never>, 'blocked'>): Promise<void> => {
  if (Date.now() > deadline) throw blocked();
  await delay(tryEveryMs);
};
