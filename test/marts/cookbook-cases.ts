/** Every question of the cookbook on the demo's calls, in both warehouses: the same rows, the calls' own, and those of the page. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { cookbook } from '../../src/marts/cookbook.ts';
import { demoAnalytics } from '../../src/simulator/demo/demo-calls.ts';
import { countAnswers } from './cookbook-truth.ts';
import { type FilledWarehouses, fillWarehouses, readDemoCalls } from './two-warehouses.ts';

/** The page tells this number. */
const calls = 200;

export const testCookbook = (): void => {
  describe('the cookbook on the calls of the demo', () => {
    let here: FilledWarehouses;
    beforeAll(async () => {
      here = await fillWarehouses(await readDemoCalls(calls));
      await here.postgres.applyMarts(demoAnalytics);
      await here.bigquery.applyMarts(demoAnalytics);
    }, 240_000);
    afterAll(() => here?.close());

    test('every question has one answer in both, that of the calls and of the page', async () => {
      const truth = countAnswers(here);
      const lines: string[] = [];
      for (const { title, sql } of cookbook) {
        const rows = await here.postgres.ask(typeof sql === 'string' ? sql : sql.postgres);
        expect(await here.bigquery.ask(typeof sql === 'string' ? sql : sql.bigquery), title).toEqual(rows);
        expect(rows.length, title).toBeGreaterThan(0);
        expect(rows, title).toEqual(truth.get(title));
        truth.delete(title);
        lines.push(`${JSON.stringify({ title, rows })}\n`);
      }
      expect([...truth.keys()], 'answers without a question').toEqual([]);
      // After `vitest run -u`, `npm run generate` brings the new results into the page.
      await expect(lines.join('')).toMatchFileSnapshot('cookbook-results.ndjson');
    }, 120_000);
  });
};
