/**
 * Follows docs/quickstart.md in a fresh clone of this checkout's last commit, command by command, and prints how long each took.
 * Its data are in a folder of its own; ports are those of the page and must be free. Anything but a clean end stops it.
 * About 5 minutes.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

interface Step {
  readonly command: string;
  /** Goes on while the next ones run. */
  readonly background: boolean;
}

const root = resolve(import.meta.dirname, '../..');

const readSteps = (page: string): readonly Step[] =>
  [...page.matchAll(/^```sh.*\n([\s\S]*?)^```/gm)]
    .flatMap(([, block = '']) => block.trim().split('\n'))
    .map((line) => ({ command: line.replace(/ &$/, ''), background: line.endsWith(' &') }));

const nameOf = (command: string): string => command.replace(/^npx /, '').split(' ').slice(0, 2).join(' ');

const folder = await mkdtemp(join(tmpdir(), 'callsync-quickstart-'));
// As root, PostgreSQL runs as another account, which must reach its data.
await chmod(folder, 0o711);
const clean = Object.entries(process.env).filter(([name]) => !/^(CALLSYNC|npm)_/i.test(name));
const env = { ...Object.fromEntries(clean), CALLSYNC_STORE__DATA_DIR: join(folder, 'data') };
const running: ChildProcess[] = [];
const rows: string[] = [];

/** Resolves when the command has ended, or, in the background, when it has said something. */
const take = async ({ command, background }: Step): Promise<void> => {
  const isClone = command.startsWith('git clone');
  const text = isClone ? `git clone -q "${root}" callsync` : command;
  process.stdout.write(`\n$ ${text}\n`);
  const startedAt = performance.now();
  const child = spawn('bash', ['-c', text], {
    cwd: isClone ? folder : join(folder, 'callsync'),
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: background,
  });
  child.stdout.pipe(process.stdout, { end: false });
  const ended = once(child, 'exit').then(([code]) => code as number | null);
  if (background) running.push(child);
  const code = await (background ? Promise.race([ended, once(child.stdout, 'data').then(() => 0)]) : ended);
  if (code !== 0) throw new Error(`It ended with ${code}.`);
  rows.push(`| \`${nameOf(command)}\` | ${Math.round((performance.now() - startedAt) / 1_000)} |`);
};

/** As Ctrl-C does: to npx and to what it started. */
const stop = async (child: ChildProcess): Promise<void> => {
  if (child.exitCode !== null || child.pid === undefined) return;
  const ended = once(child, 'close');
  process.kill(-child.pid, 'SIGINT');
  await ended;
};

const begunAt = performance.now();
try {
  for (const step of readSteps(await readFile(join(root, 'docs/quickstart.md'), 'utf8'))) await take(step);
  const minutes = ((performance.now() - begunAt) / 60_000).toFixed(1);
  const machine = `${cpus().length} cores (${cpus()[0]?.model}), load ${loadavg()[0]?.toFixed(1)} at the end`;
  process.stdout.write(`\n| command | seconds |\n|---|---|\n${rows.join('\n')}\n\n${minutes} minutes; ${machine}\n`);
} finally {
  for (const child of running.reverse()) await stop(child);
  await rm(folder, { recursive: true, force: true });
}
