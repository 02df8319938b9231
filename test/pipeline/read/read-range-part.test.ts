import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { SourceConfigInput } from '../../../schemas/config/source.ts';
import type { Direction, Range } from '../../../schemas/orchestration.ts';
import type { SimulatorOptions } from '../../../schemas/simulator.ts';
import { judge } from '../../../src/health/conditions.ts';
import { readHealth } from '../../../src/health/read-health.ts';
import type { ReadDeps } from '../../../src/pipeline/deps.ts';
import { countRange } from '../../../src/pipeline/read/plan-sync.ts';
import { nextLength, type RangePartProgress } from '../../../src/pipeline/read/read-range-part.ts';
import { rereadCalls } from '../../../src/pipeline/read/reread-windows.ts';
import { startSimulator } from '../../../src/simulator/start-simulator.ts';
import { createServiceClock } from '../../../src/source/http/http.ts';
import { createRequestLimiter, liveIdleMs } from '../../../src/source/http/limiter.ts';
import { requestRereads } from '../../../src/store/delivery/inbox.ts';
import { createSharedSlots } from '../../../src/store/request-limit.ts';
import { uncoveredRanges } from '../../../src/store/windows/windows.ts';
import { countRows } from '../../../src/warehouse/content-hash.ts';
import { openMemoryList } from '../../source/memory-list.ts';
import { listedIds, readPart, readSimulated, simulatedSource, wholeRange, withList } from '../../source/simulated.ts';
import { digestTables } from '../../support/digest-tables.ts';
import { listen } from '../../support/listen.ts';
import { useOpened } from '../../support/opened.ts';
import { observationOf, usePipeline } from '../../support/pipeline.ts';
import { column } from '../../support/rows.ts';
import { settledRange } from '../../support/settled-range.ts';

type PartInput = Parameters<typeof readPart>[1];

const directions: readonly Direction[] = ['oldest_first', 'newest_first'];

test('the next window is no shorter than a step of the service, which would be read again and again', () => {
  const list = { time_format: 'iso', time_resolution_ms: 2_000 };
  const windows = { initial: 1_000_000, min: 100_000, max: 50_000_000, targetCalls: 500 };
  const deps = { windows, source: { list: { list, learned: { longest: 40_000_000 } } } } as unknown as ReadDeps;
  expect([nextLength(1_000_000, 20_000, deps), nextLength(50_000_000, 0, deps)]).toEqual([2_000_000, 40_000_000]);
});

const pipeline = usePipeline();
/** A simulated service, and a source that reads its list. */
const useService = (options: SimulatorOptions, list: SourceConfigInput['list'] = { preset: 'activate' }) =>
  useOpened(
    async () => {
      const simulator = await startSimulator({ rateLimit: { requests: 0 }, ...options });
      return { simulator, source: await simulatedSource(simulator, { list, limits: { requests: 1_000_000 } }) };
    },
    async ({ simulator, source }) => {
      await source.close();
      await simulator.stop();
    },
  );

