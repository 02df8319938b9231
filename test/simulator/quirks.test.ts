/** Quirks of a list beyond its interface; each quirk is one case against a small simulator. */
import { afterEach, expect, test } from 'vitest';
import type { SimulatorOptions } from '../../schemas/simulator.ts';
import { startSimulator } from '../../src/simulator/start-simulator.ts';
import { clientOf, collect } from './api.ts';

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
const trueTimes = async () =>
  new Map((await collect(simulator.truth())).map((call) => [call.callId, Date.parse(call.timestamp)]));
const idsOf = (data: readonly Record<string, unknown>[]): string[] => data.map((call) => String(call.unique_id));

test('a silent cap, with the total capped, true, or not told', async () => {
  const cap = 137;
  const { list, get } = await start({ calls: { count: 1_100, utterances: 0, tags: 0 } });
  const page = { limit: 200, offset: 200 * Math.floor((cap - 1) / 200) };
  await simulator.configure({ dialectOverrides: { cap } });
  const capped = await list(page);
  expect([capped.count, capped.data.length]).toEqual([cap, cap - page.offset]);
  expect((await list({ limit: 200, offset: page.offset + 200 })).data).toEqual([]);
  await simulator.configure({ dialectOverrides: { cap, capTotal: 'true' } });
  const honest = await list(page);
  expect([honest.count, idsOf(honest.data)]).toEqual([1_100, idsOf(capped.data)]);
  await simulator.configure({ dialectOverrides: { cap, totalPath: undefined } });
  expect(Object.keys((await (await get('/calls?limit=200')).json()) as object)).toEqual(['data']);
});

test('times in records that differ from those that the list filters by', async () => {
  const { list } = await start({ calls: { count: 60, printedOffMs: 5_000, printedPrecision: 'milliseconds' } });
  const times = await trueTimes();
  const { data } = await list({ limit: 200 });
  const offs = data.map((call) => Date.parse(String(call.timestamp)) - (times.get(String(call.unique_id)) as number));
  expect(Math.min(...offs)).toBeLessThan(-2_500);
  expect(Math.min(...offs)).toBeGreaterThanOrEqual(-5_000);
  expect(Math.max(...offs)).toBeGreaterThan(2_500);
  expect(Math.max(...offs)).toBeLessThanOrEqual(5_000);
  const [one] = [...times.values()].slice(30).map((at) => new Date(at).toISOString());
  expect((await list({ timestamp_from: one as string, timestamp_to: one as string })).count).toBeGreaterThan(0);
});

test('a record with which every answer fails, with 500 or broken JSON', async () => {
  const { list, get } = await start({ calls: { count: 30 } });
  const id = idsOf((await list()).data)[7] as string;
  const look = async (path: string): Promise<string> => {
    const response = await get(path);
    const text = await response.text();
    return `${response.status} ${/^\{.*\}$/.test(text) && !text.endsWith('}{"') ? 'whole' : 'broken'}`;
  };
  for (const [kind, answer] of [
    ['error_500', '500 whole'],
    ['broken_json', '200 broken'],
  ] as const) {
    await simulator.configure({ quirks: { poison: [{ record: 7, kind }] } });
    for (const path of ['/calls?limit=8', '/calls?offset=7&limit=1', `/calls/${id}`, '/calls?exclude=transcript_json'])
      for (let i = 0; i < 2; i++) expect(await look(path)).toBe(answer);
    for (const path of ['/calls?limit=7', '/calls?offset=8']) expect(await look(path)).toBe('200 whole');
    await simulator.configure({ quirks: { poison: [{ record: 7, kind, light: false, single: false }] } });
    expect(await look(`/calls/${id}`)).toBe('200 whole');
    expect(await look('/calls?exclude=transcript_json')).toBe('200 whole');
    expect(await look('/calls')).toBe(answer);
  }
});

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

test('newest first while ten calls a second appear, by offset and by cursor', async () => {
  const { list, get } = await start({ calls: { count: 90 }, dialectOverrides: { newestFirst: true } });
  const times = (await list({ limit: 200 })).data.map((call) => String(call.timestamp));
  expect(times).toEqual([...times].sort().reverse());
  await simulator.configure({
    dialectOverrides: {
      newestFirst: true,
      paging: { style: 'cursor', cursor: 'cursor', size: 'limit', bodyPath: 'next', defaultSize: 20, maxSize: 100 },
    },
  });
  const ids: string[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const body = (await (await get(`/calls?${cursor === '' ? '' : `cursor=${cursor}`}`)).json()) as {
      data: Record<string, unknown>[];
      next: string | null;
    };
    ids.push(...idsOf(body.data));
    cursor = body.next;
  }
  expect([ids.length, new Set(ids).size]).toEqual([90, 90]);
  await simulator.configure({
    dialectOverrides: { newestFirst: true },
    live: { callsPerSecond: 10, processingSeconds: 0 },
  });
  const first = await list({ limit: 50 });
  let second = first;
  while (second.count < first.count + 5) second = await list({ limit: 50, offset: 50 });
  const repeated = idsOf(second.data).filter((id) => idsOf(first.data).includes(id));
  expect(repeated).toHaveLength(Math.min(50, second.count - first.count));
});
