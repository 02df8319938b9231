/** Finds the local BigQuery (`bqemulator`, a Python program), or installs it into our cache folder. */
import { execFile } from 'node:child_process';
import { mkdir, open, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { terminal } from '../../lib/errors.ts';
import { loadTryLock } from '../../lib/file-lock.ts';
import { minimalEnvironment } from '../local-process.ts';
import { cacheFolderOf, findInstalled } from '../locate-program.ts';

const run = promisify(execFile);
const emulatorVersion = '1.4.0';
const duckdbVersion = '1.5.5';
const packages = [
  `bqemulator==${emulatorVersion}`,
  `duckdb==${duckdbVersion}`,
  `duckdb-extension-spatial==${duckdbVersion}`,
  'numpy',
];

/** DuckDB fetches this extension from the internet at its first start; the wheel contains it. */
const copyExtension = `
import duckdb, duckdb_extension_spatial, pathlib, shutil
platform = duckdb.sql('PRAGMA platform').fetchone()[0]
target = pathlib.Path.home() / '.duckdb' / 'extensions' / 'v${duckdbVersion}' / platform
target.mkdir(parents=True, exist_ok=True)
source = next(pathlib.Path(duckdb_extension_spatial.__path__[0]).rglob('spatial.duckdb_extension'))
if not (target / source.name).exists():
    shutil.copy(source, target / source.name)
`;

interface LocateEmulatorOptions {
  readonly env?: NodeJS.ProcessEnv;
  readonly log: (message: string) => void;
}

interface LocatedEmulator {
  readonly program: string;
  /** Home folder that holds its DuckDB extension; undefined for a program that somebody else installed. */
  readonly home?: string;
}

/** In this order: CALLSYNC_BQEMULATOR, PATH, our cache, an installation into the cache. */
export const locateEmulator = async ({ env = process.env, log }: LocateEmulatorOptions): Promise<LocatedEmulator> => {
  const installed = await findInstalled('bqemulator', {
    configured: env.CALLSYNC_BQEMULATOR,
    env,
    refuse: (path) =>
      terminal('BIGQUERY_EMULATOR', `There is no program at ${path}, as CALLSYNC_BQEMULATOR says.`, {
        hint: 'Correct CALLSYNC_BQEMULATOR, or leave it out.',
      }),
  });
  if (installed !== undefined) return { program: installed };
  const folder = cacheFolderOf(`bqemulator-${emulatorVersion}`, env);
  await mkdir(folder, { recursive: true });
  const tryLock = await loadTryLock();
  const lock = await open(join(folder, 'installation.lock'), 'a+');
  try {
    while (!tryLock(lock.fd)) await delay(200);
    const ready = await stat(join(folder, 'ready')).catch(() => undefined);
    if (ready === undefined) await install(folder, log);
  } finally {
    await lock.close();
  }
  return { program: join(folder, 'venv', 'bin', 'bqemulator'), home: homeIn(folder) };
};

/** A home of its own: other programs may clear DuckDB's folder in the user's home. */
const homeIn = (folder: string): string => join(folder, 'home');

const install = async (folder: string, log: (message: string) => void): Promise<void> => {
  log(`Installing the local BigQuery (bqemulator ${emulatorVersion}) into ${folder}, once: about a minute, 600 MB.`);
  const venv = join(folder, 'venv');
  await rm(venv, { recursive: true, force: true });
  try {
    await run('python3', ['-m', 'venv', venv]);
    await run(join(venv, 'bin', 'pip'), [
      'install',
      '--no-input',
      '--quiet',
      '--disable-pip-version-check',
      ...packages,
    ]);
    await mkdir(homeIn(folder), { recursive: true });
    const env = { ...minimalEnvironment(), HOME: homeIn(folder) };
    await run(join(venv, 'bin', 'python'), ['-c', copyExtension], { env });
    await writeFile(join(folder, 'ready'), '');
  } catch (cause) {
    const said = (cause as { stderr?: string }).stderr?.trim().split('\n').at(-1) ?? (cause as Error).message;
    throw terminal('BIGQUERY_EMULATOR', `The local BigQuery could not be installed: ${said}`, {
      hint: 'Install Python 3.11 or newer with venv, check that pip reaches its package index, and try again.',
      cause,
    });
  }
};
