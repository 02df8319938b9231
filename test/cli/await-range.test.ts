/** The range of `callsync await`: business days, as in the marts. */
import { expect, test } from 'vitest';
import { awaitedRange } from '../../src/cli/commands/await.ts';

const now = Date.parse('2026-04-01T10:00:00Z');
const told = (input: Parameters<typeof awaitedRange>[0], zone: string): readonly string[] => {
  const { from, to } = awaitedRange(input, zone, now);
  return [from, to].map((micros) => new Date(micros / 1000).toISOString());
};

test.each([
  [
    'dates of UTC',
    { from: '2026-01-01', to: '2026-01-02' },
    'UTC',
    ['2026-01-01T00:00:00.000Z', '2026-01-02T00:00:00.000Z'],
  ],
  [
    'dates of a zone',
    { from: '2026-01-01', to: '2026-01-02' },
    'Europe/Paris',
    ['2025-12-31T23:00:00.000Z', '2026-01-01T23:00:00.000Z'],
  ],
  [
    'a day of 23 hours',
    { from: '2026-03-29', to: '2026-03-30' },
    'Europe/Paris',
    ['2026-03-28T23:00:00.000Z', '2026-03-29T22:00:00.000Z'],
  ],
  ['instants', { from: 0, to: 1_000_000 }, 'Europe/Paris', ['1970-01-01T00:00:00.000Z', '1970-01-01T00:00:01.000Z']],
  ['last week', { lastWeek: true }, 'Europe/Paris', ['2026-03-22T23:00:00.000Z', '2026-03-29T22:00:00.000Z']],
] as const)('%s', (_, input, zone, expected) => {
  expect(told(input, zone)).toEqual(expected);
});

test.each([
  ['nothing', {}],
  ['an end alone', { to: '2026-01-01' }],
  ['a week and a start', { lastWeek: true, from: '2026-01-01' }],
  ['an empty range', { from: '2026-01-01', to: '2026-01-01' }],
  ['time to come', { from: '2026-01-01', to: '2026-05-01' }],
] as const)('%s is refused', (_, input) => {
  expect(() => awaitedRange(input, 'UTC', now)).toThrow(expect.objectContaining({ code: 'USAGE_RANGE' }));
});
