import { afterEach, describe, expect, test } from 'vitest';
import type { SimulatorOptions } from '../../schemas/simulator.ts';
import { startSimulator } from '../../src/simulator/start-simulator.ts';
import { until } from '../support/until.ts';
import { clientOf, collect } from './api.ts';
import { callRecordSchema } from './call-record-schema.ts';

const small = { utterances: 2, words: 3, lateShare: 0 } as const;
const past = { from: '2024-03-01T00:00:00Z', to: '2024-03-08T00:00:00Z' } as const;
const off = { requests: 0 } as const;

let simulator: Awaited<ReturnType<typeof startSimulator>>;
const start = async (options: SimulatorOptions) => {
  simulator = await startSimulator(options);
  return clientOf(simulator);
};
afterEach(() => simulator.stop());

describe('GET /calls, as the public reference documents it', () => {
  test('pages with limit and offset, and cuts on both axes with inclusive bounds, in the order asked', async () => {
    const { list, get } = await start({ calls: { ...small, ...past, count: 150 }, rateLimit: off });
    expect((await list()).data).toHaveLength(50);
    expect(await list({ limit: 200, offset: 600 })).toEqual({ count: 150, data: [] });
    for (const query of ['limit=201', 'offset=10001', 'limit=x', 'timestamp_from=yesterday', 'exclude=unique_id'])
      expect((await get(`/calls?${query}`)).status, query).toBe(400);
    for (const axis of ['timestamp', 'qualified'] as const) {
      const all = (await list({ limit: 200, order: axis })).data.map((call) => String(call[axis]));
      expect(all).toEqual([...all].sort());
      const [from, to] = [all[40] as string, all[90] as string];
      const cut = await list({ limit: 200, order: axis, [`${axis}_from`]: from, [`${axis}_to`]: to });
      expect(cut.data.map((call) => call[axis])).toEqual(all.filter((at) => at >= from && at <= to));
      expect(cut.count).toBe(cut.data.length);
    }
  });

  test('filters by status and leaves first-level fields out', async () => {
    const { list } = await start({ calls: { ...small, ...past, count: 180 }, rateLimit: off });
    const { data } = await list({ limit: 200 });
    const both = data.filter((call) => ['qualified', 'void'].includes(String(call.status)));
    expect((await list({ status: 'qualified,void' })).count).toBe(both.length);
    const [light] = (await list({ exclude: 'transcript_json,tracking_info,qualification', limit: 1 })).data;
    const { transcript_json: _t, tracking_info: _i, qualification: _q, ...rest } = data[0] as Record<string, unknown>;
    expect(light).toEqual(rest);
  });

  test('shows a call only once it is processed, in the list and by id', async () => {
    const to = new Date(Date.now() + 86_400_000).toISOString();
    const { list, get } = await start({ calls: { ...small, count: 0, to }, rateLimit: off });
    const qualified = new Date(Date.now() + 3_600_000).toISOString();
    const [made] = await simulator.insert({ timestamp: '2024-03-01T10:00:00Z', qualified });
    expect((await list()).count).toBe(0);
    expect((await get(`/calls/${made?.callId}`)).status).toBe(404);
    await simulator.setClock({ advanceSeconds: 3_601 });
    const { data } = await list();
    expect(data.map((call) => call.unique_id)).toEqual([made?.callId]);
    const response = await get(`/calls/${made?.callId}`);
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual(data[0]);
    expect(Date.parse(response.headers.get('date') ?? '')).toBeGreaterThan(Date.now() + 3_500_000);
    expect((await get('/calls/00000000-0000-4000-a000-000000000000')).status).toBe(404);
  });

  test('makes realistic records, the same for the same seed', async () => {
    const calls = { ...past, count: 40, lateShare: 0 };
    const { list } = await start({ calls, rateLimit: off, seed: 7 });
    const { data } = await list({ limit: 200 });
    for (const call of data) expect(callRecordSchema.safeParse(call).success).toBe(true);
    const bytes = data.map((call) => JSON.stringify(call).length);
    const mean = bytes.reduce((sum, n) => sum + n, 0) / bytes.length;
    expect(mean).toBeGreaterThan(30_000);
    expect(mean).toBeLessThan(45_000);
    expect(data.every((call) => !('audio_state' in call) && 'qualified' in call && 'qualification' in call)).toBe(true);
    await simulator.stop();
    const again = await start({ calls, rateLimit: off, seed: 7 });
    expect((await again.list({ limit: 200 })).data).toEqual(data);
  });

  test('needs a bearer token that is known and has not expired', async () => {
    const { get, token } = await start({ calls: { ...small, ...past, count: 5 }, tokens: { lifetimeSeconds: 2 } });
    expect((await get('/calls')).status).toBe(200);
    expect((await fetch(`${simulator.url}/calls`)).status).toBe(401);
    expect((await fetch(`${simulator.url}/calls`, { headers: { Authorization: `Token ${token}` } })).status).toBe(401);
    expect((await fetch(`${simulator.url}/calls`, { headers: { Authorization: 'bearer guess' } })).status).toBe(401);
    await until('the token ends', async () => (await get('/calls')).status === 401);
    expect((await simulator.stats()).tokens.rejected).toEqual({ absent: 2, unknown: 1, expired: 1 });
  });
});

