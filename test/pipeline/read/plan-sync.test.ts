import { expect, test } from 'vitest';
import type { Range } from '../../../schemas/orchestration.ts';
import { readHealth } from '../../../src/health/read-health.ts';
import type { ErrorCode } from '../../../src/lib/error-codes.ts';
import { transient } from '../../../src/lib/errors.ts';
import { asSync, countRange, finishSync, planSync } from '../../../src/pipeline/read/plan-sync.ts';
import * as windows from '../../../src/store/windows/windows.ts';
import { openSimulated, readPart, withList } from '../../source/simulated.ts';
import { usePipeline } from '../../support/pipeline.ts';
import { column } from '../../support/rows.ts';

type SyncDeps = Parameters<typeof planSync>[0];
type Simulator = Awaited<ReturnType<typeof openSimulated>>['simulator'];

const pipeline = usePipeline();

const second = 1_000_000;
const minute = 60 * second;
const hour = 60 * minute;
const settle = 30 * second;
const lookback = 10 * minute;
const readingsOverlap = 5 * second;
const axis = 'qualified';

/** A simulated service whose clock is `ahead` of ours by so many seconds. */
const open = async (ahead = 0, sync: Partial<SyncDeps['sync']> = {}) => {
  const clock = { now: new Date(Date.now() + ahead * 1000).toISOString() };
  const section = { list: { preset: 'activate' }, limits: { retries: 0 } };
  const { simulator, source } = await openSimulated({ calls: { count: 10 }, clock }, section);
  const deps: SyncDeps = {
    ...pipeline.deps,
    source,
    windows: { initial: hour, min: second, max: 31 * 24 * hour, targetCalls: 1_000 },
    now: () => new Date(),
    sync: { settle, lookback, start: second, interval: minute, direction: 'newest_first', ...sync },
  };
  const serviceNow = async () => Date.parse((await simulator.setClock({})).now) * 1000;
  return { deps, simulator, source, serviceNow, now: await serviceNow() };
};

const store = () => pipeline.store;
const recordRead = (from: number, to: number, shown: 'total' | 'none' = 'total', calls = 0) =>
  windows.recordWindow(store(), { axis, from, to, calls, shown, origin: 'sync' });
/** Leftovers of an earlier run. */
const leaveWatermark = (at: number, startedFrom = at) =>
  store().query`INSERT INTO watermarks (name, axis, watermark, started_from)
    VALUES ('sync', ${axis}, to_timestamp(${at / second}), to_timestamp(${startedFrom / second}))`;
const ageReadings = (by: string) => store().query('UPDATE windows SET read_at = read_at - $1::interval', [by]);

test.each([
  ['ahead of', 600],
  ['behind', -600],
])('by a clock %s ours, sync reads up to now, and a backfill ends at what is settled there', async (_, seconds) => {
  const { deps, source, serviceNow } = await open(seconds);
  for (const requests of [1, 1]) {
    const earliest = await serviceNow();
    const { top, settledTo } = await planSync(deps);
    const latest = await serviceNow();
    // The Date header tells the second, and the answer was under way for a while.
    expect(top[0]?.to).toBeGreaterThan(earliest - 2 * second - (latest - earliest));
    expect(top[0]?.to).toBeLessThanOrEqual(latest);
    expect(settledTo).toBe((top[0]?.to ?? 0) - settle);
    expect(source.list.counts.requests).toBe(requests);
  }
  const asked = { from: second, to: Date.now() * 1000 + 24 * hour };
  const { range } = await countRange(deps, { axis, range: asked }, new AbortController().signal);
  expect(range.from).toBe(asked.from);
  expect(range.to).toBeLessThanOrEqual((await serviceNow()) - settle);
  expect(range.to).toBeGreaterThan((await serviceNow()) - settle - minute);
  const uncut = withList(deps, { list: { ...source.list.list, cursor_fields: [] } });
  const whole = await countRange(uncut, { axis: 'timestamp', range: asked }, new AbortController().signal);
  expect(whole).toMatchObject({ indivisible: true, windowLength: whole.range.to - whole.range.from });
});