describe('against the simulated service', () => {
  const service = useService({ calls: { count: 800, utterances: 2, words: 3, tags: 1, ...settledRange } });
  let deps: ReadDeps;
  let expected: ReadonlySet<string>;
  beforeAll(async () => {
    const hour = 3_600_000_000;
    const windows = { initial: 6 * hour, min: hour / 60, max: 240 * hour, targetCalls: 150 };
    deps = { ...pipeline.deps, source: service.source, windows };
    expected = await listedIds(service.simulator, ['qualified', 'void']);
  });
  const input = (more: Partial<PartInput> = {}) => {
    const { axis, ...range } = wholeRange(service.simulator, 'qualified');
    return { axis, range, force: false, maxCalls: 100, ...more };
  };
  const heldIds = async () => new Set(await column(pipeline.store, 'SELECT call_id FROM ledger'));

  /** Range part after part; some are cut off in the middle and taken up again from their last progress. */
  const readAll = async (first: PartInput, cutEvery = 0) => {
    let cut = 0;
    const all = { parts: 0, changed: 0, skippedSeconds: 0 };
    for (let next: PartInput | undefined = first; next !== undefined; ) {
      const one: PartInput = next;
      const stop = new AbortController();
      let resume: RangePartProgress | undefined;
      const onProgress = (progress: RangePartProgress) => {
        resume = progress;
        cut += 1;
        if (cutEvery > 0 && cut % cutEvery === 0) stop.abort(new Error('killed'));
      };
      const reading = readPart(deps, one, { signal: stop.signal, onProgress }).catch((error) => {
        if (!stop.signal.aborted) throw error;
        return readPart(deps, one, resume && { resume });
      });
      const { totals, rest, windowLength } = await reading;
      all.parts += 1;
      all.changed += totals.changed;
      all.skippedSeconds += totals.skippedSeconds ?? 0;
      next = rest === null ? undefined : { ...one, range: rest, windowLength };
    }
    return all;
  };

  test.each(directions)('%s: every call once, every instant covered; a second run asks nothing', async (direction) => {
    const { parts, changed } = await readAll(input({ direction }));
    expect(parts).toBeGreaterThan(3);
    expect(changed).toBe(expected.size);
    expect(await heldIds()).toEqual(expected);
    expect((await countRows(pipeline.warehouse)).calls).toBe(expected.size);
    const { axis, range } = input();
    expect(await uncoveredRanges(pipeline.store, { axis, ...range })).toEqual([]);
    const requests = service.source.list.counts.requests;
    const skippedSeconds = expect.closeTo((range.to - range.from) / 1_000_000, 3);
    expect(await readAll(input({ direction }))).toMatchObject({ changed: 0, skippedSeconds });
    expect(service.source.list.counts.requests).toBe(requests);
    const digests = await digestTables(pipeline.warehouse);
    const again = await readAll(input({ direction, force: true, maxCalls: 100_000 }));
    expect(again).toEqual({ parts: 1, changed: 0, skippedSeconds: 0 });
    expect(service.source.list.counts.requests).toBeGreaterThan(requests);
    expect(await digestTables(pipeline.warehouse)).toEqual(digests);
  });

  test('cut off again and again, it ends complete', async () => {
    await readAll(input({ maxCalls: 500 }), 7);
    expect(await heldIds()).toEqual(expected);
    const { axis, range } = input();
    expect(await uncoveredRanges(pipeline.store, { axis, ...range })).toEqual([]);
    expect((await countRows(pipeline.warehouse)).calls).toBe(expected.size);
  });

  test('doubtful calls are read again singly, and what the service does not know is settled too', async () => {
    const [known] = expected;
    await requestRereads(pipeline.store, [known as string, 'unknown-to-the-service'], 'repeat');
    expect(await rereadCalls(deps, new AbortController().signal)).toEqual({ reread: 2, failed: 0 });
    expect(await heldIds()).toEqual(new Set([known]));
    expect((await countRows(pipeline.warehouse)).calls).toBe(1);
    expect(await pipeline.query('SELECT 1 FROM rereads')).toEqual([]);
  });
});

const day = 86_400_000_000;

/** 60 calls, one a day, of a list that refuses ranges longer than seven days. */
const openWeekly = (list: SourceConfigInput['list'], max: number, totalOfAll?: number) => {
  const from = Date.UTC(2024, 0, 1) * 1000;
  const range = { from, to: from + 60 * day };
  let requests = 0;
  const bounds = { from_param: 'from', to_param: 'to' };
  const cursor_fields = [{ name: 'timestamp', record_field: 'timestamp', ...bounds }];
  const section = { limits: { retry_base_ms: 1, retry_max_ms: 2 }, list: { records: 'data', cursor_fields, ...list } };
  const client = openMemoryList(section, ({ searchParams }) => {
    requests++;
    const [first = 0, last = 0] = ['from', 'to'].map((name) => Date.parse(searchParams.get(name) ?? '') * 1000);
    if (last - first > 7 * day + 60_000_000) return [400, { detail: 'the range is too long' }];
    const times = Array.from({ length: 60 }, (_, index) => from + index * day + 1_000_000);
    const inside = times.filter((time) => time >= first && time <= last);
    const data = inside.map((time) => ({ unique_id: `c${time}`, timestamp: new Date(time / 1000).toISOString() }));
    return [200, { total: totalOfAll ?? data.length, data: searchParams.get('page') === '1' ? data : [] }];
  });
  const windows = { initial: day / 24, min: 1_000_000, max, targetCalls: 2_000 };
  const source = { list: client, clock: createServiceClock(0) } as unknown as ReadDeps['source'];
  const deps = { ...pipeline.deps, source, windows, now: () => new Date(), sync: { settle: 0 } };
  return { deps, range, requests: () => requests };
};
const byPage = { pagination: { style: 'page', size_param: 'size', size: 100 } } as const;
const counting = { ...byPage, total_path: 'total' };

