/** A command that is ended by a signal takes the servers that it started with it, unless another command uses them. */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { isAlive, sendSignal } from '../../src/local/local-process.ts';
import { closedPort } from '../support/closed-port.ts';
import { endProcess } from '../support/installation.ts';
import { makeServerFolder } from '../support/postgres.ts';
import { startProgram } from '../support/program.ts';
import { until } from '../support/until.ts';

let folder: string;
const children: ChildProcess[] = [];

beforeEach(async () => {
  folder = await makeServerFolder();
});
afterEach(async () => {
  for (const child of children.splice(0)) await endProcess(child, 'SIGTERM');
  // Leftovers of a failed test.
  const pid = await postmaster();
  sendSignal(pid, 'SIGINT');
  await until('no server is left', () => !isAlive(pid));
  await rm(folder, { recursive: true, force: true });
});

const start = async (args: readonly string[], port = 0): Promise<ChildProcess> => {
  const config = join(folder, `callsync-${children.length}.yaml`);
  const nobody = `http://127.0.0.1:${closedPort}`;
  const settings = {
    source: { base_url: nobody, auth_url: nobody, realm: 'r', client_id: 'a', client_secret: 'b' },
    store: { data_dir: folder },
    webhook: { port, allow_unsigned: true, spool: { dir: join(folder, `spool-${children.length}`) } },
    operations: { enabled: false },
  };
  await writeFile(config, stringify(settings));
  const { child } = startProgram([...args, '--config', config]);
  children.push(child);
  return child;
};

const postmaster = async (): Promise<number> =>
  Number.parseInt(await readFile(join(folder, 'postgres/pgdata/postmaster.pid'), 'utf8').catch(() => ''), 10);

// The exit code of Ctrl-C is in query.test.ts.
test.each(['SIGTERM', 'SIGHUP'] as const)('%s in the middle of a start leaves no server', async (signal) => {
  const child = await start(['doctor']);
  await until('the server is being started', async () => isAlive(await postmaster()));
  expect(child.exitCode).toBeNull();
  const pid = await postmaster();
  child.kill(signal);
  expect((await once(child, 'exit'))[0]).toBe({ SIGHUP: 129, SIGTERM: 143 }[signal]);
  await until('PostgreSQL has ended', async () => !isAlive(pid));
});
