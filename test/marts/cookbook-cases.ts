/** Every question of the cookbook, asked in both warehouses: the same rows, the calls' own figures, and those of the page. */
import { expect, test } from 'vitest';
import { cookbook } from '../../src/marts/cookbook.ts';
import { countAnswers } from './cookbook-truth.ts';
import type { FilledWarehouses } from './two-warehouses.ts';

/** @param here whose marts have the settings of analytics.ts. */
export const testCookbook = (here: () => FilledWarehouses): void => {
  test('the questions of the cookbook have one answer in both, that of the calls and of the page', async () => {
    const { postgres, bigquery, documents } = here();
    const truth = countAnswers(documents);
    const lines: string[] = [];
    for (const { title, sql } of cookbook) {
      const rows = await postgres.ask(typeof sql === 'string' ? sql : sql.postgres);
      expect(await bigquery.ask(typeof sql === 'string' ? sql : sql.bigquery), title).toEqual(rows);
      expect(rows.length, title).toBeGreaterThan(0);
      const expected = truth.get(title) ?? [];
      const counted = Object.keys(expected[0] ?? {});
      if (counted.length > 0) {
        const told = rows.map((row) => Object.fromEntries(counted.map((column) => [column, row[column]])));
        expect(told, title).toEqual(expected);
        truth.delete(title);
      }
      lines.push(`${JSON.stringify({ title, rows })}\n`);
    }
    expect([...truth.keys()], 'answers without a question').toEqual([]);
    // After `vitest run -u`, `npm run generate` brings the new results into the page.
    await expect(lines.join('')).toMatchFileSnapshot('cookbook-results.ndjson');
  });
};
