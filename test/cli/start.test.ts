/** `callsync --version` and `--help` must answer at once: what runs before a command is loaded imports commander alone. */
import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { expect, test } from 'vitest';

const imports = /^(?:import|export)\s(?!type\b)(?:[^;']*?from )?'([^']+)'/gm;

/** Imports of a file at its loading, directly or by others; imports at calls do not count. */
const packagesOf = (path: string, seen = new Set<string>()): Set<string> => {
  const found = new Set<string>();
  if (seen.has(path)) return found;
  seen.add(path);
  for (const [, specifier = ''] of readFileSync(path, 'utf8').matchAll(imports)) {
    if (!specifier.startsWith('.')) found.add(specifier);
    else for (const name of packagesOf(resolve(dirname(path), specifier), seen)) found.add(name);
  }
  return found;
};

test('the program starts without any SDK', () => {
  const main = resolve(import.meta.dirname, '../../src/cli/main.ts');
  expect([...packagesOf(main)].filter((name) => !name.startsWith('node:'))).toEqual(['commander']);
});

test('a command brings what it needs', () => {
  const backfill = resolve(import.meta.dirname, '../../src/cli/commands/backfill.ts');
  expect([...packagesOf(backfill)]).toContain('@temporalio/client');
});
