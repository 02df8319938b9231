import { expect, test } from 'vitest';
import type { SourceConfigInput } from '../../schemas/config/source.ts';
import { applyPreset } from '../../src/source/presets/presets.ts';
import type { readWindow } from '../../src/source/read/read-window.ts';
import type { Source } from '../../src/source/source.ts';
import { type MemoryAnswer, openMemoryList } from './memory-list.ts';
import { readSimulated } from './simulated.ts';

type ServedCall = ReturnType<typeof servedCall>;

const servedCall = (index: number, at: number) => ({
  unique_id: `call-${String(index).padStart(6, '0')}`,
  timestamp: new Date(at).toISOString(),
  qualified: new Date(at + 600_000).toISOString(),
  status: index % 3 === 0 ? 'void' : 'qualified',
  transcript_json: { callData: [{ from: 'out', content: `hello ${index}` }] },
});

const respondAsUsual = (_url: URL, usual: () => MemoryAnswer): MemoryAnswer => usual();
type Server = { maxOffset?: number; maxLimit?: number; total?: boolean | number; respond?: typeof respondAsUsual };
const start = async (calls: ServedCall[], server: Server = {}, list: SourceConfigInput['list'] = {}) => {
  const { maxOffset = 10_000, maxLimit = 200, total = true, respond = respondAsUsual } = server;
  let pages = 0;
  const answer = (url: URL): MemoryAnswer => {
    if (url.pathname !== '/calls') return [404, { detail: 'unknown' }];
    activate.beforePage(++pages);
    const query = url.searchParams;
    const limit = Math.min(maxLimit, Number(query.get('limit') ?? 50));
    const offset = Number(query.get('offset') ?? 0);
    if (offset > maxOffset) return [400, { detail: 'offset too large' }];
    const order = query.get('order') === 'qualified' ? 'qualified' : 'timestamp';
    const statuses = (query.get('status') ?? 'qualified,void').split(',');
    const instant = (name: string, unbounded: string) => Date.parse(query.get(name) ?? unbounded);
    const isWithin = (call: ServedCall, axis: 'timestamp' | 'qualified'): boolean =>
      Date.parse(call[axis]) >= instant(`${axis}_from`, '1970') &&
      Date.parse(call[axis]) <= instant(`${axis}_to`, '2100');
    const matching = calls
      .filter((call) => statuses.includes(call.status) && isWithin(call, 'timestamp') && isWithin(call, 'qualified'))
      .sort((a, b) => a[order].localeCompare(b[order]) || a.unique_id.localeCompare(b.unique_id));
    const excluded = query.get('exclude')?.split(',') ?? [];
    const data = matching
      .slice(offset, offset + limit)
      .map((call) => Object.fromEntries(Object.entries(call).filter(([name]) => !excluded.includes(name))));
    return [200, { ...(total ? { count: total === true ? matching.length : total } : {}), data }];
  };
  /** `beforePage` is called before each page is made, with the number of pages so far. */
  const beforePage = (_pages: number): void => undefined;
  const activate = { answer: (url: URL) => respond(url, () => answer(url)), beforePage };
  const raw = await applyPreset({ source: { list: { preset: 'activate', ...list } } });
  const { limits: _limits, ...section } = raw.source as SourceConfigInput;
  return { server: activate, source: { list: openMemoryList(section, activate.answer) } };
};

const t0 = Date.UTC(2024, 6, 1);
const second = 1_000;

type OnRejected = NonNullable<Parameters<typeof readWindow>[0]['onRejected']>;
/** @param range its axis, and its ends in milliseconds. */
const collect = async (
  source: Pick<Source, 'list'>,
  [axis, from, to]: readonly [axis: string, from: number, to: number],
  more: { onRejected?: OnRejected } = {},
) => {
  const { result, inside } = await readSimulated(source, { axis, from: from * 1000, to: to * 1000 }, more);
  return { result, ids: [...inside].sort() };
};

const everySecond = (count: number) => Array.from({ length: count }, (_, i) => servedCall(i, t0 + i * second));
/** On both axes. */
const ofOneInstant = (count: number, statuses: readonly string[]): ServedCall[] => {
  const qualified = new Date(t0).toISOString();
  const statusOf = (i: number) => ({ status: statuses[i % statuses.length] ?? '' });
  return Array.from({ length: count }, (_, i) => ({ ...servedCall(i, t0), qualified, ...statusOf(i) }));
};

const late = { ...servedCall(9_999, t0 + 599 * second + 500), unique_id: 'zz-late' };
const leave = (calls: ServedCall[]) => calls.splice(10, 1);
const leaveAndJoin = (calls: ServedCall[]) => leave(calls) && calls.push(late);
const move = (calls: ServedCall[]) =>
  Object.assign(calls[10] as ServedCall, { qualified: new Date(t0 + 86_400_000).toISOString() });
const again = { shown: 'second_listing', problems: [] };

