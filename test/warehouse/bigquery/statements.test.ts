/** The SQL that can be sent: reviewed as a file, bounded to the partitions of a batch, understood by Google's analyzer. */

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { callTables } from '../../../schemas/tables.ts';
import { allFilled, exampleBatch, listBigqueryStatements } from '../../../scripts/statements.ts';
import { writeLoadScript } from '../../../src/warehouse/bigquery/load-script.ts';
import { coverDates, partitionOf } from '../../../src/warehouse/bigquery/partitions.ts';
import { forAll } from '../../support/for-all.ts';
import { configOf, expiring } from './config-of.ts';

test('every statement, printed for review', async () => {
  const text = listBigqueryStatements(configOf(expiring))
    .map(({ name, sql }) => `-- ${name}\n${sql.trim()}\n`)
    .join('\n');
  await expect(text).toMatchFileSnapshot('./__snapshots__/statements.sql');
});

const dates = ['2026-01-01', '2026-01-02', '2026-03-01', null];
const scriptOf = (wanted: Partial<Parameters<typeof exampleBatch>[0]> = {}, filled = allFilled): string => {
  const logs = { deliveries: [{ received_at: Date.parse('2026-01-09') * 1000 }] };
  const batch = { ...exampleBatch({ dates, calls: true, moved: true, logs, ...wanted }), loadId: "l'1" };
  const layout = { documents: true };
  return writeLoadScript({
    ...{ batch, unknownPartitions: false, stagedRows: 2, filled, dataset: 'p.d', staging: 'p.d.s', layout },
  });
};

const bounds = (alias: string): string =>
  `((${alias}.call_timestamp >= TIMESTAMP '2026-01-01 00:00:00+00' AND ${alias}.call_timestamp < TIMESTAMP '2026-01-03 00:00:00+00') OR ` +
  `(${alias}.call_timestamp >= TIMESTAMP '2026-03-01 00:00:00+00' AND ${alias}.call_timestamp < TIMESTAMP '2026-03-02 00:00:00+00') OR ` +
  `${alias}.call_timestamp IS NULL)`;

test('a load touches old, new and missing dates of its calls, as constants in every statement', () => {
  const statements = scriptOf().split(';\n');
  for (const name of [...callTables.map(({ name }) => name), 'changes']) {
    const readers = statements.filter((sql) =>
      new RegExp(`(?:FROM|JOIN|MERGE) \`p\\.d\\.${name}\` AS (\\w)`).test(sql),
    );
    expect(readers.length).toBeGreaterThan(0);
    for (const sql of readers) {
      const alias = new RegExp(`\`p\\.d\\.${name}\` AS (\\w)`).exec(sql)?.[1] as string;
      expect(sql).toContain(bounds(alias));
    }
  }
});

test('a table without staged rows gets no statement that inserts, but loses its old rows', () => {
  const found = scriptOf({}, new Set(['calls', 'tags'])).matchAll(/(DELETE FROM|INSERT INTO) `p\.d\.(\w+)`/g);
  const targets = [...found].map(([, verb, name]) => `${verb} ${name}`);
  const deleted = callTables.map(({ name }) => `DELETE FROM ${name}`);
  expect(targets).toEqual([...deleted, 'INSERT INTO calls', 'INSERT INTO tags', 'INSERT INTO loads']);
});

test('what a load may touch: a thousand scattered dates still make a script that BigQuery accepts', () => {
  const many = Array.from({ length: 2_000 }, (_, index) => dateOf(index * 3));
  expect(scriptOf({ dates: many }).length).toBeLessThan(500_000);
});

const dayMs = 86_400_000;
const dateOf = (day: number): string => new Date(day * dayMs).toISOString().slice(0, 10);

test.each([
  [0, '1970-01-01'],
  [-1, '1969-12-31'],
  [Date.parse('2026-03-01T00:00:00Z') * 1000 - 1, '2026-02-28'],
  [Date.parse('2026-03-01T00:00:00Z') * 1000, '2026-03-01'],
  [-62_135_596_800_000_000, '0001-01-01'],
  [null, null],
])('the partition of %s is %s', (micros, date) => expect(partitionOf(micros)).toBe(date));

test('ranges cover every date, are sorted and disjoint, and never more than the limit', async () => {
  const someDays = fc.array(fc.integer({ min: -200, max: 60_000 }), { maxLength: 300 });
  await forAll([someDays, fc.integer({ min: 1, max: 40 })], { numRuns: 100 }, (days, limit) => {
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
  });
});
