import fc from 'fast-check';
import { expect, test } from 'vitest';
import { measureWebhooks } from '../../src/store/delivery/delivery-statistics.ts';
import { measureOverlap } from '../../src/store/status/overlap.ts';
import {
  advanceWatermark,
  compactWindows,
  openProblems,
  recordWindow,
  replaceProblems,
  uncoveredRanges,
} from '../../src/store/windows/windows.ts';
import { forAll } from '../support/for-all.ts';
import { observationOf, usePipeline } from '../support/pipeline.ts';
import { column } from '../support/rows.ts';

const pipeline = usePipeline();
const store = () => pipeline.store;
const clear = () => store().query('TRUNCATE windows, window_problems, watermarks');
/** Real instants with microseconds, so that rounding would show. */
const base = 1_701_703_109_123_457;
const at = (n: number): number => base + n * 1_000_003;
const axis = 'timestamp';
const record = (from: number, to: number, more = {}) =>
  recordWindow(store(), { axis, from: at(from), to: at(to), calls: 1, shown: 'total', origin: 'test', ...more });
const recordAll = async (windows: string, more: object) => {
  for (const window of windows.split(' ')) await record(...(window.split('-').map(Number) as [number, number]), more);
};
const open = async (from: number, to: number, on = axis): Promise<number[][]> =>
  (await uncoveredRanges(store(), { axis: on, from: at(from), to: at(to) })).map((range) => [range.from, range.to]);
const span = (from: number, to: number): number[] => [at(from), at(to)];

const start = fc.integer({ min: 0, max: 30 });
const made = fc.tuple(start, fc.integer({ min: 1, max: 8 }), fc.constantFrom('total', 'none'));
const asked = [fc.array(made, { maxLength: 12 }), fc.integer({ min: 0, max: 20 })] as const;

test('what is not covered: to the microsecond, over any windows', () =>
  forAll([...asked], { numRuns: 40 }, async (windows, first) => {
    await clear();
    for (const [start, length, shown] of windows) {
      const [from, to] = [base + start, base + start + length];
      await recordWindow(store(), { axis, from, to, calls: 0, shown, origin: 't' });
    }
    // The last reading of the same window counts.
    const last = new Map(windows.map((window) => [`${window[0]} ${window[1]}`, window]));
    const covered = (n: number) =>
      [...last.values()].some(([start, length, shown]) => shown === 'total' && start <= n && n < start + length);
    const check = async () => {
      const ranges = await uncoveredRanges(store(), { axis, from: base + first, to: base + first + 15 });
      for (let n = first; n < first + 15; n += 1)
        expect(ranges.filter(({ from, to }) => from <= base + n && base + n < to).length).toBe(covered(n) ? 0 : 1);
    };
    await check();
    await age();
    await compactWindows(store(), 48);
    await check();
  }));

const advance = async (start?: number, on = axis) =>
  (await advanceWatermark(store(), start === undefined ? undefined : { axis: on, start: at(start) }))?.watermark;

test('the watermark is the end of the contiguous prefix, past overlaps, up to a gap, and never goes back', async () => {
  expect(await advance()).toBeUndefined();
  expect(await advance(0)).toBe(at(0));
  await record(2, 3);
  expect(await advance()).toBe(at(0));
  await record(0, 1);
  expect(await advance()).toBe(at(1));
  await record(0.5, 2.5);
  expect(await advance(5)).toBe(at(3));
  await record(2.5, 4);
  await record(5, 6);
  expect(await advance()).toBe(at(4));
  await record(4, 5);
  expect(await advance()).toBe(at(6));
  await store().query('TRUNCATE windows');
  expect(await advance(0)).toBe(at(6));
  await record(-5, 2);
  expect(await advance()).toBe(at(6));
});

test('the watermark of another axis says nothing: it begins again', async () => {
  await advance(0);
  await record(0, 5);
  expect(await advance()).toBe(at(5));
  expect(await advance(1, 'qualified')).toBe(at(1));
  expect(await advance(1, 'qualified')).toBe(at(1));
  await record(1, 3, { axis: 'qualified' });
  expect(await advance()).toBe(at(3));
});

