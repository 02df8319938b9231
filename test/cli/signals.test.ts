/** A command that is ended by a signal takes the servers that it started with it, unless another command uses them. */
import { once } from 'node:events';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { stringify } from 'yaml';
import { isAlive, sendSignal } from '../../src/local/local-process.ts';
import { closedPort } from '../support/closed-port.ts';
import { endProcess } from '../support/installation.ts';
import { makeServerFolder } from '../support/postgres.ts';
import { startProgram } from '../support/program.ts';
import { until } from '../support/until.ts';

// The exit code of Ctrl-C is in query.test.ts.
test.each([
  ['SIGTERM', 143],
  ['SIGHUP', 129],
] as const)('%s in the middle of a start leaves no server', async (signal, code) => {
  const folder = await makeServerFolder();
  const pidFile = join(folder, 'postgres/pgdata/postmaster.pid');
  const postmaster = async () => Number.parseInt(await readFile(pidFile, 'utf8').catch(() => ''), 10);
  const config = join(folder, 'callsync.yaml');
  const nobody = `http://127.0.0.1:${closedPort}`;
  const settings = {
    source: { base_url: nobody, auth_url: nobody, realm: 'r', client_id: 'a', client_secret: 'b' },
    store: { data_dir: folder },
    webhook: { port: 0, allow_unsigned: true, spool: { dir: join(folder, 'spool') } },
    operations: { enabled: false },
  };
  await writeFile(config, stringify(settings));
  const { child } = startProgram(['doctor', '--config', config]);
  onTestFinished(async () => {
    await endProcess(child, 'SIGTERM');
    // Leftovers of a failed test.
    const pid = await postmaster();
    sendSignal(pid, 'SIGINT');
    await until('no server is left', () => !isAlive(pid));
    await rm(folder, { recursive: true, force: true });
  });
  await until('the server is being started', async () => isAlive(await postmaster()));
  expect(child.exitCode).toBeNull();
  const pid = await postmaster();
  child.kill(signal);
  expect((await once(child, 'exit'))[0]).toBe(code);
  await until('PostgreSQL has ended', async () => !isAlive(pid));
});
