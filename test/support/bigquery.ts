/**
 * One BigQuery emulator for a whole vitest run, started when the first test asks for it.
 *
 *   const bigquery = await useBigQuery();      // in beforeAll: { restUrl, grpcAddress, project, dataset }
 */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { inject } from 'vitest';
import type { TestProject } from 'vitest/node';
import { locateEmulator, startBigQueryEmulator } from '../../src/local/bigquery-emulator.ts';
import { cacheFolderOf } from '../../src/local/locate-program.ts';
import { knock, openDoor } from './shared-server.ts';

declare module 'vitest' {
  interface ProvidedContext {
    bigQueryDoor: string;
  }
}

type Facts = Pick<Awaited<ReturnType<typeof startBigQueryEmulator>>, 'restUrl' | 'grpcAddress' | 'project'>;

export type TestBigQuery = Awaited<ReturnType<typeof useBigQuery>>;

/** Its dataset has a name that no other test uses; it is not created yet. */
export const useBigQuery = async () => {
  const facts = await knock<Facts>(inject('bigQueryDoor'));
  return { ...facts, dataset: `test_${randomBytes(6).toString('hex')}` };
};

/** Writes a program into a folder that is the emulator with cheaper parsing. Returns its path, for CALLSYNC_BQEMULATOR. */
export const makeCheapEmulator = async (folder: string): Promise<string> => {
  const { program, home } = await locateEmulator({ log: console.error });
  const parser = home === undefined ? undefined : await installCompiledParser(join(dirname(program), 'python'));
  const settings = { PYTHONPATH: join(import.meta.dirname, 'emulator'), HOME: home, COMPILED_SQLGLOT: parser };
  const given = Object.entries(settings).filter(([, value]) => value !== undefined);
  const exported = given.map(([name, value]) => `export ${name}='${value}'\n`);
  const path = join(folder, 'bqemulator');
  await writeFile(path, `#!/bin/sh\n${exported.join('')}exec '${program}' "$@"\n`, { mode: 0o755 });
  return path;
};

/** The folder of the compiled parser of the emulator's own version, installed once into the cache; undefined where there is none. */
const installCompiledParser = async (python: string): Promise<string | undefined> => {
  const run = promisify(execFile);
  try {
    const { stdout } = await run(python, ['-c', 'import importlib.metadata as m; print(m.version("sqlglot"))']);
    const version = stdout.trim();
    const folder = cacheFolderOf(`sqlglotc-${version}`, process.env);
    if (existsSync(folder)) return folder;
    const partial = await mkdtemp(`${folder}-`);
    const options = ['--quiet', '--no-input', '--disable-pip-version-check', '--no-compile', '--no-deps'];
    const wheel = ['--only-binary', ':all:', '--target', partial, `sqlglotc==${version}`];
    await run(python, ['-m', 'pip', 'install', ...options, ...wheel]);
    // Another run may have finished first.
    await rename(partial, folder).catch(() => rm(partial, { recursive: true, force: true }));
    return folder;
  } catch (error) {
    console.warn(`The local BigQuery parses without its compiled parser: ${(error as Error).message.split('\n')[0]}`);
    return undefined;
  }
};

/** vitest's globalSetup. */
export const setup = async (project: TestProject): Promise<() => Promise<void>> => {
  // As with Temporal: the installation takes minutes.
  await locateEmulator({ log: console.error }).catch(() => undefined);
  const door = await openDoor<Facts>(async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'callsync-bigquery-'));
    const cheap = { ...process.env, CALLSYNC_BQEMULATOR: await makeCheapEmulator(dataDir) };
    const options = { dataDir, ephemeral: true, env: cheap, log: console.error };
    const { stop, ...facts } = await startBigQueryEmulator(options);
    return { facts, dispose: () => stop().then(() => rm(dataDir, { recursive: true, force: true })) };
  });
  project.provide('bigQueryDoor', door.url);
  return door.close;
};
