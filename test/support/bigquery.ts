/**
 * One BigQuery emulator for a whole vitest run, started when the first test asks for it.
 *
 *   const bigquery = await useBigQuery();      // in beforeAll: { restUrl, grpcAddress, project, dataset }
 */
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inject } from 'vitest';
import type { TestProject } from 'vitest/node';
import { startBigQueryEmulator } from '../../src/local/bigquery/emulator.ts';
import { locateEmulator } from '../../src/local/bigquery/locate-emulator.ts';
import { knock, openDoor } from './shared-server.ts';

declare module 'vitest' {
  interface ProvidedContext {
    bigQueryDoor: string;
  }
}

interface Facts {
  readonly restUrl: string;
  readonly grpcAddress: string;
  readonly project: string;
}

export interface TestBigQuery extends Facts {
  /** A name that no other test uses; not created yet. */
  readonly dataset: string;
}

export const useBigQuery = async (): Promise<TestBigQuery> => {
  const facts = await knock<Facts>(inject('bigQueryDoor'));
  return { ...facts, dataset: `test_${randomBytes(6).toString('hex')}` };
};

/** Writes a program into a folder that is the emulator with cheaper parsing. Returns its path, for CALLSYNC_BQEMULATOR. */
export const makeCheapEmulator = async (folder: string): Promise<string> => {
  const { program, home } = await locateEmulator({ log: console.error });
  const settings = { PYTHONPATH: join(import.meta.dirname, 'emulator'), ...(home === undefined ? {} : { HOME: home }) };
  const exported = Object.entries(settings).map(([name, value]) => `export ${name}='${value}'\n`);
  const path = join(folder, 'bqemulator');
  await writeFile(path, `#!/bin/sh\n${exported.join('')}exec '${program}' "$@"\n`, { mode: 0o755 });
  return path;
};

/** vitest's globalSetup. */
export const setup = async (project: TestProject): Promise<() => Promise<void>> => {
  const door = await openDoor<Facts>(async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'callsync-bigquery-'));
    const cheap = { ...process.env, CALLSYNC_BQEMULATOR: await makeCheapEmulator(dataDir) };
    const { stop, ...facts } = await startBigQueryEmulator({
      dataDir,
      ephemeral: true,
      env: cheap,
      log: console.error,
    });
    return {
      facts,
      async dispose() {
        await stop();
        await rm(dataDir, { recursive: true, force: true });
      },
    };
  });
  project.provide('bigQueryDoor', door.url);
  return door.close;
};
