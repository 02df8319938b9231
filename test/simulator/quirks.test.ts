/** Quirks of a list beyond its interface; each quirk is one case against a small simulator. */
import { afterEach, expect, test } from 'vitest';
import type { SimulatorOptions } from '../../schemas/simulator.ts';
import { startSimulator } from '../../src/simulator/start-simulator.ts';
import { clientOf } from './api.ts';

let simulator: Awaited<ReturnType<typeof startSimulator>>;
afterEach(() => simulator.stop());

const start = async ({ calls, ...options }: SimulatorOptions) => {
  simulator = await startSimulator({
    calls: {
      utterances: 1,
      words: 1,
      lateShare: 0,
      from: '2024-03-01T00:00:00Z',
      to: '2024-03-02T00:00:00Z',
      ...calls,
    },
    rateLimit: { requests: 0 },
    ...options,
  });
  return clientOf(simulator);
};
const idsOf = (data: readonly Record<string, unknown>[]): string[] => data.map((call) => String(call.unique_id));

test('totals that lag behind, and a replica that is late', async () => {
  const { list, get } = await start({ calls: { count: 20 }, quirks: { countLagSeconds: 60 } });
  const [made] = await simulator.insert({});
  const counted = await list();
  expect([counted.count, counted.data.length]).toEqual([20, 21]);
  await simulator.configure({ quirks: { countLagSeconds: 0, replicaLateSeconds: 60 } });
  const answers = [await list(), await list(), await list(), await list()].map((body) => body.count);
  expect(answers.sort()).toEqual([20, 20, 21, 21]);
  const single = [await get(`/calls/${made?.callId}`), await get(`/calls/${made?.callId}`)];
  expect(single.map(({ status }) => status).sort()).toEqual([200, 404]);
  await simulator.edit({ callIds: [made?.callId as string], patch: { campaign: 'changed' } });
  await simulator.setClock({ advanceSeconds: 30 });
  const first = idsOf((await list({ limit: 1 })).data)[0] as string;
  await simulator.edit({ callIds: [first], patch: { campaign: 'changed' }, requalify: false });
  const seen = [(await list()).data, (await list()).data].map(
    (data) => data.find((call) => call.unique_id === first)?.campaign === 'changed',
  );
  expect(seen.sort()).toEqual([false, true]);
  await simulator.setClock({ advanceSeconds: 61 });
  expect([(await list()).count, (await list()).count]).toEqual([21, 21]);
});

test('newest first', async () => {
  const { list } = await start({ calls: { count: 90 }, dialectOverrides: { newestFirst: true } });
  const times = (await list({ limit: 200 })).data.map((call) => String(call.timestamp));
  expect(times).toEqual([...times].sort().reverse());
});
