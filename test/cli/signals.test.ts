/** The end of a command by a signal: of the servers that it started, and of a receiver behind a proxy. */
import { once } from 'node:events';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { stringify } from 'yaml';
import { sendWebhook } from '../../src/lib/send-webhook.ts';
import { isAlive, sendSignal } from '../../src/local/local-process.ts';
import { openStore } from '../../src/store/store.ts';
import { closedPort } from '../support/closed-port.ts';
import { endProcess } from '../support/installation.ts';
import { createDatabase, makeServerFolder } from '../support/postgres.ts';
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
  const { child } = startProgram(['query', 'SELECT pg_sleep(300)', '--config', config]);
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

test('a receiver that is stopped is not ready and still accepts for a time, unless by Ctrl-C', async () => {
  const folder = await makeServerFolder();
  const database = await createDatabase();
  onTestFinished(async () => {
    await database.drop();
    await rm(folder, { recursive: true, force: true });
  });
  const secret = 'a signing secret';
  // Longer than the test: an end at once is one that waited for nothing.
  const webhook = { port: 0, secrets: [{ name: 'main', secret }], shutdown_delay_s: 300 };
  const store = { url: database.url, data_dir: folder };
  const config = join(folder, 'callsync.yaml');
  await writeFile(config, stringify({ store, webhook, operations: { port: 0 } }));
  await (await openStore({ url: database.url })).close();
  const start = async () => {
    const { child, ended, first } = startProgram(['serve', '--config', config, '--json']);
    onTestFinished(() => endProcess(child, 'SIGKILL'));
    const { webhook: url, operations } = (await first()) as { webhook: string; operations: string };
    return { child, ended, url, ready: async () => (await fetch(`${operations}/readyz`)).status };
  };
  const first = await start();
  expect(await first.ready()).toBe(200);
  first.child.kill('SIGTERM');
  await until('it is not ready', async () => (await first.ready()) === 503);
  const body = '{"unique_id":"late"}';
  expect(await sendWebhook({ url: first.url, body, secret, retry: false })).toMatchObject({ delivered: true });
  first.child.kill('SIGTERM');
  expect(await first.ended).toBe(143);
  const second = await start();
  second.child.kill('SIGINT');
  expect(await second.ended).toBe(0);
}, 200_000);
