/** A server that dies is started again, and one that is stopped is not. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { type KeptServer, keepServer } from '../../src/local/keep-server.ts';
import { endProcess, until } from '../support/installation.ts';

const children: ChildProcess[] = [];
const start = async (): Promise<KeptServer> => {
  const child = spawn('sleep', ['600'], { stdio: 'ignore' });
  await once(child, 'spawn');
  children.push(child);
  return { pid: child.pid ?? 0, stop: () => endProcess(child, 'SIGTERM') };
};

test('a server that is killed is started again, until it is stopped', async () => {
  const said: string[] = [];
  let failures = 1;
  const kept = keepServer(
    await start(),
    () => (failures-- > 0 ? Promise.reject(new Error('its port is taken')) : start()),
    (message) => void said.push(message),
  );
  children[0]?.kill('SIGKILL');
  await until('another one runs', async () => children.length === 2);
  expect(said.join(' ')).toContain('its port is taken');
  await kept.stop();
  expect(children.map(({ signalCode }) => signalCode)).toEqual(['SIGKILL', 'SIGTERM']);
});
