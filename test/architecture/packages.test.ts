/** Every package has its reason in docs/contributing/packages.md, and no reason outlives its package; licences are those of a list. */
import { expect, test } from 'vitest';
import { read } from '../support/repository.ts';

type Locked = { dev?: boolean; license?: string; integrity?: string; optional?: boolean } & Partial<
  Record<'os' | 'cpu' | 'libc', readonly string[]>
>;

const { packages } = JSON.parse(read('package-lock.json')) as { packages: Record<string, Locked> };

test('docs/contributing/packages.md names every package, and no other', () => {
  const { dependencies, optionalDependencies, devDependencies } = JSON.parse(read('package.json'));
  const present = Object.keys({ ...dependencies, ...optionalDependencies, ...devDependencies });
  const patterns = [...read('docs/contributing/packages.md').matchAll(/^\| (@?[a-z].*?) \|/gm)]
    .flatMap(([, names = '']) => names.split(', '))
    .filter((name) => name !== 'package')
    .map((name) => ({ name, pattern: new RegExp(`^${name.replace('*', '.*')}$`) }));
  expect(present.filter((name) => !patterns.some(({ pattern }) => pattern.test(name)))).toEqual([]);
  expect(patterns.filter(({ pattern }) => !present.some((name) => pattern.test(name)))).toEqual([]);
});

test('docs/contributing/packages.md gives weight and last release of every package that runs', () => {
  const { dependencies, optionalDependencies } = JSON.parse(read('package.json'));
  const row = /^\| (\S+) \| .+ \| \d+\.\d \| \d{4}-\d\d-\d\d \|$/gm;
  const rows = [...read('docs/contributing/packages.md').matchAll(row)];
  expect(rows.map(([, name]) => name)).toEqual(Object.keys({ ...dependencies, ...optionalDependencies }).sort());
});

/** All of them permit use, change and redistribution. CC-BY-4.0 (caniuse-lite) asks for a credit. */
const licences = new Set([
  ...['MIT', 'Apache-2.0', 'ISC', 'BSD-2-Clause', 'BSD-3-Clause', '0BSD', 'BlueOak-1.0.0', 'Unlicense', 'CC-BY-4.0'],
  ...['Apache-2.0 AND MIT', 'MIT or MPL-2.0'],
]);
/** Its package.json has none; the file LICENSE is that of the Unlicense. */
const unnamed: Readonly<Record<string, string>> = { 'node_modules/unionfs': 'Unlicense' };

test('every package that runs has a licence of the list', () => {
  const others = Object.entries(packages).flatMap(([path, { dev = false, license = unnamed[path] ?? 'none' }]) =>
    dev || path === '' || licences.has(license) ? [] : [`${path}: ${license}`],
  );
  expect(others).toEqual([]);
});

const isForUs = ({ os, cpu, libc }: Locked): boolean =>
  os?.includes('linux') !== false && cpu?.includes('x64') !== false && libc?.includes('glibc') !== false;

test('everything that Linux x64 installs has a hash, and so has what is not optional elsewhere', () => {
  const { '': _ours, ...locked } = packages;
  const bare = Object.entries(locked).filter(([, one]) => one.integrity === undefined);
  expect(bare.filter(([, one]) => isForUs(one) || one.optional !== true).map(([name]) => name)).toEqual([]);
  expect(Object.keys(locked).length).toBeGreaterThan(300);
});
