/** Parsing of ranges and times in commands, and their messages. */
import { expect, test, vi } from 'vitest';
import { emptyTotals } from '../../schemas/orchestration.ts';
import { untilNow } from '../../src/app/temporal.ts';
import { awaitedRange } from '../../src/cli/commands/await.ts';
import { tellWatched } from '../../src/cli/commands/backfill.ts';
import { tellTimes } from '../../src/cli/shell/output.ts';

const now = Date.parse('2026-04-01T10:00:00Z');
const told = (input: Parameters<typeof awaitedRange>[0], zone: string): readonly string[] => {
  const { from, to } = awaitedRange(input, zone, now);
  return [from, to].map((micros) => new Date(micros / 1000).toISOString());
};

const dates = { from: '2026-01-01', to: '2026-01-02' };
test.each([
  ['dates of UTC', dates, 'UTC', '2026-01-01T00:00:00.000Z', '2026-01-02T00:00:00.000Z'],
  ['dates of a zone', dates, 'Europe/Paris', '2025-12-31T23:00:00.000Z', '2026-01-01T23:00:00.000Z'],
  ['instants', { from: 0, to: 1_000_000 }, 'Europe/Paris', '1970-01-01T00:00:00.000Z', '1970-01-01T00:00:01.000Z'],
  // With a day of 23 hours.
  ['last week', { lastWeek: true }, 'Europe/Paris', '2026-03-22T23:00:00.000Z', '2026-03-29T22:00:00.000Z'],
] as const)('await: %s', (_, input, zone, ...expected) => expect(told(input, zone)).toEqual(expected));

test.each([
  ['nothing', {}],
  ['an end alone', { to: '2026-01-01' }],
  ['a week and a start', { lastWeek: true, from: '2026-01-01' }],
  ['an empty range', { from: '2026-01-01', to: '2026-01-01' }],
  ['time to come', { from: '2026-01-01', to: '2026-05-01' }],
] as const)('await: %s is refused', (_, input) => {
  expect(() => awaitedRange(input, 'UTC', now)).toThrow(expect.objectContaining({ code: 'USAGE_RANGE' }));
});

test('a range ends before calls that may still come, and says so; an empty one is refused', () => {
  vi.useFakeTimers({ now: Date.parse('2026-04-01T10:00:00Z') });
  const present = Date.now() * 1000;
  const tell = vi.fn();
  const until = (to: number | undefined, settle = 0) => untilNow({ from: 0, to }, settle, tell).to - present;
  expect([until(undefined), until(present - 1), until(undefined, 30_000)]).toEqual([0, -1, -30_000_000]);
  expect(tell).not.toHaveBeenCalled();
  expect([until(present + 86_400_000_000), until(present, 30_000)]).toEqual([0, -30_000_000]);
  const said = (at: string) => [`The range ends at 2026-04-01T${at}.000Z: later calls may still come.`];
  expect(tell.mock.calls).toEqual(['10:00:00', '09:59:30'].map(said));
  for (const range of [{ from: 5, to: 5 }, { from: present + 1 }])
    expect(() => untilNow(range, 0, tell)).toThrow(expect.objectContaining({ code: 'USAGE_RANGE' }));
  vi.useRealTimers();
});

const finished = (over: object, state: 'running' | 'paused' | 'done') => {
  const range = { from: 0, to: 1_000_000_000 };
  const [, told, exit] = tellWatched('old', {
    ...{ state, axis: 'qualified', range, share: 1, expected: 2_343, concurrency: 1, startedAt: 0, todo: [] },
    totals: { ...emptyTotals, calls: 23, ...over },
  });
  return [String(told).split('\n')[2]?.trim(), exit];
};

const skips = (part: string) => `${part} % of the range was read before and is skipped; --force reads it again`;
test.each<[string, object, 'running' | 'paused' | 'done', string?, (false | 'incomplete')?]>([
  ['with nothing read before', { skippedSeconds: 0 }, 'done', undefined, false],
  ['with all read before', { skippedSeconds: 1_000 }, 'done', skips('100'), false],
  ['with little read before', { skippedSeconds: 1 }, 'done', skips('1'), false],
  ['with a problem', { problems: 1 }, 'done', '1 window could not be shown to be complete; callsync status names them'],
  ['paused', {}, 'paused', 'it waits: callsync backfill resume old'],
  ['running', {}, 'running', 'it continues in the workers: callsync backfill watch old'],
])('backfill: one %s is told so, and with its next command', (_, totals, state, line, exit = 'incomplete') =>
  expect(finished(totals, state)).toEqual([line, exit]),
);

test('ranges and instants are told in ISO 8601 wherever they are, and counts stay numbers', () => {
  const range = { from: 1_700_000_000_000_000, to: 1_700_000_000_123_456 };
  const told = { from: '2023-11-14T22:13:20.000Z', to: '2023-11-14T22:13:20.123Z' };
  const facts = { ...range, todo: [range], warehouses: { main: [range] }, calls: 7, startedAt: new Date(0), by: null };
  const startedAt = '1970-01-01T00:00:00.000Z';
  const rest = { todo: [told], warehouses: { main: [told] }, calls: 7, startedAt, by: null };
  expect(tellTimes(facts)).toEqual({ ...told, ...rest });
  const expected = { from: 'a', receiver: { at: startedAt, url: 'b' } };
  expect(tellTimes({ from: 'a', receiver: { at: 0, url: 'b' } })).toEqual(expected);
});
