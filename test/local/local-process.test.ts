import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { findFreePort, isAlive, keepServer, startServer, stopLocalProcess } from '../../src/local/local-process.ts';
import { useFolder } from '../support/folder.ts';
import { endProcess } from '../support/installation.ts';
import { listen } from '../support/listen.ts';
import { until } from '../support/until.ts';

const folder = useFolder('process');

test.skipIf(!existsSync('/proc/self/environ'))('a server does not get the secrets of our environment', async () => {
  process.env.CALLSYNC_TEST_SECRET = 'hunter2';
  const stopRules = { signal: 'SIGTERM', lastSignal: 'SIGKILL', stopDeadlineMs: 5_000 } as const;
  onTestFinished(() => void delete process.env.CALLSYNC_TEST_SECRET);
  const args = ['-e', 'console.log("up"); setInterval(() => {}, 1000)'];
  const logFile = join(folder, 'log');
  const probe = async () => (await readFile(logFile, 'utf8')).includes('up') || undefined;
  const task = { program: process.execPath, args, logFile, cwd: folder, env: { EXTRA: 'given' } };
  const outcome = await startServer(task, { ...stopRules, startDeadlineMs: 30_000, probe });
  if ('failure' in outcome) throw new Error(outcome.failure);
  const environment = await readFile(`/proc/${outcome.pid}/environ`, 'utf8');
  await stopLocalProcess(outcome.pid, stopRules);
  for (const part of ['EXTRA=given', 'PATH=']) expect(environment).toContain(part);
  expect(environment).not.toContain('hunter2');
  expect(isAlive(outcome.pid)).toBe(false);
});

test('a free port is none that Linux gives to others', async () => {
  const first = 32_768;
  for (const _ of Array(20)) expect(await findFreePort()).toBeLessThan(first);
  const server = await listen(() => undefined);
  onTestFinished(server.close);
  const other = await findFreePort(Number(new URL(server.url).port));
  expect(other).toBeLessThan(first);
  expect(await findFreePort(other)).toBe(other);
});

const children: ChildProcess[] = [];
const start = async (): Promise<Parameters<typeof keepServer>[0]> => {
  const child = spawn('sleep', ['600'], { stdio: 'ignore' });
  await once(child, 'spawn');
  children.push(child);
  return { pid: child.pid ?? 0, stop: () => endProcess(child, 'SIGTERM') };
};

test('a server that is killed is started again, until it is stopped', async () => {
  const said: string[] = [];
  let failures = 1;
  const stop = keepServer(
    await start(),
    () => (failures-- > 0 ? Promise.reject(new Error('its port is taken')) : start()),
    (message) => void said.push(message),
  );
  children[0]?.kill('SIGKILL');
  await until('another one runs', async () => children.length === 2);
  expect(said.join(' ')).toContain('its port is taken');
  await stop();
  expect(children.map(({ signalCode }) => signalCode)).toEqual(['SIGKILL', 'SIGTERM']);
});
