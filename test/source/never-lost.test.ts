/** A list may do anything behind callsync's back: either every call is read, or the window is reported. */
import { expect, test } from 'vitest';
import type { SourceConfigInput } from '../../schemas/config/source.ts';
import type { SimulatorOptions } from '../../schemas/simulator.ts';
import { dialectOf } from '../../src/simulator/service/dialects.ts';
import type { WindowResult } from '../../src/source/read/read-window.ts';
import { settledRange } from '../support/settled-range.ts';
import { listedIds, missingFrom, openSimulated, readSimulated, wholeRange } from './simulated.ts';

type List = SourceConfigInput['list'];
const activate = { preset: 'activate' };

/** Reads everything in a few windows; returns what is missing and what was said of it. */
const readAll = async (options: SimulatorOptions, list: List = activate, axis = 'qualified', windows = 2) => {
  const calls = { count: 400, utterances: 1, words: 2, otherShare: 0, ...settledRange, ...options.calls };
  const limits = { requests: 1_000_000, retry_base_ms: 1, retry_max_ms: 2, retries: 2 };
  const { simulator, source } = await openSimulated({ ...options, calls }, { list, limits });
  const { from, to } = wholeRange(simulator, axis);
  const length = (Date.parse(simulator.range.to) * 1000 - from) / (windows - 0.4);
  const borders = Array.from({ length: windows }, (_, index) => Math.round((from + index * length) / 1e3) * 1e3);
  const seen = new Map<string, unknown>();
  const results: WindowResult[] = [];
  for (const [index, start] of borders.entries()) {
    const reading = await readSimulated(source, { axis, from: start, to: borders[index + 1] ?? to });
    for (const id of reading.seen.keys()) seen.set(id, true);
    results.push(reading.result);
  }
  const missing = missingFrom(await listedIds(simulator), seen);
  const problems = results.flatMap((result) => result.problems);
  return { missing, results, problems, requests: sumOf(results, 'requests') };
};

const sumOf = (results: readonly WindowResult[], what: 'repeated' | 'requests') =>
  results.reduce((sum, result) => sum + result[what], 0);

const page = { style: 'offset', size: 50 } as const;
test.each([
  ['no_parameters', 37, { pagination: { style: 'none' as const } }, {}],
  ['window_ignored', 137, { records: 'data', total_path: 'total', pagination: page }, {}],
  ['window_ignored', 137, { records: 'data', pagination: page }, { totalPath: undefined }],
])('%s with a silent cap of %i is complete only if the user says what it can give', async (...one) => {
  const [dialect, cap, list, overrides] = one;
  const options = { dialect, dialectOverrides: { cap, ...overrides }, calls: { count: 300 } };
  const read = await readAll(options, list, 'timestamp');
  expect(read.missing.length).toBeGreaterThan(100);
  for (const { shown, problems } of read.results) {
    expect(shown).toBe('none');
    expect(problems.map(({ detail }) => detail).join()).toContain('Set source.list.max_results');
  }
  const small = { ...options, dialectOverrides: overrides, calls: { count: 30 } };
  const stated = await readAll(small, { ...list, max_results: 200 }, 'timestamp');
  expect([stated.missing, stated.problems]).toEqual([[], []]);
});

test('a list without a cap is suspected little', async () => {
  const read = await readAll({});
  expect([read.missing, ...read.results.map(({ shown }) => shown)]).toEqual([[], 'total', 'total']);
  // Pages, once the total of everything, and for each longer window a total and two pages.
  expect(read.requests).toBeLessThanOrEqual(11);
});

const numbered: List = {
  records: 'items',
  pagination: { style: 'page', size_param: 'per_page', size: 50 },
  cursor_fields: [{ name: 'timestamp', record_field: 'timestamp', from_param: 'from', to_param: 'to' }],
};
test.each([
  ['page', 1, numbered],
  ['page', 12, numbered],
  ['page', 120, numbered],
  ['activate', 12, activate],
  ['activate', 20, activate],
])('%s with gaps of %i left out after pages were cut: empty pages are not the end', async (dialect, records, list) => {
  // With these times, activate gives some calls again and again on more pages than mark a list without an end.
  const calls = { count: 700, from: '2026-10-22T15:11:00Z', to: '2026-11-21T15:11:00Z' };
  const read = await readAll({ dialect, quirks: { gaps: { share: 0.1, records } }, calls }, list, 'timestamp');
  expect([read.missing, read.problems]).toEqual([[], []]);
});