/** How many there are, the change before the second page, the axis of the window, and the result. */
test.each<[string, number, Server, (calls: ServedCall[]) => unknown, 'timestamp' | 'qualified', object]>([
  // The total stays, the paging skips one.
  ['leaves the first page and one joins at the end', 600, {}, leaveAndJoin, 'timestamp', { calls: 600, ...again }],
  ['leaves before an empty second page', 201, { total: false }, leave, 'timestamp', { calls: 200, ...again }],
  ['leaves the past of the end-of-processing axis', 600, {}, move, 'qualified', { calls: 599, shown: 'total' }],
])('loses no call where one %s', async (_, count, options, change, axis, expected) => {
  const calls = everySecond(count);
  const { server, source } = await start(calls, options);
  server.beforePage = (pages) => void (pages === 2 && change(calls));
  const to = t0 + 1_200 * second;
  const { result, ids } = await collect(source, [axis, t0, to]);
  for (const call of calls) if (Date.parse(call[axis]) <= to) expect(ids).toContain(call.unique_id);
  expect(result).toMatchObject(expected);
});

test.each([1, 1_000])('cuts an instant that is too large on the other axis, in steps of %i ms', async (step) => {
  // Times of the other axis need not lie on whole steps.
  const timestamp = new Date(t0).toISOString();
  const calls = everySecond(300).map((_, i) => ({ ...servedCall(i, t0 + 1_000_000 + i * 777), timestamp }));
  const list = { max_results: 130, time_resolution_ms: step };
  const { source } = await start(calls, { maxOffset: 130, maxLimit: 60 }, list);
  const { result, ids } = await collect(source, ['timestamp', t0 - 60_000, t0 + 60_000]);
  expect(ids.length).toBe(300);
  expect(result).toMatchObject({ calls: 300, problems: [] });
});

test('cuts an instant by status when both axes are one instant, and reports what is still too large', async () => {
  const calls = ofOneInstant(300, ['void', 'qualified']);
  const fitting = await start(calls, { maxOffset: 160, maxLimit: 60 }, { max_results: 160 });
  const cut = await collect(fitting.source, ['timestamp', t0 - 1, t0 + 2]);
  expect([cut.ids.length, cut.result.problems]).toEqual([300, []]);

  const tooLarge = await start(calls, { maxOffset: 60, maxLimit: 60 }, { max_results: 60 });
  const { result, ids } = await collect(tooLarge.source, ['timestamp', t0 - 1, t0 + 2]);
  const detail = expect.stringContaining('300 calls');
  expect(result).toMatchObject({ problems: [{ problem: 'instant_too_large', detail }], shown: 'none' });
  expect(ids.length).toBeGreaterThan(0);
});

test('an instant with more calls than a page, where totals count all calls, takes few requests', async () => {
  const { server, source } = await start(ofOneInstant(250, ['qualified', 'void']), { total: 5_000 });
  server.beforePage = (pages) => expect(pages).toBeLessThan(100);
  const { result, ids } = await collect(source, ['qualified', t0, t0 + second]);
  expect(ids).toHaveLength(250);
  expect(result).toMatchObject({ shown: 'none', problems: [{ problem: expect.any(String) }] });
});

test('reports an instant that was cut by status where no total says how many calls it has', async () => {
  const calls = ofOneInstant(120, ['void', 'qualified', 'archived']);
  const list = { max_results: 50, status_values: ['void', 'qualified'] };
  const { source } = await start(calls, { total: false, maxOffset: 49, maxLimit: 50 }, list);
  const { result } = await collect(source, ['timestamp', t0 - 1, t0 + 2]);
  expect(result).toMatchObject({ problems: [{ problem: 'unverified_cut' }], shown: 'none' });
});

test('reads around a record that fails each answer, although the service refuses to answer for long ago', async () => {
  const calls = everySecond(40);
  const { source } = await start(calls, {
    respond: (url, usual) => {
      const [status, body] = usual();
      const from = Date.parse(url.searchParams.get('timestamp_from') ?? '');
      const isPoisoned = JSON.stringify(body).includes(`"${calls[20]?.unique_id}"`);
      return [from < t0 - 86_400_000 ? 400 : isPoisoned ? 500 : status, body];
    },
  });
  const { result, ids } = await collect(source, ['timestamp', t0, t0 + 40 * second]);
  expect(ids.length).toBe(39);
  expect(result.problems.map(({ problem }) => problem)).toContain('unreadable');
});

test('hands malformed records on apart, and keeps their neighbours', async () => {
  const calls: unknown[] = [...everySecond(5), { timestamp: new Date(t0).toISOString() }, 17, null, { unique_id: 9 }];
  const records = [...calls.map((call) => JSON.stringify(call)), '{"unique_id": tru}'];
  const { source } = await start([], { respond: () => [200, Buffer.from(`{"count":10,"data":[${records.join()}]}`)] });
  const reasons: string[] = [];
  const onRejected: OnRejected = (records) => void reasons.push(...records.map((record) => record.reason));
  const { ids } = await collect(source, ['timestamp', t0, t0 + 10 * second], { onRejected });
  expect(ids.length).toBe(5);
  const [absent, number] = ['unique_id is absent', 'unique_id is of type number, not text'];
  expect(reasons).toEqual([absent, 'not a JSON object', 'not a JSON object', number, 'not JSON']);
});
