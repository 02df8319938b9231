/** Completion scripts in a real shell, for every command, and output through pipes. */
import { execFile, execFileSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { describeCommands, listCommands, renderCompletion } from '../../src/cli/shell/completions.ts';
import { createProgram } from '../../src/cli/shell/program.ts';
import { useFolder } from '../support/folder.ts';

const run = promisify(execFile);
const root = describeCommands(await createProgram(() => true));
const folder = useFolder('shell');
await writeFile(join(folder, 'bash'), renderCompletion('bash', root));

const program = fileURLToPath(new URL('../../dist/src/cli/main.js', import.meta.url));

/** Of `callsync sql` in a pipe to a reader; a pipe takes 64 KB. */
const pipeTo = async (reader: string): Promise<string> =>
  (await run('bash', ['-c', `'${process.execPath}' '${program}' sql | ${reader}; echo "ended with \${PIPESTATUS[0]}"`]))
    .stdout;

test('output waits for a reader that is slower than the command', async () => {
  const whole = execFileSync(process.execPath, [program, 'sql'], { encoding: 'utf8', maxBuffer: 1_000_000 });
  expect(whole.length).toBeGreaterThan(100_000);
  const lineByLine = 'while IFS= read -r line; do printf \'%s\\n\' "$line"; done';
  expect(await pipeTo(lineByLine)).toBe(`${whole}ended with 0\n`);
});

test('a reader that goes away is no fault', async () => {
  expect(await pipeTo('true')).toBe('ended with 0\n');
});

/** The offers of bash after these words; the last one is being typed. */
const complete = async (...words: readonly string[]): Promise<string[]> => {
  const script = `source ${join(folder, 'bash')}
COMP_WORDS=(callsync ${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length}; _callsync
printf '%s\\n' "\${COMPREPLY[@]}"`;
  return (await run('bash', ['-c', script])).stdout.trim().split('\n');
};

test('bash completes commands, subcommands, options and their choices', async () => {
  expect(await complete('sta')).toEqual(['status']);
  expect(await complete('')).toEqual(expect.arrayContaining(['up', 'backfill', 'search', 'completion', 'help']));
  expect(await complete('backfill', '--con')).toEqual(['--config', '--concurrency']);
  expect(await complete('warehouse', 'search-index', 'c')).toEqual(['create']);
  expect(await complete('export', 'folder', '--format', 'p')).toEqual(['parquet']);
  expect(await complete('sql', '--dialect', '')).toEqual(['postgres', 'bigquery']);
  // The value of an option is no command.
  expect(await complete('status', '--config', 'warehouse', '--js')).toEqual(['--json']);
  expect(await complete('status', '--config', join(folder, 'ba'))).toEqual([join(folder, 'bash')]);
});

test('every shell gets every command and option', () => {
  for (const shell of ['bash', 'zsh', 'fish'] as const) {
    const script = renderCompletion(shell, root);
    for (const command of listCommands(root)) {
      for (const { long } of command.options) expect(script).toContain(long?.replace(/^--/, ''));
      if (command.path.length > 0) expect(script).toContain(command.path.join(' '));
    }
  }
});

const has = (program: string): boolean => {
  try {
    execFileSync('which', [program], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
};

test.runIf(has('zsh'))('zsh reads its script', () => run('zsh', ['-n', '-c', renderCompletion('zsh', root)]));
test.runIf(has('fish'))('fish reads its script', () => run('fish', ['-n', '-c', renderCompletion('fish', root)]));
