import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { root } from '../support/repository.ts';

const run = (...args: readonly string[]) =>
  spawnSync(process.execPath, [resolve(root, 'dist/scripts/run-named.js'), ...args], { encoding: 'utf8' });

test.each(['bench', 'campaign'])('npm run %s lists every name, what it does and how long it takes', (kind) => {
  for (const args of [[kind], [kind, '--help']]) {
    const { status, stdout } = run(...args);
    const lines = stdout.split('\n').slice(1, -1);
    expect(status).toBe(0);
    expect(lines.length).toBeGreaterThan(5);
    for (const line of lines)
      expect(line).toMatch(/^ {2}[a-z-]+ +[A-Z0-9].*\. \((a|half|\d+)[^)]*\)$|^ +cases: [a-z-]+(, [a-z-]+)+$/);
  }
});

test('refuses a name that does not exist', () => {
  const [stderr, stdout] = ['There is no bench named speed.', 'cli-start'].map((part) => expect.stringContaining(part));
  expect(run('bench', 'speed')).toMatchObject({ status: 2, stderr, stdout });
});

test('refuses a case that a campaign does not have, and names its cases', () => {
  const stderr = 'The campaign receiver has no case nothing. Its cases: fuzz, hostile, store-stopped, spool-lock.\n';
  expect(run('campaign', 'receiver', 'fuzz', 'nothing')).toMatchObject({ status: 2, stderr });
});
