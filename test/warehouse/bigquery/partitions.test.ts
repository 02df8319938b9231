import fc from 'fast-check';
import { expect, test } from 'vitest';
import { coverDates, partitionOf } from '../../../src/warehouse/bigquery/partitions.ts';

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
