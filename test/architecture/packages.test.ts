/** Every package has its reason in docs/packages.md, and no reason outlives its package. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, test } from 'vitest';

const read = (path: string): string => readFileSync(resolve(import.meta.dirname, '../..', path), 'utf8');

test('docs/packages.md names every package, and no other', () => {
  const { dependencies, optionalDependencies, devDependencies } = JSON.parse(read('package.json'));
  const present = Object.keys({ ...dependencies, ...optionalDependencies, ...devDependencies });
  const patterns = [...read('docs/packages.md').matchAll(/^\| (@?[a-z].*?) \|/gm)]
    .flatMap(([, names = '']) => names.split(', '))
    .filter((name) => name !== 'package')
    .map((name) => ({ name, pattern: new RegExp(`^${name.replace('*', '.*')}$`) }));
  expect(present.filter((name) => !patterns.some(({ pattern }) => pattern.test(name)))).toEqual([]);
  expect(patterns.filter(({ pattern }) => !present.some((name) => pattern.test(name))).map(({ name }) => name)).toEqual(
    [],
  );
});
