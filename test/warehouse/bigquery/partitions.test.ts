import fc from 'fast-check';
import { expect, test } from 'vitest';
import { coverDates, datesOf, partitionOf, splitByPartitions } from '../../../src/warehouse/bigquery/partitions.ts';
import { makeBatch, makeCall, makeLogRow, makeTombstone } from '../batches.ts';

const dayMs = 86_400_000;
const dateOf = (day: number): string => new Date(day * dayMs).toISOString().slice(0, 10);

test.each([
  [0, '1970-01-01'],
  [-1, '1969-12-31'],
  [Date.parse('2026-03-01T00:00:00Z') * 1000 - 1, '2026-02-28'],
  [Date.parse('2026-03-01T00:00:00Z') * 1000, '2026-03-01'],
  [-62_135_596_800_000_000, '0001-01-01'],
  [null, null],
])('the partition of %s is %s', (micros, date) => {
  expect(partitionOf(micros)).toBe(date);
});

test('ranges cover every date, are sorted and disjoint, and never more than the limit', () => {
  const property = fc.property(
    fc.array(fc.integer({ min: -200, max: 60_000 }), { maxLength: 300 }),
    fc.integer({ min: 1, max: 40 }),
    (days, limit) => {
      const dates = days.map(dateOf);
      const ranges = coverDates(dates, limit);
      expect(ranges.length).toBeLessThanOrEqual(limit);
      for (const date of dates) expect(ranges.some(({ from, to }) => from <= date && date < to)).toBe(true);
      for (const [index, range] of ranges.entries()) {
        expect(range.from < range.to).toBe(true);
        const following = ranges[index + 1];
        if (following !== undefined) expect(range.to < following.from).toBe(true);
      }
      // With room enough, nothing but the dates is covered.
      if (new Set(days).size <= limit) {
        const covered = ranges.reduce((sum, { from, to }) => sum + (Date.parse(to) - Date.parse(from)) / dayMs, 0);
        expect(covered).toBe(new Set(days).size);
      }
    },
  );
  fc.assert(property, { numRuns: 100 });
});

test('a batch of more partitions than one job may touch is cut, log rows with the last part', () => {
  const calls = Array.from({ length: 40 }, (_, index) =>
    makeCall({
      callId: `c-${index}`,
      timestamp: new Date(Date.UTC(2026, 0, 1 + ((index * 7) % 40))).toISOString(),
    }),
  );
  const deliveries = [makeLogRow('deliveries', { seq: 1 })];
  const tombstones = [makeTombstone('gone', 2, ['2026-01-05', '2020-01-01'])];
  const parts = splitByPartitions(makeBatch({ calls, tombstones, logs: { deliveries } }), 8);
  expect(parts.length).toBeGreaterThan(4);
  for (const part of parts) {
    expect(new Set([...part.calls, ...part.tombstones].flatMap(datesOf)).size).toBeLessThanOrEqual(8);
  }
  expect(parts.flatMap((part) => part.calls.map(({ callId }) => callId)).sort()).toEqual(
    calls.map(({ callId }) => callId).sort(),
  );
  expect(parts.flatMap((part) => part.tombstones)).toHaveLength(1);
  expect(parts.map((part) => part.logs.deliveries?.length ?? 0)).toEqual([...parts.slice(1).map(() => 0), 1]);
});
