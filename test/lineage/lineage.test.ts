/** Events of loads: valid by the specification's schema, sent behind the work, and never in its way. */
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { afterEach, expect, test } from 'vitest';
import { tableNames } from '../../schemas/tables.ts';
import { createEmitter } from '../../src/lineage/emitter.ts';
import { type FinishedLoad, lineageEvents } from '../../src/lineage/events.ts';

const schema = JSON.parse(readFileSync(join(import.meta.dirname, 'openlineage/OpenLineage.json'), 'utf8'));
const validate = new Ajv2020({ strict: false, allErrors: true, validateFormats: false }).compile(schema);

const context = {
  namespace: 'callsync',
  service: 'https://api.example.com',
  places: {
    main: { namespace: 'postgres://db.example.com:5432', prefix: 'callsync.calls', documents: false },
    whole: { namespace: 'bigquery', prefix: 'acme.calls', documents: true },
  },
  version: '1.2.3',
};
const run = { runId: '8e5f0c1e-5d0f-4c36-9d68-0a4a3a4f7f11', endedAt: Date.parse('2026-01-01T00:00:10Z') };
const eventsOf = (over: Partial<FinishedLoad> = {}) =>
  lineageEvents({ warehouse: 'main', outcome: 'committed', seconds: 2.5, ...over }, context, run);

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

interface Received {
  readonly authorization: string | undefined;
  readonly body: unknown;
}

const listen = async (status: number | 'silent'): Promise<{ url: string; received: Received[] }> => {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => {
      body += chunk.toString('utf8');
    });
    request.on('end', () => {
      received.push({ authorization: request.headers.authorization, body: JSON.parse(body) });
      if (status !== 'silent') response.writeHead(status).end();
    });
  });
  servers.push(server);
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const address = server.address();
  return { url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/api/v1/lineage`, received };
};

test('a load is a run with its tables, valid by the schema of the specification', () => {
  const [start, end] = eventsOf();
  expect(start).toMatchObject({ eventType: 'START', eventTime: '2026-01-01T00:00:07.500Z', run: { runId: run.runId } });
  expect(end).toMatchObject({ eventType: 'COMPLETE', eventTime: '2026-01-01T00:00:10.000Z' });
  const written = tableNames.filter((name) => !['documents', 'sync_state'].includes(name));
  expect(written).toEqual(expect.arrayContaining(['utterances', 'changes', 'redactions', 'loads', 'token_aliases']));
  expect(end?.outputs).toEqual(
    written.map((name) => ({ namespace: 'postgres://db.example.com:5432', name: `callsync.calls.${name}` })),
  );
  const [whole] = eventsOf({ warehouse: 'whole' });
  expect(whole?.outputs).toContainEqual({ namespace: 'bigquery', name: 'acme.calls.documents' });
  expect(eventsOf({ outcome: 'failed', warehouse: 'gone' })[1]).toMatchObject({ eventType: 'FAIL', outputs: [] });
  for (const event of [...eventsOf(), ...eventsOf({ outcome: 'failed' }), whole]) {
    expect(validate(event), JSON.stringify(validate.errors)).toBe(true);
  }
  expect(validate({ ...start, run: {} })).toBe(false);
});

test('events are sent in order, with the token of that moment', async () => {
  const { url, received } = await listen(201);
  let token = 'first';
  const emitter = createEmitter({ url, token: () => token, log: () => undefined });
  emitter.emit(eventsOf());
  await expect.poll(() => received.length).toBe(2);
  token = 'second';
  emitter.emit(eventsOf({ outcome: 'failed' }));
  await emitter.close();
  expect(received.map(({ authorization }) => authorization)).toEqual([
    'Bearer first',
    'Bearer first',
    'Bearer second',
    'Bearer second',
  ]);
  expect(received.map(({ body }) => body)).toEqual([...eventsOf(), ...eventsOf({ outcome: 'failed' })]);
});

test.each([500, 'silent', 'closed'] as const)(
  'a %s receiver holds nothing up, is logged once and forgotten',
  async (kind) => {
    const { url, received } = kind === 'closed' ? { url: 'http://127.0.0.1:1/', received: [] } : await listen(kind);
    const logged: string[] = [];
    const emitter = createEmitter({ url, log: (event) => logged.push(event), timeoutMs: 200 });
    const began = performance.now();
    for (let load = 0; load < 2_000; load += 1) emitter.emit(eventsOf());
    // One time-out each would be minutes.
    expect(performance.now() - began).toBeLessThan(10_000);
    if (kind !== 'closed') await expect.poll(() => received.length).toBeGreaterThan(0);
    await expect.poll(() => logged.length).toBe(1);
    await emitter.close();
    expect(logged).toEqual(['lineage event not sent']);
    emitter.emit(eventsOf());
    expect(received.length).toBeLessThanOrEqual(1_000);
  },
);

test('a request without an answer ends in time also while memory is collected', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const { url } = await listen('silent');
  for (let round = 0; round < 3; round += 1) {
    const logged: string[] = [];
    const emitter = createEmitter({ url, log: (event) => logged.push(event), timeoutMs: 100 });
    emitter.emit(eventsOf().slice(0, 1));
    const ended = () => {
      collect();
      return logged.length;
    };
    await expect.poll(ended).toBe(1);
    await emitter.close();
  }
});

test('a token that cannot be read fails no load', async () => {
  const { url, received } = await listen(201);
  const logged: string[] = [];
  const token = () => {
    throw new Error('no such file');
  };
  const emitter = createEmitter({ url, token, log: (event) => logged.push(event) });
  emitter.emit(eventsOf());
  await emitter.close();
  expect([received.length, logged.length]).toEqual([0, 1]);
});
