import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { removeStale } from '../../scripts/remove-stale.ts';
import { useFolder } from '../support/folder.ts';
import { read } from '../support/repository.ts';

const hour = 3_600_000;
const root = useFolder('is-current');

const setAge = (name: string, ms: number): void => {
  const time = new Date(Date.now() - ms);
  utimesSync(join(root, name), time, time);
};

const isCurrent = () => spawnSync(process.execPath, [join(root, 'dist/scripts/is-current.js')]).status === 0;

test('is current when every source is older than the build, and none was changed, removed or not built', () => {
  for (const path of ['dist/scripts', 'src/calls']) mkdirSync(join(root, path), { recursive: true });
  for (const path of ['src/calls/fold.ts', 'dist/built']) writeFileSync(join(root, path), '');
  writeFileSync(join(root, 'package.json'), '{"type":"module"}');
  // Written by `npm run build`, which `npm test` runs first.
  cpSync(resolve(import.meta.dirname, '../../dist/scripts/is-current.js'), join(root, 'dist/scripts/is-current.js'));
  for (const name of ['src', 'src/calls', 'src/calls/fold.ts']) setAge(name, hour);
  expect(isCurrent()).toBe(true);

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

test('npm prepares a checkout without a second build, as npx does, because others run from dist', () => {
  mkdirSync(join(root, 'dist/scripts'), { recursive: true });
  const { prepare, current } = JSON.parse(read('package.json')).scripts;
  const scripts = { prepare, current, build: 'echo builds' };
  writeFileSync(join(root, 'package.json'), JSON.stringify({ type: 'module', scripts }));
  const run = () => spawnSync('npm', ['run', 'prepare'], { cwd: root, encoding: 'utf8' }).stdout;
  writeFileSync(join(root, 'dist/scripts/is-current.js'), '');
  expect(run()).not.toContain('builds');
  writeFileSync(join(root, 'dist/scripts/is-current.js'), 'process.exitCode = 1;');
  expect(run()).toContain('builds');
});

const place = useFolder('stale');

test('what has no source goes from dist, everything else stays', async () => {
  const dist = join(place, 'dist');
  const write = (path: string): void => {
    mkdirSync(dirname(join(place, path)), { recursive: true });
    writeFileSync(join(place, path), '');
  };
  const kept = ['dist/built', 'dist/workflow-bundle.js', 'dist/src/fold.js', 'dist/src/fold.js.map', 'dist/src/a.sql'];
  const gone = ['dist/src/unfold.js', 'dist/src/unfold.js.map', 'dist/src/old/0003_renamed.sql'];
  for (const path of ['src/fold.ts', 'src/a.sql', ...kept, ...gone]) write(path);
  expect((await removeStale(place, dist)).map((path) => `dist/${path}`).sort()).toEqual([...gone].sort());
  expect([...kept, ...gone].filter((path) => existsSync(join(place, path)))).toEqual(kept);
});