test('the plan of continuous sync goes back to the watermark, however short its relative start is', async () => {
  const { deps, serviceNow } = await open(0, { start: Date.now() * 1000 - hour });
  const watermark = (await serviceNow()) - 3 * hour;
  await leaveWatermark(watermark, watermark - 24 * hour);
  const { rest, top } = await planSync(deps);
  expect(Math.min(...[...rest, ...top].map(({ from }) => from))).toBeLessThanOrEqual(watermark - lookback);
  expect((await windows.advanceWatermark(store()))?.watermark ?? 0).toBe(watermark);
});

test('continuous sync reads nothing before its first start, which a later configuration does not move', async () => {
  const { deps, serviceNow } = await open(0, { start: Date.now() * 1000 - 2 * hour });
  const { rest } = await planSync(deps);
  expect(rest.at(-1)?.from).toBe(deps.sync.start);
  await planSync({ ...deps, sync: { ...deps.sync, start: (await serviceNow()) - minute } });
  expect((await planSync(deps)).rest.at(-1)?.from).toBe(deps.sync.start);
});

test('continuous sync has the newest first, then unread windows, without those read in time', async () => {
  const { deps, now } = await open();
  const watermark = now - 100 * hour;
  await leaveWatermark(watermark);
  await recordRead(now - 50 * hour, now - 20 * hour);
  const { top, rest } = await planSync(deps);
  expect(top).toHaveLength(1);
  expect((top[0]?.to ?? 0) - (top[0]?.from ?? 0)).toBe(readingsOverlap + lookback + settle);
  expect(rest.map(({ from, to }) => [from, to].join())).toEqual([
    `${now - 20 * hour - readingsOverlap},${(top[0]?.from ?? 0) + readingsOverlap}`,
    `${watermark},${now - 50 * hour}`,
  ]);
  const oldest = await planSync({ ...deps, sync: { ...deps.sync, direction: 'oldest_first' } });
  expect(oldest.rest.map(({ from }) => from)).toEqual([watermark, now - 20 * hour - readingsOverlap]);
});

test('continuous sync reads again what was read too soon, with no question more for it', async () => {
  const { deps, now } = await open();
  await leaveWatermark(now - hour);
  await recordRead(now - hour, now - 4 * minute);
  await ageReadings('3 minutes');
  const { top, rest, lookback: seen } = await planSync(deps);
  // Read 3 minutes ago up to 4 minutes ago: what was then younger than the lookback is read once more, with the top.
  expect(rest).toEqual([]);
  expect(top).toHaveLength(1);
  expect(Math.abs((top[0]?.from ?? 0) - (now - 3 * minute - lookback - settle))).toBeLessThan(minute);
  expect(seen.parts).toEqual([]);
});

test.each<{ name: string; calls: number; exclude?: string[]; parts: number; isProcessed?: boolean }>([
  { name: 'reads many calls of the lookback by summaries', calls: 51, parts: 1 },
  { name: 'reads few calls with the newest ones', calls: 50, parts: 0 },
  { name: 'reads all whole where the list leaves nothing out', calls: 51, exclude: [], parts: 0 },
  { name: 'reads all whole where a transcript may come later', calls: 51, parts: 0, isProcessed: false },
])('continuous sync $name', async ({ calls, exclude = ['transcript_json'], parts, isProcessed = true }) => {
  const { deps, source, now } = await open();
  await leaveWatermark(now - hour);
  await recordRead(now - hour, now - 4 * minute, 'total', calls);
  await ageReadings('3 minutes');
  const { cursor_fields: axes, ...rest } = source.list.list;
  const own = axes.map((one) => ({ ...one, end_of_processing: isProcessed && one.end_of_processing }));
  const list = { ...rest, axis, exclude, cursor_fields: own };
  const { top, lookback: seen, settledTo } = await planSync(withList(deps, { list }));
  expect(top).toHaveLength(1 + parts);
  expect(seen.parts).toHaveLength(parts);
  // Calls join another axis late: two listings of the lookback would differ.
  expect(Math.abs(settledTo - (now - settle - (isProcessed ? 0 : lookback)))).toBeLessThan(minute);
  if (parts === 0) return;
  // The newest whole, what leaves the lookback whole, and what is between them.
  expect(top[0]?.from).toBe(now - 4 * minute - readingsOverlap);
  expect(top[1]?.to).toBe(settledTo - lookback);
  expect(seen.parts).toMatchObject([{ from: settledTo - lookback, to: now - 4 * minute }]);
});

