/** Every bench runs: one that nobody starts breaks unseen. Each has a form of seconds here. */
import { spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';

const root = resolve(import.meta.dirname, '../..');

/** Arguments of the short form; what takes minutes whatever it is asked, says so. */
const forms: Readonly<Record<string, readonly string[] | 'takes minutes'>> = {
  bigquery: ['--runs', '1', '--calls', '20'],
  'cli-start': ['--runs', '1'],
  functions: [],
  load: ['--runs', '1', '--calls', '30'],
  memory: 'takes minutes',
  privacy: ['3'],
  'read-memory': 'takes minutes',
  'receiver-privacy': ['--rounds', '0', '--seconds', '0.2', '--connections', '2', '--no-visible'],
  // Its loads are those of `load`.
  search: ['--runs', '0', '--searched', '60', '--queries', '1'],
  'status-page': ['--rounds', '1', '--seconds', '0.2', '--connections', '2'],
  webhook: ['--rounds', '1', '--seconds', '0.2', '--connections', '2'],
};

test('every bench has its form', () => {
  const names = readdirSync(join(root, 'bench')).flatMap((name) => (name.endsWith('.ts') ? [name.slice(0, -3)] : []));
  expect(Object.keys(forms)).toEqual(names.sort());
});

const short = Object.entries(forms).flatMap(([name, args]) =>
  args === 'takes minutes' ? [] : [[name, args] as const],
);

test.each(short)('%s', { timeout: 240_000 }, async (name, args) => {
  const child = spawn(process.execPath, [join(root, 'dist/bench', `${name}.js`), ...args], { cwd: root });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      said += chunk.toString('utf8');
    });
  }
  const code = await new Promise((ended) => child.once('exit', ended));
  // Some judge what they measured by the code 1; a fault has a stack.
  expect(said).not.toMatch(/^\s+at .*\(?(file:|node:|\/)/m);
  expect(code, said).toBeLessThanOrEqual(1);
});