const within = { from: '2025-03-01T00:00:00Z', to: '2025-03-01T01:00:00Z' };
const hour = { ...within, lateShare: 0, density: 'even', count: 3_000 } as const;
const seconds = { precision: 'milliseconds', printedPrecision: 'seconds' } as const;
const secondsOutside = /^outside: .*up to [2-6] s outside the requested bounds/;
const zone = { printedZoneMinutes: 120 };
const slack = { ...activate, bounds_slack_ms: 2 * 3_600_000 };
test.each<[string, string, SimulatorOptions['calls'], number, List, RegExp?]>([
  ['by less than a second', 'nothing to speak of', { ...hour, ...seconds }, 40, activate],
  ['by up to 5 s', 'kept, and the window says so', { ...hour, printedOffMs: 5_000 }, 40, activate, secondsOutside],
  ['within a configured slack', 'no problem', zone, 2, slack],
])('times that differ %s from what the list filters by are %s', async (_how, _what, calls, windows, list, says) => {
  const read = await readAll({ calls }, list, 'timestamp', windows);
  expect([read.missing, read.problems.length > 0]).toEqual([[], says !== undefined]);
  for (const { problem, detail } of read.problems) expect(`${problem}: ${detail}`).toMatch(says as RegExp);
});

test('times that differ from those that the list filters by are all kept, and the window says so', async () => {
  const read = await readAll({ calls: zone }, activate, 'timestamp', 8);
  expect(read.missing).toEqual([]);
  expect(read.problems.find(({ problem }) => problem === 'outside')?.detail).toContain('time zone');
});

test.each(['qualified', 'timestamp'])('calls that count twice are accepted at the second look: %s', async (axis) => {
  const read = await readAll({ quirks: { doubledShare: 0.05 } }, activate, axis);
  expect([read.missing, read.problems]).toEqual([[], []]);
  expect(read.results.map((result) => result.shown)).toEqual(['second_listing', 'second_listing']);
  expect(sumOf(read.results, 'repeated')).toBeGreaterThan(10);
  expect(read.requests).toBeLessThan(50);
});

test.each([
  { kind: 'error_500', light: true, single: true, lost: 2 },
  { kind: 'broken_json', light: true, single: true, lost: 2 },
  { kind: 'error_500', light: false, single: true, lost: 2 },
  { kind: 'broken_json', light: false, single: false, lost: 0 },
  { kind: 'error_500', light: true, single: false, lost: 2 },
] as const)('records with which no answer succeeds: $kind, in summaries $light, alone $single', async (poison) => {
  const { lost, ...how } = poison;
  const read = await readAll({ quirks: { poison: [150, 250].map((record) => ({ record, ...how })) } });
  expect(read.missing.length).toBe(lost);
  // Bounds include their ends: two windows are given the record, and a time that it prints does not say which has it.
  expect(read.problems.length).toBe(lost === 0 ? 0 : 4);
  expect(new Set(read.problems.map(({ problem }) => problem)).size).toBe(lost === 0 ? 0 : 1);
  for (const { window } of read.problems) expect(window.to - window.from).toBeLessThanOrEqual(1_000_000);
});

test.each([
  [undefined, 1],
  // Then no row behind it comes, and the others are kept.
  [200, 145],
])(
  'records with which no answer succeeds are found in a list that cannot be cut (offsets to %j)',
  async (max, lost) => {
    const list = { records: 'data', total_path: 'total', pagination: { style: 'offset', size: 200 } } as const;
    const poison = [{ record: 150, kind: 'error_500' as const, light: true, single: true }];
    const { paging } = dialectOf('window_ignored', {});
    const dialectOverrides = { paging: { ...paging, ...(max !== undefined && { maxOffset: max }) } as typeof paging };
    const read = await readAll({ dialect: 'window_ignored', dialectOverrides, quirks: { poison } }, list, 'timestamp');
    expect(read.missing.length).toBe(lost);
    expect(read.problems.map(({ problem }) => problem)).toContain('unreadable');
  },
);

test.each(['page', 'no_parameters', 'bare_inclusive', 'silent_cap'])(
  '%s, whose paging nobody configured, is never complete',
  async (dialect) => {
    const records = { page: 'items', silent_cap: 'data' }[dialect] ?? '';
    const { results } = await readAll({ dialect }, { records }, 'timestamp');
    for (const { shown, parts, problems } of results) {
      const why = parts.map(({ reason }) => reason).join();
      expect([shown, why]).toEqual(['none', 'source.list.pagination is not configured']);
      expect(problems.map(({ problem }) => problem)).toContain('paging_unknown');
    }
  },
);