test.each([
  { name: 'with the lookback', sync: {}, setBack: 0, most: 0 },
  { name: 'with a lookback shorter than the interval', sync: { lookback: settle }, setBack: 0, most: 1 },
  { name: 'once a clock was set back', sync: {}, setBack: 7_000, most: 0 },
])('the plan of continuous sync, $name, reads no slivers as the clock drifts', async ({ sync, setBack, most }) => {
  const { deps, serviceNow } = await open(0, sync);
  await leaveWatermark((await serviceNow()) - hour);
  let low = 0;
  const clock = { ...deps.source.clock, offset: () => ({ low, high: low + 1_000 }) };
  const known = { ...deps, source: { ...deps.source, clock } };
  const earlier = (...names: string[]) => names.map((name) => `${name} = ${name} - interval '1 minute'`).join(', ');
  const rests: number[] = [];
  for (let run = 0; run < 8; run += 1) {
    low -= run === 4 ? setBack : 6;
    const { top, rest, settledTo } = await planSync(known);
    rests.push(rest.length);
    for (const { from, to } of [...top, ...rest]) await recordRead(from, Math.min(to, settledTo));
    await store().query(`UPDATE windows SET ${earlier('read_at', 'window_from', 'window_to')}`);
    await store().query(`UPDATE watermarks SET ${earlier('watermark', 'started_from')}`);
  }
  // The first run reads the hour before; the run after the clock was set back reads what it left between readings.
  for (const run of [1, 2, 3, 5, 6, 7]) expect(rests[run], rests.join()).toBeLessThanOrEqual(most);
});

test('continuous sync tries problems of other axes again when due, unless the list lost the axis', async () => {
  const { deps, now } = await open();
  await leaveWatermark(now - 10 * hour);
  const range = { from: now - 5 * hour, to: now - 4 * hour };
  for (const one of ['timestamp', 'gone'].map((other) => ({ axis: other, ...range })))
    await windows.replaceProblems(store(), one, [{ ...one, problem: 'unreadable' }]);
  expect((await planSync(deps)).others).toEqual([]);
  await store().query(`UPDATE window_problems SET next_at = now() - interval '1 second'`);
  const { others, rest } = await planSync(deps);
  expect(others).toEqual([{ axis: 'timestamp', ranges: [range] }]);
  expect(rest).not.toContainEqual(range);
});

test('the watermark passes problems, and waits for windows that were not shown complete', async () => {
  const { deps } = await open();
  const at = Date.now() * 1000 - 10 * hour;
  await leaveWatermark(at);
  await recordRead(at, at + hour);
  const problem = { axis, from: at + hour, to: at + 2 * hour };
  await windows.replaceProblems(store(), problem, [{ ...problem, problem: 'unreadable' }]);
  await recordRead(at + 2 * hour, at + 3 * hour);
  await recordRead(at + 3 * hour, at + 4 * hour, 'none');
  await recordRead(at + 4 * hour, at + 5 * hour);
  expect(await finishSync(deps, { seenTo: at })).toEqual({ watermark: at + 3 * hour });
});

test('a problem waits twice as long after each vain attempt, and ends with a reading', async () => {
  const waits: number[] = [];
  const range = { axis, from: hour, to: 2 * hour };
  const inner = { axis, from: hour + minute, to: hour + 2 * minute, problem: 'unreadable' };
  for (const problem of [{ ...range, problem: 'unreadable' }, inner, inner]) {
    await windows.replaceProblems(store(), range, [problem]);
    const minutes = 'SELECT round(extract(epoch FROM next_at - now()) / 60)::int FROM window_problems';
    waits.push(...(await column<number>(store(), `${minutes} WHERE resolved_at IS NULL`)));
  }
  expect(waits).toEqual([1, 2, 4]);
  await windows.replaceProblems(store(), range, []);
  expect(await windows.openProblems(store())).toEqual([]);
});

