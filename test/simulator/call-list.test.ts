/** The list of the simulated service: as documented, as calls change, in dialects, and with quirks beyond its interface. */
import { expect, test } from 'vitest';
import { flattenCall } from '../../src/calls/flatten.ts';
import { dialectOf } from '../../src/simulator/service/dialects.ts';
import { collect } from '../support/rows.ts';
import { until } from '../support/until.ts';
import { openApi } from './api.ts';

const small = { utterances: 2, words: 3, lateShare: 0 } as const;
const past = { from: '2024-03-01T00:00:00Z', to: '2024-03-08T00:00:00Z' } as const;
const few = { ...past, count: 100, utterances: 0, lateShare: 0 } as const;

test('GET /calls pages with limit and offset, and cuts on both axes, inclusive, in the order asked', async () => {
  const { list, get } = await openApi({ calls: { ...small, ...past, count: 150 } });
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

test('GET /calls shows a call only once it is processed, in the list and by id', async () => {
  const to = new Date(Date.now() + 86_400_000).toISOString();
  const { simulator, list, get } = await openApi({ calls: { ...small, count: 0, to } });
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

test('GET /calls makes realistic records, the same for the same seed', async () => {
  const calls = { ...past, count: 40, lateShare: 0 };
  const { list } = await openApi({ calls, seed: 7 });
  const { data } = await list({ limit: 200 });
  const seen = { callId: 'a', firstSeenAt: null, changedAt: null, sourceDeletedAt: null };
  for (const call of data) {
    // Every field has a column, and is of its type; of these the columns take other types too.
    expect(flattenCall({ ...seen, document: call }).rows.calls).toMatchObject([{ issues: null, extra: null }]);
    const meta = { ivr_end: expect.any(Number) };
    const typed = { duration: expect.any(String), qualification: expect.any(Object), transcript_json: { meta } };
    expect({ tracking_info: {}, ...call }).toMatchObject({ ...typed, tracking_info: expect.any(Object) });
    expect(Object.values(call.metadata as object).filter((value) => typeof value !== 'string')).toEqual([]);
  }
  const mean = data.map((call) => JSON.stringify(call)).join('').length / data.length;
  expect(mean).toBeGreaterThan(30_000);
  expect(mean).toBeLessThan(45_000);
  expect(data.every((call) => !('audio_state' in call) && 'qualified' in call && 'qualification' in call)).toBe(true);
  expect((await (await openApi({ calls, seed: 7 })).list({ limit: 200 })).data).toEqual(data);
});

test('GET /calls needs a bearer token that is known and has not expired', async () => {
  const calls = { ...small, ...past, count: 5 };
  const { simulator, get, token } = await openApi({ calls, tokens: { lifetimeSeconds: 2 } });
  expect((await get('/calls')).status).toBe(200);
  const others: Record<string, string>[] = [{}, { Authorization: `Token ${token}` }, { Authorization: 'bearer guess' }];
  for (const headers of others) expect((await fetch(`${simulator.url}/calls`, { headers })).status).toBe(401);
  await until('the token ends', async () => (await get('/calls')).status === 401);
  expect((await simulator.stats()).tokens.rejected).toEqual({ absent: 2, unknown: 1, expired: 1 });
});

test('calls leave and join between two pages, keeping the count', async () => {
  const churn = { everyPages: 1, limit: 2 };
  const { simulator, list } = await openApi({ calls: { ...small, ...past, count: 100 }, churn });
  const pages = [await list({ limit: 40 }), await list({ limit: 40, offset: 40 }), await list({ offset: 80 })];
  expect(pages.map(({ count }) => count)).toEqual([100, 100, 100]);
  const seen = new Set(pages.flatMap(({ data }) => data.map((call) => call.unique_id)));
  const truth = await collect(simulator.truth());
  expect(truth.filter((call) => call.visibleInList && !seen.has(call.callId)).length).toBeGreaterThan(0);
  expect((await simulator.stats()).churn).toEqual({ left: 2, joined: 2 });
});

test('the list selects the version by path, header or query, and refuses otherwise', async () => {
  for (const name of ['version_path', 'version_header', 'version_query']) {
    const { simulator, token } = await openApi({ calls: few, dialect: name });
    const headers = { Authorization: `bearer ${token}` };
    expect((await fetch(`${simulator.origin}/calls`, { headers })).status).toBe(400);
  }
});

test('the list takes Authorization: Token and lists errors in the older version', async () => {
  const dialect = 'activate-v1';
  const { simulator, token, get } = await openApi({ calls: few, dialect }, dialectOf(dialect, {}).scheme);
  expect((await get('/calls?limit=1')).status).toBe(200);
  const refused = await fetch(`${simulator.url}/calls`, { headers: { Authorization: `bearer ${token}` } });
  expect(refused.status).toBe(401);
  expect(await refused.json()).toEqual({ errors: [{ id: '401', title: 'Unauthorized', detail: expect.any(String) }] });
});

test('the list can shuffle ties', async () => {
  const { list } = await openApi({ calls: { ...few, count: 200, to: '2024-03-01T00:00:20Z' }, unstableTies: true });
  const orders = new Set<string>();
  for (let i = 0; i < 3; i++) orders.add((await list({ limit: 50 })).data.map((call) => call.unique_id).join());
  expect(orders.size).toBeGreaterThan(1);
});

test('totals that lag behind, and a replica that is late', async () => {
  const { simulator, list, get } = await openApi({ calls: { ...few, count: 20 }, quirks: { countLagSeconds: 60 } });
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
  const first = (await list({ limit: 1 })).data[0]?.unique_id as string;
  await simulator.edit({ callIds: [first], patch: { campaign: 'changed' }, requalify: false });
  const isSeen = async () => (await list()).data.find((call) => call.unique_id === first)?.campaign === 'changed';
  expect([await isSeen(), await isSeen()].sort()).toEqual([false, true]);
  await simulator.setClock({ advanceSeconds: 61 });
  expect([(await list()).count, (await list()).count]).toEqual([21, 21]);
});

test('newest first', async () => {
  const { list } = await openApi({ calls: { ...few, count: 90 }, dialectOverrides: { newestFirst: true } });
  const times = (await list({ limit: 200 })).data.map((call) => String(call.timestamp));
  expect(times).toEqual([...times].sort().reverse());
});
