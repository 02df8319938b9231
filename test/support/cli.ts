/** The built program as a user runs it: `npm test` builds it first. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stringify } from 'yaml';

export interface CliResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly input?: string | Buffer;
  readonly deadlineMs?: number;
  /** Called with all that was said so far, whenever something is. */
  readonly onStderr?: (said: string, child: ChildProcess) => unknown;
}

export interface CliFolder {
  readonly path: string;
  /** Writes callsync.yaml. */
  configure(config: unknown): Promise<void>;
  write(name: string, content: string | Buffer): Promise<string>;
  /** Runs `callsync` in the folder; killed after the deadline, so that a hanging command fails its test. */
  run(args: readonly string[], options?: RunOptions): Promise<CliResult>;
  remove(): Promise<void>;
}

/** Keys and logs of a store on a shared server lie in a folder of its own: in the usual one, another run's erasures wait. */
const withOwnData = (config: unknown, dataDir: string): unknown => {
  const { store } = config as { readonly store?: { readonly url?: string } };
  return store?.url === undefined ? config : { ...(config as object), store: { data_dir: dataDir, ...store } };
};

const program = fileURLToPath(new URL('../../dist/src/cli/main.js', import.meta.url));

/** A folder of one's own to run in, without settings of the surroundings. */
export const openCliFolder = async (): Promise<CliFolder> => {
  const path = await mkdtemp(join(tmpdir(), 'callsync-cli-'));
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('CALLSYNC_')));
  const write: CliFolder['write'] = async (name, content) => {
    await writeFile(join(path, name), content);
    return join(path, name);
  };
  return {
    path,
    write,
    configure: async (config) => {
      await write('callsync.yaml', stringify(withOwnData(config, join(path, 'data'))));
    },
    run: (args, { input = '', deadlineMs = 110_000, onStderr } = {}) =>
      new Promise((resolve, reject) => {
        const child = spawn(process.execPath, [program, ...args], { cwd: path, env });
        const timer = setTimeout(() => child.kill('SIGKILL'), deadlineMs);
        let stdout = '';
        let stderr = '';
        child.stdout.on('data', (chunk: Buffer) => {
          stdout += chunk.toString('utf8');
        });
        child.stderr.on('data', (chunk: Buffer) => {
          stderr += chunk.toString('utf8');
          onStderr?.(stderr, child);
        });
        child.once('error', reject);
        child.once('close', (code) => {
          clearTimeout(timer);
          resolve({ code, stdout, stderr });
        });
        child.stdin.on('error', () => undefined);
        child.stdin.end(input);
      }),
    remove: () => rm(path, { recursive: true, force: true }),
  };
};