test('the plan of continuous sync: what it fails with is kept until a run has seen the newest calls', async () => {
  const { deps, serviceNow } = await open();
  await planSync(deps);
  const failing = asSync(deps, () => Promise.reject(transient('SERVICE_UNAVAILABLE', 'It is away.')));
  await expect(failing).rejects.toThrow('away');
  // A worker that stops has not failed.
  const stopped = asSync(deps, () => Promise.reject(new Error('stopped')), AbortSignal.abort());
  await expect(stopped).rejects.toThrow('stopped');
  const { sync } = await readHealth(store());
  expect(sync).toMatchObject({ lag: null, lastError: 'SERVICE_UNAVAILABLE', failedAt: expect.any(Date) });
  await finishSync(deps, { seenTo: (await serviceNow()) - minute });
  const after = (await readHealth(store())).sync;
  expect(after?.lastError).toBeNull();
  expect(after?.lag).toBeGreaterThan(55);
  expect(after?.lag).toBeLessThan(90);
});

/** The rest of a range, or an error. */
const read = (deps: SyncDeps, range: Range, attempt: number) =>
  readPart(deps, { axis, range, direction: 'newest_first', origin: 'sync', windowLength: hour }, { attempt });
const lasting = ['SERVICE_UNAVAILABLE', 'SERVICE_BROKEN'] as const;
const fail = async (attempt: number, faults: Parameters<Simulator['configure']>[0], code: ErrorCode = lasting[0]) => {
  const { deps, simulator, serviceNow } = await open();
  const to = await serviceNow();
  const { list } = deps.source;
  const broken = () => transient(code, 'It answers 500.');
  // Only the window that is read fails: the service answers every other question.
  const failing = withList(deps, {
    readTotal: () => Promise.resolve(undefined),
    fetchCall: () => Promise.reject(broken()),
    readPages: (query) => {
      if ((query.window?.from ?? 0) > Date.UTC(2001) * 1000) throw broken();
      return list.readPages(query);
    },
  });
  await simulator.configure(faults);
  return await read(failing, { from: to - hour, to }, attempt);
};

test.each(lasting)('a window that fails for good by %s is tried again, then recorded and passed over', async (code) => {
  await expect(fail(1, {}, code)).rejects.toThrow('500');
  expect(await windows.openProblems(store())).toEqual([]);
  expect(await fail(3, {}, code)).toMatchObject({ rest: null, totals: { problems: 2 } });
  const problem = expect.stringContaining(code);
  expect(await windows.openProblems(store())).toMatchObject([{ problem }, { problem }]);
  const halves = await windows.listProblems(store());
  expect(halves).toHaveLength(2);
  for (const { from, to } of halves) expect(Math.abs(to - from - hour / 2)).toBeLessThanOrEqual(second);
});

test('a window with a page that is never answered is left after a few questions, and narrowed each time', async () => {
  const { deps, serviceNow } = await open();
  const to = Math.floor((await serviceNow()) / minute) * minute;
  const hanging = to - 20 * minute;
  let unanswered = 0;
  const { list } = deps.source;
  const holds = (window: Range | undefined): boolean =>
    window !== undefined && window.from <= hanging && window.to > hanging;
  const hang = (): never => {
    unanswered += 1;
    throw transient('SERVICE_TIMEOUT', 'It does not answer in time.');
  };
  const hung = withList(deps, {
    readTotal: () => Promise.resolve(undefined),
    readPages: (query) => (holds(query.window) ? hang() : list.readPages(query)),
  });
  let left = [{ from: to - hour, to }];
  for (let reading = 0; reading < 7; reading += 1) {
    const before = unanswered;
    for (const { from, to: end } of left) await read(hung, { from, to: end }, 3);
    expect(unanswered - before).toBeLessThanOrEqual(5);
    left = await windows.listProblems(store());
    expect(left.some(holds)).toBe(true);
  }
  expect(left).toHaveLength(1);
  expect((left[0]?.to ?? 0) - (left[0]?.from ?? 0)).toBeLessThan(minute);
});

test('a window that fails for good is no problem of its own while the service does not answer at all', async () => {
  await expect(fail(3, { faults: { rates: { error_500: 1 }, scope: ['list'] } })).rejects.toThrow('500');
  expect(await windows.openProblems(store())).toEqual([]);
});
