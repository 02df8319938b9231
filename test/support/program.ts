/** The built program, or another, as a process of its own, and what it says. */
import { type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

export const program = new URL('../../dist/src/cli/main.js', import.meta.url).pathname;

export type Running = ReturnType<typeof startProgram>;
export type Surroundings = Pick<SpawnOptions, 'cwd' | 'env'>;

export const startProgram = (
  args: readonly string[],
  { input = '', entry = program, ...options }: Surroundings & { input?: string; entry?: string } = {},
) => {
  const child = spawn(process.execPath, [entry, ...args], { ...options, stdio: 'pipe' });
  child.stdin.on('error', () => undefined).end(input);
  const texts = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (text: string) => (texts[name] += text));
  const ended = once(child, 'close').then(([code]) => code as number | null);
  const line = once(createInterface({ input: child.stdout }), 'line').then(([text]) => {
    const said = JSON.parse(text) as { error?: unknown };
    if (said.error !== undefined) throw new Error(`${args[0]} failed: ${text}`);
    return said as unknown;
  });
  line.catch(() => undefined);
  const early = ended.then((code) => {
    throw new Error(`${args[0]} ended with ${code}: ${texts.stderr}`);
  });
  early.catch(() => undefined);
  return {
    child,
    /** Its exit code, once all that it said is here. */
    ended,
    stdout: () => texts.stdout,
    stderr: () => texts.stderr,
    /** The first line of its results, read as JSON. @throws when it is an error, or when it ends before */
    first: () => Promise.race([line, early]),
  };
};
