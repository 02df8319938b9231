import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { expect, onTestFinished, test } from 'vitest';
import { checkMrcp } from '../../src/cli/commands/doctor/check-mrcp.ts';

const host = '127.0.0.1';

/** Listens, then blocks its thread: the kernel fills the queue of one and drops every further SYN. */
const deafListener = `
  const { parentPort } = require('node:worker_threads');
  const server = require('node:net').createServer();
  server.listen({ host: '${host}', port: 0, backlog: 1 }, () => {
    setTimeout(() => {
      parentPort.postMessage(server.address().port);
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
    }, 20);
  });`;

const openDeaf = async (): Promise<number> => {
  const deaf = new Worker(deafListener, { eval: true });
  const [port] = (await once(deaf, 'message')) as [number];
  const sockets = Array.from({ length: 4 }, () => connect(port, host).on('error', () => undefined));
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    await deaf.terminate();
  });
  await delay(60);
  return port;
};

const openListening = async (): Promise<number> => {
  const server = createServer((socket) => socket.on('data', (data) => expect(data).toHaveLength(0)));
  await once(server.listen(0, host), 'listening');
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
};

const openShut = async (): Promise<number> => {
  const server = createServer();
  await once(server.listen(0, host), 'listening');
  const { port } = server.address() as AddressInfo;
  await once(server.close(), 'close');
  return port;
};

const failed = (message: string, hint: string) => ({
  ...{ outcome: 'failed', exitCode: 4 },
  ...{ message: expect.stringContaining(message), hint: expect.stringContaining(hint) },
});

test.each([
  ['accepts connections', openListening, { outcome: 'ok', message: expect.stringContaining('accepts connections') }],
  ['refuses them', openShut, failed('refuses connections', 'account manager')],
  ['never answers', openDeaf, failed('did not answer in time', 'account manager')],
] as const)('the MRCP check tells a port apart that %s', async (_does, open, expected) =>
  expect(await checkMrcp({ host, port: await open(), timeout_s: 0.5 })).toEqual(expected),
);

test('the MRCP check knows an unknown host and a missing one', async () => {
  const unknown = await checkMrcp({ host: 'nowhere.invalid', port: 5060, timeout_s: 30 });
  expect(unknown).toEqual(failed('cannot be found', 'source.mrcp.host'));
  expect(await checkMrcp({ port: 5060, timeout_s: 1 })).toMatchObject({ outcome: 'skipped' });
});
