import { Gauge, Registry } from 'prom-client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type OperationsServer, serveOperations } from '../../src/operations/server.ts';

const registry = new Registry();
new Gauge({ name: 'callsync_example', help: 'An example.', registers: [registry] }).set(7);
let ready = true;
let token = 'first';
let open: OperationsServer;
let guarded: OperationsServer;
beforeAll(async () => {
  const common = { listen: '127.0.0.1', port: 0, registry, ready: () => ready };
  open = await serveOperations({ ...common, token: undefined });
  guarded = await serveOperations({ ...common, token: () => token });
});
afterAll(() => Promise.all([open?.close(), guarded?.close()]));

test('tells without a token that the process lives, and whether it is ready', async () => {
  for (const { address } of [open, guarded]) {
    ready = true;
    const alive = await fetch(`${address}/healthz?probe`);
    expect([alive.status, await alive.json()]).toEqual([200, { alive: true }]);
    // Nobody can hold its connections.
    expect(alive.headers.get('connection')).toBe('close');
    const before = await fetch(`${address}/readyz`);
    expect([before.status, await before.json()]).toEqual([200, { ready: true }]);
    ready = false;
    const after = await fetch(`${address}/readyz`, { method: 'GET' });
    expect([after.status, await after.json()]).toEqual([503, { ready: false }]);
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

test('serves nothing else, and says when its address is taken', async () => {
  expect((await fetch(`${open.address}/`)).status).toBe(404);
  expect((await fetch(`${open.address}/constructor`)).status).toBe(404);
  const posted = await fetch(`${open.address}/metrics`, { method: 'POST' });
  expect([posted.status, posted.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
  const { port } = new URL(open.address);
  const taken = serveOperations({
    listen: '127.0.0.1',
    port: Number(port),
    registry,
    ready: () => true,
    token: undefined,
  });
  await expect(taken).rejects.toMatchObject({ code: 'OPERATIONS_PORT_TAKEN', kind: 'terminal' });
});