test.each([
  ['with a total', counting, 31 * day, null],
  ['with a total and sync.window.max', counting, 7 * day, 60],
  ['without a total', byPage, 31 * day, null],
])('a list that refuses ranges longer than 7 days is read whole: %s', async (_, list, max, expected) => {
  const { deps, range, requests } = openWeekly(list, max);
  const axis = 'timestamp';
  const counted = await countRange(deps, { axis, range }, new AbortController().signal);
  expect(counted.expected).toBe(expected);
  const read = await readPart(deps, { axis, range, windowLength: counted.windowLength });
  expect(read).toMatchObject({ rest: null, totals: { calls: 60, changed: 60, problems: 0 } });
  expect(requests()).toBeLessThan(150);
});

test('a part that follows another asks for no total of a window that is hardly longer', async () => {
  const { deps, range } = openWeekly(counting, 7 * day);
  const { list } = deps.source;
  let totals = 0;
  const readTotal: typeof list.readTotal = (query) => {
    // A judge of the list retries less.
    totals += Number(query.retries === undefined);
    return list.readTotal(query);
  };
  const evenly = { ...withList(deps, { readTotal }), windows: { ...deps.windows, targetCalls: 5 } };
  let parts = 0;
  for (let rest: Range | null = range, windowLength = 5 * day; rest !== null; parts++)
    ({ rest, windowLength } = await readPart(evenly, { axis: 'timestamp', range: rest, maxCalls: 1, windowLength }));
  expect(parts).toBeGreaterThan(8);
  expect(totals).toBe(1);
  expect(await column(pipeline.store, 'SELECT call_id FROM ledger')).toHaveLength(60);
});

test('a total of all calls, whatever the window, does not cut days into the shortest windows', async () => {
  const { deps, range, requests } = openWeekly(counting, 31 * day, 100_000);
  const read = await readPart(deps, { axis: 'timestamp', range: { ...range, to: range.from + day } });
  expect(read).toMatchObject({ rest: null, totals: { calls: 1 } });
  expect(read.totals.problems).toBeGreaterThan(0);
  expect(requests()).toBeLessThan(500);
});

/** Before the service: refuses, in its way, what comes sooner than `everyMs` after the last request that it let through. */
const openGateway = async (url: string, everyMs: number, refuse: (response: ServerResponse) => void) => {
  let passedAt = Number.NEGATIVE_INFINITY;
  const gateway = await listen(async ({ url: path = '', headers }, response) => {
    if (performance.now() - passedAt < everyMs) return refuse(response);
    passedAt = performance.now();
    const { authorization = '' } = headers;
    const answer = await fetch(`${url}${path}`, { headers: { authorization } });
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(await answer.text());
  });
  onTestFinished(gateway.close);
  return gateway.url;
};

describe('behind a gateway that lets fewer requests through than source.limits', () => {
  const service = useService({ calls: { count: 400, utterances: 1, words: 3, tags: 1, ...settledRange } });
  const hour = 3_600_000_000;
  /** Two workers with one shared limit read half of the range each; their requests, windows and problems. */
  const readBehind = async (hours: number, ...[everyMs, refuse]: [number, (response: ServerResponse) => void]) => {
    const base_url = await openGateway(service.simulator.url, everyMs, refuse);
    const limits = { requests: 100, per_s: 1, retry_base_ms: 20, retry_max_ms: 200 };
    const { axis, from, to } = wholeRange(service.simulator, 'qualified');
    const middle = Math.floor((from + Date.parse(service.simulator.range.to) * 1000) / 2);
    const name = randomUUID();
    const halves = [[from, middle] as const, [middle, to] as const].map(async ([first, last]) => {
      const rules = { requests: 100, perMs: 1_000, live: 0 };
      const shared = { ...rules, name, liveIdleMs, spanMs: 1_050 };
      const limiter = createRequestLimiter(createSharedSlots(pipeline.store, shared), rules);
      const section = { base_url, limits, list: { preset: 'activate' } } as const;
      const source = await simulatedSource(service.simulator, section, { limiter });
      onTestFinished(source.close);
      const windows = { initial: 6 * hour, min: hour / 60, max: hours * hour, targetCalls: 20 };
      const { totals } = await readPart(
        { ...pipeline.deps, source, windows },
        { axis, range: { from: first, to: last } },
      );
      return { ...totals, sent: source.list.counts.requests };
    });
    const [one, two] = (await Promise.all(halves)) as [Awaited<(typeof halves)[0]>, Awaited<(typeof halves)[0]>];
    const sum = (key: 'calls' | 'windows' | 'problems' | 'sent') => one[key] + two[key];
    return { sent: sum('sent'), calls: sum('calls'), windows: sum('windows'), problems: sum('problems') };
  };

  test.each<[string, number, number, (response: ServerResponse) => void]>([
    ['503', 8, 180, (response) => void response.writeHead(503).end('overloaded')],
    ['429', 48, 30, (response) => void response.writeHead(429).end()],
    ['a reset', 48, 30, (response) => void response.socket?.resetAndDestroy()],
  ])('and says so by %s, a backfill makes few more requests, in windows as large', async (_, hours, least, refuse) => {
    const free = await readBehind(hours, 0, refuse);
    expect(free.sent).toBeGreaterThan(least);
    const limited = await readBehind(hours, 40, refuse);
    expect(limited).toMatchObject({ calls: free.calls, windows: free.windows, problems: 0 });
    expect(limited.sent).toBeLessThanOrEqual(1.3 * free.sent + 20);
  });
});