test('the watermark moved by many at once ends where the windows end', async () => {
  await advance(0);
  await Promise.all([0, 1, 2, 3, 4, 5, 6, 7].map((n) => record(n, n + 1).then(() => advance())));
  expect(await advance()).toBe(at(8));
});

const age = (where = 'true') => store().query(`UPDATE windows SET read_at = now() - interval '3 days' WHERE ${where}`);
const rows = () =>
  column(store(), `SELECT concat_ws(' ', axis, shown, calls, origin) FROM windows ORDER BY axis, shown, window_from`);

test('compaction joins overlapping windows, keeps gaps, axes and proofs apart, and leaves young ones', async () => {
  await recordAll('0-1 1-2 1.5-3 0.2-0.8 5-6', { calls: 10 });
  await record(3, 4, { calls: 10, shown: 'none' });
  await record(0, 1, { axis: 'qualified', calls: 10 });
  await age();
  await record(6, 7, { calls: 10 });
  expect(await compactWindows(store(), 48)).toBe(3);
  const others = ['timestamp total 10 test', 'timestamp total 10 test'];
  const left = ['qualified total 10 test', 'timestamp none 10 test', 'timestamp total 30 compacted', ...others];
  expect(await rows()).toEqual(left);
  expect(await open(0, 7)).toEqual([span(3, 5)]);
  expect(await compactWindows(store(), 48)).toBe(0);
});

test.each([
  ['0-1 1-2', '0-0.5 0.5-2'],
  ['0-2', '0-1 1-2'],
])('compaction of one range read in two ways leaves the proven one: %s and %s', async (unproven, proven) => {
  await recordAll(unproven, { shown: 'none', calls: 10 });
  await recordAll(proven, { calls: 9 });
  await age();
  await compactWindows(store(), 48);
  expect(await rows()).toEqual(['timestamp total 18 compacted']);
  expect(await open(0, 2)).toEqual([]);
});

test('problems stay until a reading that covers their window is known to have none', async () => {
  const problem = { axis, from: at(1), to: at(2), problem: 'too large' };
  const find = (found: Awaited<ReturnType<typeof openProblems>>[number]) =>
    replaceProblems(store(), { axis, from: at(0), to: at(3) }, [found]);
  await find(problem);
  await find({ ...problem, problem: 'still too large' });
  expect(await openProblems(store())).toEqual([{ ...problem, problem: 'still too large' }]);
  const settle = (from: number, to: number, on = axis) =>
    replaceProblems(store(), { axis: on, from: at(from), to: at(to) }, []);
  await settle(1.5, 3);
  expect(await openProblems(store())).toHaveLength(1);
  await settle(0, 3, 'qualified');
  expect(await openProblems(store())).toHaveLength(1);
  // A worker may be killed before it records the problems of the same reading.
  await record(1, 2, { shown: 'none' });
  expect(await openProblems(store())).toHaveLength(1);
  await find(problem);
  expect(await store().query('SELECT attempts FROM window_problems')).toEqual([{ attempts: 3 }]);
  await settle(0, 3);
  expect(await openProblems(store())).toEqual([]);
  await find(problem);
  expect(await openProblems(store())).toEqual([problem]);
});

test('counts calls that only came by webhook, but not those that came after the range', async () => {
  const from = Date.parse('2025-03-01T10:00:00Z') * 1000;
  const minute = 60_000_000;
  const to = from + 10 * minute;
  const timestamp = new Date((from + 9 * minute) / 1000).toISOString();
  const seen = (id: string, observedAt: number) => observationOf(id, observedAt, { timestamp }, 'webhook');
  const inTime = to - minute / 2;
  // Under privacy rules, the hash of a value begins with its order.
  const polled = ['open', 'void'].map((status) => observationOf(status, inTime, { timestamp, status }, 'poll'));
  const ordered = { ...observationOf('kept', inTime, { timestamp, status: 'void' }, 'poll'), order: 'AAAAAAAA' };
  await pipeline.fold([seen('in-time', inTime), seen('processed-later', to + minute), ...polled, ordered]);
  expect(await measureOverlap(pipeline.store, { from, to })).toMatchObject({ both: 0, pollOnly: 2, webhookOnly: 1 });
  const webhooks = await measureWebhooks(pipeline.store, { from, to, until: to, since: from });
  expect(webhooks).toMatchObject({ expected: 2, lost: 2 });
});
