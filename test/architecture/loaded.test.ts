/** Receivers and workers load no part that they do without: loaded code takes memory for as long as the process runs. */
import { existsSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { expect, test } from 'vitest';
import { read, root } from '../support/repository.ts';

/** Files and packages that a file loads at its start. Types and imports at a later use do not count. */
const loadedBy = (file: string): readonly string[] =>
  [...read(file).matchAll(/^(?:import|export) (?!type )(?:[^;']* from )?'([^']+)';/gm)].map(([, name = '']) =>
    name.startsWith('.') ? relative(root, join(root, dirname(file), name)) : name,
  );

const loadAll = (first: string): ReadonlySet<string> => {
  const seen = new Set([first]);
  for (const file of seen)
    if (existsSync(join(root, file))) for (const name of loadedBy(file)) if (!/\.json$/.test(name)) seen.add(name);
  return seen;
};

test('callsync serve loads neither Temporal, warehouses and detectors, nor the clients of source and pages', () => {
  const loaded = [...loadAll('src/cli/commands/serve.ts')];
  const unwanted =
    /^(@temporalio|undici|openid-client|libphonenumber|ibantools|tinypool|src\/(temporal|warehouse|pipeline|persons|calls|marts|source\/http|local|privacy\/detect)|workflows)/;
  const small = /^src\/warehouse\/(postgres|bigquery)\/config\.ts$/;
  expect(loaded).toContain('src/webhook/server/receiver.ts');
  expect(loaded.filter((name) => unwanted.test(name) && !small.test(name))).toEqual([]);
});

test('callsync worker loads neither the receiver nor the fetch of undici', () => {
  const loaded = [...loadAll('src/cli/commands/worker.ts')];
  expect(loaded).toContain('src/source/http/http.ts');
  expect(loaded.filter((name) => /^(fastify|undici$|src\/webhook\/(spool|server\/receiver))/.test(name))).toEqual([]);
});

/** `callsync --version` and `--help` must answer at once: what runs before a command is loaded imports commander alone. */
test('the program starts without any SDK, and a command brings what it needs', () => {
  const packages = [...loadAll('src/cli/main.ts')].filter((name) => !existsSync(join(root, name)));
  expect(packages.filter((name) => !name.startsWith('node:'))).toEqual(['commander']);
  expect(loadAll('src/cli/commands/backfill.ts')).toContain('@temporalio/client');
});
