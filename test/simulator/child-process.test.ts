import { fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, test } from 'vitest';
import type { SimulatorOptions } from '../../schemas/simulator.ts';
import { createRemoteControl } from '../../src/simulator/control/remote-control.ts';
import type { SimulatorAddresses } from '../../src/simulator/start-simulator.ts';
import { clientOf, collect } from './api.ts';
import { startSink } from './webhook-sink.ts';

/** Built by `npm run build`, which `npm test` runs first. */
const entry = resolve('dist/src/simulator/control/child.js');

const startChild = async (options: SimulatorOptions) => {
  const child = fork(entry, { env: { ...process.env, CALLSYNC_SIMULATOR: JSON.stringify(options) } });
  const [addresses] = (await once(child, 'message')) as [SimulatorAddresses];
  return { child, addresses };
};

test('runs as a process of its own, driven and asked over HTTP, and ends with its parent', async () => {
  const sink = await startSink();
  const { child, addresses } = await startChild({
    calls: { count: 120, utterances: 1, otherShare: 0, from: '2024-03-01T00:00:00Z', to: '2024-03-08T00:00:00Z' },
    rateLimit: { requests: 0 },
  });
  const control = createRemoteControl(addresses);
  const { list } = await clientOf(addresses);
  expect((await list()).count).toBe(120);

  await control.startWebhooks({ url: sink.url });
  const inserted = await control.insert({ count: 3, status: 'qualified' });
  const [edited] = await control.edit({ callIds: [inserted[0]?.callId as string], kinds: ['tags'], webhook: true });
  await control.drainWebhooks();
  expect(sink.received).toHaveLength(4);
  expect(edited?.version).toBe(2);
  expect(await control.sendWebhooks({ count: 10 })).toBe(10);
  await control.drainWebhooks();

  const truth = await collect(control.truth());
  expect(truth).toHaveLength(123);
  expect(truth.filter((call) => call.deliveredByWebhook)).toHaveLength(13);
  expect(await control.truthOf(edited?.callId as string)).toEqual(truth.find((call) => call.callId === edited?.callId));
  expect(await control.truthOf('nobody')).toBeUndefined();
  expect(await control.documentAt(edited?.callId as string, 1)).toMatchObject({ unique_id: edited?.callId });
  expect(await collect(control.truth({ light: true, after: 100, limit: 5 }))).toHaveLength(5);
  const statuses = (await collect(control.truth({ light: true, statuses: ['void'] }))).map((call) => call.status);
  expect(statuses).toHaveLength(truth.filter((call) => call.status === 'void').length);
  expect(await collect(control.deliveries())).toHaveLength(14);

  await control.delete({ random: 20 });
  expect((await list()).count).toBe(103);
  await control.configure({ rateLimit: { requests: 1 } });
  await expect(control.configure({ dialect: 'unheard-of' })).rejects.toThrow(/no dialect/);
  expect(
    (await control.setClock({ advanceSeconds: 86_400 })).now > new Date(Date.now() + 86_000_000).toISOString(),
  ).toBe(true);
  expect((await control.stats()).webhooks.delivered).toBe(14);

  child.disconnect();
  expect(await once(child, 'exit')).toEqual([0, null]);
  await sink.stop();
});

test('says what is wrong with its options and ends', async () => {
  const child = spawn(process.execPath, [entry], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, CALLSYNC_SIMULATOR: '{"dialect":"unheard-of"}' },
  });
  // It may have ended before its line is read.
  const ended = once(child, 'exit');
  const [text] = await once(createInterface({ input: child.stderr }), 'line');
  expect(text).toMatch(/no dialect named unheard-of/);
  expect((await ended)[0]).toBe(1);
});
