/** Benches in forms of seconds: one that nobody starts breaks unseen. */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startProgram } from '../support/program.ts';
import { root } from '../support/repository.ts';

/** Arguments of the short form; what takes minutes whatever it is asked, says so. */
export const forms: Readonly<Record<string, readonly string[] | 'takes minutes'>> = {
  all: 'takes minutes',
  bigquery: ['--runs', '1', '--calls', '20'],
  'cli-start': ['--runs', '1'],
  cookbook: ['--calls', '60', '--rounds', '1'],
  functions: [],
  'go-live': 'takes minutes',
  install: 'takes minutes',
  load: ['--runs', '1', '--calls', '30'],
  mcp: ['--calls', '50', '--runs', '3'],
  memory: 'takes minutes',
  // Two pages, between which calls move.
  peers: ['--calls', '450'],
  privacy: ['1', 'count=4', 'fuzz=50', '--without-presidio'],
  'read-memory': 'takes minutes',
  receiver: ['--rounds', '1', '--seconds', '0.2', '--connections', '2'],
  'receiver-privacy': ['--rounds', '0', '--seconds', '0.2', '--connections', '2', '--no-visible'],
  scale: 'takes minutes',
  // Its loads are those of `load`.
  search: ['--runs', '0', '--searched', '60', '--queries', '1'],
  sizing: 'takes minutes',
  'status-page': ['--rounds', '1', '--seconds', '0.2', '--connections', '2'],
  webhook: ['--rounds', '1', '--seconds', '0.2', '--connections', '2'],
};

/** By default all that do not take minutes. */
export const describeBenches = (names: readonly string[] = Object.keys(forms)): void => {
  const short = names.flatMap((name) => {
    const args = forms[name];
    return args === undefined || args === 'takes minutes' ? [] : [[name, args] as const];
  });

  test.each(short)('%s', async (name, args) => {
    const { ended, stdout, stderr } = startProgram(args, { entry: join(root, 'dist/bench', `${name}.js`), cwd: root });
    const code = await ended;
    const said = `${stdout()}${stderr()}`;
    // Some judge what they measured by the code 1; a fault has a stack.
    expect(said).not.toMatch(/^\s+at .*\(?(file:|node:|\/)/m);
    expect(code, said).toBeLessThanOrEqual(1);
  });
};
