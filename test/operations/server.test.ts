import { once } from 'node:events';
import type { Server as HttpServer } from 'node:http';
import { connect, Server } from 'node:net';
import { join } from 'node:path';
import { Gauge, Registry } from 'prom-client';
import { Agent, fetch as fetchBy } from 'undici';
import { afterAll, expect, test, vi } from 'vitest';
import { serveOperations } from '../../src/health/page/server.ts';
import { makeCertificate, writeCertificate } from '../support/certificate.ts';
import { useFolder } from '../support/folder.ts';

const registry = new Registry();
new Gauge({ name: 'callsync_example', help: 'An example.', registers: [registry] }).set(7);
const folder = useFolder('operations');
let ready = true;
let token = 'first';
const common = { listen: '127.0.0.1', port: 0, registry, ready: () => ready };
const listened = vi.spyOn(Server.prototype, 'listen');
const open = await serveOperations({ ...common, token: undefined });
const [server] = listened.mock.contexts as HttpServer[];
listened.mockRestore();
const guarded = await serveOperations({ ...common, token: () => token });
afterAll(() => Promise.all([open.close(), guarded.close()]));

const alive = { alive: true, program: 'callsync' };

test('tells without a token that the process lives, and whether it is ready', async () => {
  for (const { address } of [open, guarded]) {
    const ask = async (path: string) => {
      const answer = await fetch(`${address}/${path}`);
      return [answer.status, await answer.json(), answer.headers.get('connection')];
    };
    ready = true;
    // Nobody can hold its connections.
    expect(await ask('healthz?probe')).toEqual([200, alive, 'close']);
    expect(await ask('readyz')).toEqual([200, { ready: true }, 'close']);
    ready = false;
    expect(await ask('readyz')).toEqual([503, { ready: false }, 'close']);
    expect((await fetch(`${address}/readyz`, { method: 'HEAD' })).status).toBe(503);
  }
});

test('shows metrics as Prometheus text, with a token to those who have it as it is now', async () => {
  const response = await fetch(`${open.address}/metrics`);
  expect(response.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
  expect(await response.text()).toContain('callsync_example 7\n');
  const read = (authorization?: string) =>
    fetch(`${guarded.address}/metrics`, authorization === undefined ? {} : { headers: { authorization } });
  for (const wrong of [undefined, 'Bearer ', 'Bearer firs', 'first', 'Bearer firstt']) {
    const refused = await read(wrong);
    expect([refused.status, await refused.text()]).toEqual([401, '']);
  }
  expect((await read('Bearer first')).status).toBe(200);
  token = 'second';
  expect((await read('Bearer first')).status).toBe(401);
  expect((await read('Bearer second')).status).toBe(200);
});

test('serves nothing else, takes another port where any will do, and says when its address is taken', async () => {
  for (const path of ['', 'constructor']) expect((await fetch(`${open.address}/${path}`)).status).toBe(404);
  const posted = await fetch(`${open.address}/metrics`, { method: 'POST' });
  expect([posted.status, posted.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
  const { port } = new URL(open.address);
  const options = { ...common, port: Number(port), token: undefined };
  const other = await serveOperations({ ...options, orAnyPort: true });
  expect((await fetch(`${other.address}/healthz`)).status).toBe(200);
  await other.close();
  await expect(serveOperations(options)).rejects.toMatchObject({ code: 'OPERATIONS_PORT_TAKEN', kind: 'terminal' });
});

test('a probe gets in beside clients that never finish their request, and these are closed soon', async () => {
  const port = Number(new URL(open.address).port);
  expect(server?.headersTimeout).toBe(5_000);
  Object.assign(server as HttpServer, { headersTimeout: 1_000 });
  let closed = 0;
  for (let count = 0; count < 150; count += 1) {
    const socket = connect(port, '127.0.0.1').resume();
    socket.on('error', () => undefined).on('close', () => (closed += 1));
    await once(socket, 'connect');
    socket.write('GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: ');
  }
  expect((await fetch(`${open.address}/healthz`)).status).toBe(200);
  expect(closed).toBeGreaterThanOrEqual(50);
  await expect.poll(() => closed).toBe(150);
});

test('takes no head of more than 8 KiB', async () => {
  expect((await fetch(`${open.address}/healthz`, { headers: { 'x-large': 'x'.repeat(9_000) } })).status).toBe(431);
});

test('serves HTTPS where it has a certificate, and refuses one that cannot be used', async () => {
  const pair = makeCertificate();
  const tls = await writeCertificate(folder, pair);
  const options = { ...common, token: undefined, tls };
  const none = { ...options, tls: { ...tls, key_file: join(folder, 'none') } };
  await expect(serveOperations(none)).rejects.toMatchObject({ code: 'OPERATIONS_TLS_INVALID' });
  const secure = await serveOperations(options);
  expect(secure.address).toMatch(/^https:/);
  const trusting = new Agent({ connect: { ca: pair.cert } });
  expect(await (await fetchBy(`${secure.address}/healthz`, { dispatcher: trusting })).json()).toEqual(alive);
  await trusting.close();
  await secure.close();
});
