import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';

/** Written by `npm run build`, which `npm test` runs first. */
const script = resolve(import.meta.dirname, '../../dist/scripts/is-current.js');
const hour = 3_600_000;
let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'callsync-is-current-'));
  mkdirSync(join(root, 'dist/scripts'), { recursive: true });
  mkdirSync(join(root, 'src/calls'), { recursive: true });
  writeFileSync(join(root, 'package.json'), '{"type":"module"}');
  writeFileSync(join(root, 'src/calls/fold.ts'), '');
  writeFileSync(join(root, 'dist/built'), '');
  cpSync(script, join(root, 'dist/scripts/is-current.js'));
  for (const name of ['src', 'src/calls', 'src/calls/fold.ts']) setAge(name, hour);
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const setAge = (name: string, ms: number): void => {
  const time = new Date(Date.now() - ms);
  utimesSync(join(root, name), time, time);
};

const isCurrent = () => spawnSync(process.execPath, [join(root, 'dist/scripts/is-current.js')]).status === 0;

test('is current when every source is older than the build', () => {
  expect(isCurrent()).toBe(true);
});

test('is not when a file has changed since, or was removed, or nothing was built', () => {
  setAge('dist/built', hour / 2);
  setAge('src/calls/fold.ts', 0);
  expect(isCurrent()).toBe(false);

  rmSync(join(root, 'src/calls/fold.ts'));
  expect(isCurrent()).toBe(false);

  setAge('src/calls', hour);
  expect(isCurrent()).toBe(true);
  rmSync(join(root, 'dist/built'));
  expect(isCurrent()).toBe(false);
});