/** Calls to be read again from a list that has no endpoint for one call. */
const service = useService(
  { dialect: 'page_total', calls: { count: 200, utterances: 2, ...settledRange } },
  {
    records: 'calls',
    total_path: 'meta.total',
    pagination: { style: 'page', size_param: 'per_page', size: 100 },
    cursor_fields: [{ name: 'timestamp', record_field: 'timestamp', from_param: 'from', to_param: 'to' }],
  },
);
const second = 1_000_000;
const ask = () => {
  const windows = { initial: second, min: second, max: second, targetCalls: 10 };
  return rereadCalls({ ...pipeline.deps, source: service.source, windows }, new AbortController().signal);
};
const figures = async () => (await readHealth(pipeline.store)).rereads;
/** A webhook with another status than the list has of a listed call. */
const seen = async () => {
  const [first] = (await readSimulated(service.source, wholeRange(service.simulator, 'timestamp'))).seen.values();
  const { callId, fields, observedAt } = first ?? observationOf('none', 0);
  const told = { ...fields.held, status: 'as the webhook said' };
  await pipeline.observe([observationOf(callId, observedAt - 1, told, 'webhook')]);
  return { callId, status: fields.value('status') };
};
const statusOf = async (callId: string) => (await pipeline.rowOf(callId))?.document?.status;

test('a list without an endpoint for one call answers by the window in which the call lies', async () => {
  const { callId, status } = await seen();
  await requestRereads(pipeline.store, [callId], 'repeat');
  expect(await figures()).toMatchObject({ count: 1, unanswered: 0 });
  expect(await ask()).toEqual({ reread: 1, failed: 0 });
  expect(await statusOf(callId)).toBe(status);
  expect(await figures()).toMatchObject({ count: 0, unanswered: 0 });
});

test('a list without an endpoint for one call: an unanswered one is shown until the list has been read', async () => {
  const { callId } = await seen();
  const nobody = observationOf('nobody', 5, { timestamp: '2023-12-04T15:18:29Z' }, 'webhook');
  await pipeline.observe([nobody, observationOf('timeless', 5, {}, 'webhook')]);
  await requestRereads(pipeline.store, ['nobody', 'timeless', callId], 'repeat');
  expect(await ask()).toEqual({ reread: 1, failed: 2 });
  for (let attempt = 2; attempt <= 10; attempt += 1) {
    // No wait can end for a call whose time nobody can read.
    expect(await figures()).toMatchObject({ count: 1, unanswered: 1 });
    await ask();
  }
  expect(await figures()).toMatchObject({ count: 0, unanswered: 2 });
  const [wrong] = judge(await readHealth(pipeline.store)).filter((one) => one.condition === 'reread_unanswered');
  const command = 'callsync backfill --force --from DATE --to DATE';
  expect(wrong).toMatchObject({ summary: expect.stringContaining('2 calls'), command });
  const later = (Date.now() + 3_600_000) * 1000;
  await pipeline.observe([observationOf('nobody', later), observationOf('timeless', later, {}, 'webhook')]);
  expect(await ask()).toEqual({ reread: 0, failed: 0 });
  expect(await figures()).toMatchObject({ count: 0, unanswered: 1 });
  await requestRereads(pipeline.store, ['timeless'], 'repeat');
  expect(await figures()).toMatchObject({ count: 1, unanswered: 0 });
});