describe('calls that change', () => {
  test('edits keep or move the end of processing, and later versions show in the list', async () => {
    const { list } = await start({ calls: { ...small, ...past, count: 20, otherShare: 0 }, rateLimit: off });
    const before = (await list({ limit: 200 })).data;
    const [silent, moved] = [before[3]?.unique_id as string, before[5]?.unique_id as string];
    await simulator.edit({ callIds: [silent], kinds: ['tags', 'metadata'], requalify: false });
    await simulator.edit({ callIds: [moved], kinds: ['transcript', 'status', 'timestamp'], requalify: true });
    const after = (await list({ limit: 200 })).data;
    const find = (calls: readonly Record<string, unknown>[], id: string) => calls.find((call) => call.unique_id === id);
    expect(find(after, silent)?.qualified).toBe(find(before, silent)?.qualified);
    expect(find(after, silent)?.tags).not.toEqual(find(before, silent)?.tags);
    expect(find(after, moved)?.transcript_json).not.toEqual(find(before, moved)?.transcript_json);
    expect(find(after, moved)?.status).not.toBe(find(before, moved)?.status);
    const today = new Date(Date.now() - 60_000).toISOString();
    expect((await list({ qualified_from: today })).data.map((call) => call.unique_id)).toEqual([moved]);
    expect(after.map((call) => call.timestamp)).toEqual(after.map((call) => call.timestamp).sort());
  });

  test('calls leave and join between two pages, keeping the count', async () => {
    const { list } = await start({
      calls: { ...small, ...past, count: 100 },
      rateLimit: off,
      churn: { everyPages: 1, limit: 2 },
    });
    const first = await list({ limit: 40 });
    const second = await list({ limit: 40, offset: 40 });
    const third = await list({ limit: 40, offset: 80 });
    expect([first.count, second.count, third.count]).toEqual([100, 100, 100]);
    const seen = new Set([...first.data, ...second.data, ...third.data].map((call) => call.unique_id));
    const truth = await collect(simulator.truth());
    expect(truth.filter((call) => call.visibleInList && !seen.has(call.callId)).length).toBeGreaterThan(0);
    expect((await simulator.stats()).churn).toEqual({ left: 2, joined: 2 });
  });

  test('planned edits happen as the clock passes them', async () => {
    await start({ calls: { ...small, count: 300 }, edits: { share: 1, maxAgeDays: 40 } });
    const versions = async () =>
      (await collect(simulator.truth({ light: true }))).filter((call) => call.version > 1).length;
    const before = await versions();
    expect(before).toBeGreaterThan(0);
    expect(before).toBeLessThan(300);
    await simulator.setClock({ advanceSeconds: 50 * 86_400 });
    expect(await versions()).toBe(300);
  });
});
