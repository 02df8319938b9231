import { execFileSync } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, expect, inject, onTestFinished, test } from 'vitest';
import {
  createCluster,
  launch,
  locatePostgresBinaries,
  resolvePostgresAccount,
  startEmbeddedPostgres,
  stopRules,
} from '../../src/local/embedded-postgres.ts';
import { isAlive, stopLocalProcess } from '../../src/local/local-process.ts';
import { makeServerFolder, runOnServer } from '../support/postgres.ts';
import { beQuickToPort } from '../support/quick-to-port.ts';
import { refusal } from '../support/refusal.ts';
import { until } from '../support/until.ts';

/** The first test makes its cluster, which takes seconds of processor time, and the last one spoils it. */
const dataDir = await makeServerFolder();
afterAll(() => rm(dataDir, { recursive: true, force: true }));

/** Until the end of the test. */
const start = async () => {
  const server = await startEmbeddedPostgres({ dataDir, durable: false });
  onTestFinished(server.stop);
  return server;
};

const query = async (url: string, sql: string) => (await runOnServer(url, sql)).rows;

test('the local PostgreSQL is started twice at once on an empty folder and there is one server', async () => {
  const [first, second] = await Promise.all([start(), start()]);
  expect(second.pid).toBe(first.pid);
  expect([first.started, second.started].toSorted()).toEqual([false, true]);
});

test('the local PostgreSQL keeps data and port over stop and kill, on loopback, until its last user ends', async () => {
  const first = await start();
  await query(first.url, 'CREATE TABLE kept (n int); INSERT INTO kept VALUES (7)');
  expect(await query(first.url, 'SHOW listen_addresses')).toEqual([{ listen_addresses: '127.0.0.1' }]);
  const joined = await start();
  expect(joined).toMatchObject({ pid: first.pid, url: first.url, started: false });
  await first.stop();
  expect(await query(joined.url, 'SELECT n FROM kept')).toEqual([{ n: 7 }]);
  await joined.stop();
  expect(isAlive(first.pid)).toBe(false);
  const second = await start();
  expect(second).toMatchObject({ started: true, port: first.port });
  process.kill(second.pid, 'SIGKILL');
  // On a busy machine it takes connections for a moment more.
  await until('it is gone', () => !isAlive(second.pid));
  const third = await start();
  expect(third.pid).not.toBe(second.pid);
  expect(await query(third.url, 'SELECT n FROM kept')).toEqual([{ n: 7 }]);
});

test('the local PostgreSQL keeps the password out of argv and away from other users', async () => {
  const server = await start();
  const password = new URL(server.url).password;
  expect(password).toHaveLength(64);
  expect(statSync(join(dataDir, 'pgdata', 'callsync.password')).mode & 0o777).toBe(0o600);
  expect(execFileSync('ps', ['-A', '-o', 'args'], { encoding: 'utf8' })).not.toContain(password);
  expect(readFileSync(join(dataDir, 'postgres.log'), 'utf8')).not.toContain(password);
  const wrong = Object.assign(new URL(server.url), { password: 'wrong' });
  await expect(query(wrong.href, 'SELECT 1')).rejects.toThrow('password authentication failed');
});

test('the local PostgreSQL opens a new file of its log without filling it first', async () => {
  const { adminUrl } = await start();
  await query(adminUrl, "SELECT pg_stat_reset_shared('io')");
  for (const table of ['first', 'second'])
    await query(adminUrl, `CREATE TABLE ${table} (n int); SELECT pg_switch_wal()`);
  // The next to write opens one.
  await query(adminUrl, 'CREATE TABLE third (n int)');
  const opened =
    "SELECT sum(writes)::int AS files, sum(write_bytes)::int AS bytes FROM pg_stat_io WHERE context = 'init'";
  const [{ files, bytes }] = (await query(adminUrl, opened)) as [{ files: number; bytes: number }];
  expect(files).toBeGreaterThan(0);
  expect(bytes).toBe(files);
});

test('the local PostgreSQL takes another port where one that nobody asked for is taken before it listens', async () => {
  const account = await resolvePostgresAccount();
  const installed = await locatePostgresBinaries(account, () => undefined);
  const home = await makeServerFolder();
  onTestFinished(() => rm(home, { recursive: true, force: true }));
  const quick = await beQuickToPort(home, installed.postgres, '-p');
  const cluster = { home, data: join(home, 'pgdata'), account, binaries: { ...installed, postgres: quick.path } };
  await createCluster(cluster, false);
  expect(await launch(cluster, undefined, {})).toBe(undefined);
  const again = (await launch(cluster, undefined, {})) as NonNullable<Awaited<ReturnType<typeof launch>>>;
  expect(again.port).not.toBe(quick.port);
  await stopLocalProcess(again.pid, stopRules);
  quick.close();
});

test('the local PostgreSQL says what to do when a port that was asked for is taken', async () => {
  const port = Number(new URL(inject('postgresUrl')).port);
  expect(await refusal(startEmbeddedPostgres({ dataDir, port }))).toMatch(/ STORE_START: .*did not start.*store\.url/);
});

test('the role that callsync works as is no superuser, and owns its database', async () => {
  const server = await start();
  const role = 'SELECT rolsuper, rolname FROM pg_roles WHERE rolname = current_user';
  expect(await query(server.url, role)).toEqual([{ rolsuper: false, rolname: 'callsync' }]);
  await query(server.url, 'CREATE SCHEMA calls; CREATE TABLE calls.mine (n int); CREATE ROLE made');
  await expect(query(server.url, "COPY (SELECT 1) TO PROGRAM 'true'")).rejects.toMatchObject({ code: '42501' });
  expect(server.url).not.toContain(readFileSync(join(dataDir, 'pgdata', 'admin.password'), 'utf8').trim());
});
