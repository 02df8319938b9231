import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';

interface Locked {
  readonly integrity?: string;
  readonly optional?: boolean;
  readonly os?: readonly string[];
  readonly cpu?: readonly string[];
  readonly libc?: readonly string[];
}

const isForUs = ({ os, cpu, libc }: Locked): boolean =>
  os?.includes('linux') !== false && cpu?.includes('x64') !== false && libc?.includes('glibc') !== false;

test('everything that Linux x64 installs has a hash, and so has what is not optional elsewhere', async () => {
  const lock = JSON.parse(await readFile('package-lock.json', 'utf8')) as { packages: Record<string, Locked> };
  const { '': _ours, ...packages } = lock.packages;
  const bare = Object.entries(packages).filter(([, one]) => one.integrity === undefined);
  expect(bare.filter(([, one]) => isForUs(one) || one.optional !== true).map(([name]) => name)).toEqual([]);
  expect(Object.keys(packages).length).toBeGreaterThan(300);
});
