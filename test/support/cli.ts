/** The built program as a user runs it: `npm test` builds it first. */
import { type ChildProcess, fork } from 'node:child_process';
import { on, once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect } from 'vitest';
import { stringify } from 'yaml';
import type { SimulatorOptions } from '../../schemas/simulator.ts';
import { startSimulator } from '../../src/simulator/start-simulator.ts';
import { createDatabase } from './postgres.ts';
import { type Surroundings, startProgram } from './program.ts';

export interface CliResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

interface RunOptions {
  readonly input?: string | Buffer;
  /** A process for this run alone; by default the runs in a folder take turns in one, which loads the SDKs once. */
  readonly ownProcess?: boolean;
  /** As `ownProcess`. Called with all that was said so far, whenever something is. */
  readonly onStderr?: (said: string, child: ChildProcess) => unknown;
}

// biome-ignore lint/suspicious/noExplicitAny: whatever a command reports
type Report = any;

export type CliFolder = Awaited<ReturnType<typeof openCliFolder>>;

/** Keys and logs of a store on a shared server lie in a folder of its own: in the usual one, another run's erasures wait. */
const withOwnData = (config: unknown, dataDir: string): unknown => {
  const { store } = config as { readonly store?: { readonly url?: string } };
  return store?.url === undefined ? config : { ...(config as object), store: { data_dir: dataDir, ...store } };
};

const host = fileURLToPath(new URL('./cli-host.mjs', import.meta.url));

/** Configuration of a store alone: no service answers, and no webhooks come. */
export const withoutService = (url: string) => ({
  source: { base_url: 'http://127.0.0.1:1', client_id: 'a', client_secret: 'b' },
  store: { url },
  webhook: { enabled: false },
});

/** A folder of one's own to run in, without settings of the surroundings. */
export const openCliFolder = async () => {
  const path = await mkdtemp(join(tmpdir(), 'callsync-cli-'));
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('CALLSYNC_')));
  const write = async (name: string, content: string | Buffer): Promise<string> => {
    await writeFile(join(path, name), content);
    return join(path, name);
  };
  const surroundings = { cwd: path, env };
  const turns = takeTurns(surroundings);
  const run = (args: readonly string[], options: RunOptions = {}): Promise<CliResult> =>
    options.ownProcess === true || options.onStderr !== undefined
      ? runAlone(args, options, surroundings)
      : turns.run(args, options);
  return {
    path,
    write,
    /** Runs `callsync` in the folder; killed after the deadline, so that a hanging command fails its test. */
    run,
    /** The same with --json: expects this exit code, and returns what the command reports. */
    json: async (args: readonly string[], { code = 0, ...options }: RunOptions & { readonly code?: number } = {}) => {
      const { stdout, ...ended } = await run([...args, '--json'], options);
      expect(ended, args.join(' ')).toMatchObject({ code });
      return JSON.parse(stdout) as Report;
    },
    /** Writes callsync.yaml. */
    configure: async (config: unknown): Promise<void> => {
      await write('callsync.yaml', stringify(withOwnData(config, join(path, 'data'))));
    },
    remove: async (): Promise<void> => {
      await turns.end();
      await rm(path, { recursive: true, force: true });
    },
  };
};

/** A folder to run in and a database, for all tests of a file; its top level awaits it. */
export const openCli = async () => {
  const [folder, database] = await Promise.all([openCliFolder(), createDatabase()]);
  afterAll(async () => {
    await folder.remove();
    await database.drop();
  });
  return { folder, database };
};

/** The same with a simulated service. */
export const openCliAndService = async (options: SimulatorOptions) => {
  const simulator = await startSimulator(options);
  afterAll(() => simulator.stop());
  return { simulator, ...(await openCli()) };
};

/** The result of a command, whose process is killed after the deadline. */
const inTime = async (child: ChildProcess, result: Promise<CliResult>): Promise<CliResult> => {
  const timer = setTimeout(() => child.kill('SIGKILL'), 150_000);
  return await result.finally(() => clearTimeout(timer));
};

const runAlone = (args: readonly string[], { input = '', onStderr }: RunOptions, surroundings: Surroundings) => {
  const { child, ended, stdout, stderr } = startProgram(args, { input: String(input), ...surroundings });
  child.stderr.on('data', () => onStderr?.(stderr(), child));
  const result = ended.then((code) => ({ code, stdout: stdout(), stderr: stderr() }));
  return inTime(child, result);
};

const takeTurns = (surroundings: Surroundings) => {
  let running: ChildProcess | undefined;
  let turn: Promise<unknown> = Promise.resolve();
  const start = (): ChildProcess =>
    fork(host, { ...surroundings, execArgv: [] }).once('exit', () => {
      running = undefined;
    });
  const runNext = async (child: ChildProcess, words: readonly string[], input: string | Buffer): Promise<CliResult> => {
    const pieces: Record<'stdout' | 'stderr', Buffer[]> = { stdout: [], stderr: [] };
    // Pieces of the written text, in base64, and the exit code at last.
    const messages = on(child, 'message', { close: ['exit'] }) as AsyncIterable<readonly [Partial<CliResult>]>;
    child.send({ words, input: Buffer.from(input as string).toString('base64') });
    let ended: CliResult['code'] | undefined;
    for await (const [{ code, ...said }] of messages) {
      for (const name of ['stdout', 'stderr'] as const) pieces[name].push(Buffer.from(said[name] ?? '', 'base64'));
      ended = code;
      if (ended !== undefined) break;
    }
    const textOf = (name: keyof typeof pieces) => Buffer.concat(pieces[name]).toString('utf8');
    return { code: ended ?? null, stdout: textOf('stdout'), stderr: textOf('stderr') };
  };
  return {
    run: (args: readonly string[], { input = '' }: RunOptions) => {
      const result = turn.then(() => {
        running ??= start();
        return inTime(running, runNext(running, args, input));
      });
      turn = result;
      return result;
    },
    async end() {
      if (running === undefined) return;
      const ended = once(running, 'exit');
      // A command may have taken over the other signals.
      running.kill('SIGKILL');
      await ended;
    },
  };
};
