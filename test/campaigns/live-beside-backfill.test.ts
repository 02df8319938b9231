/**
 * Live calls beside a backfill with concurrency 8 and a reconcile: how soon they are visible with a schedule of 5 seconds.
 * About 10 minutes; CALLSYNC_SECONDS=120 for less.
 */
import { expect, test } from 'vitest';
import { liveBesideBackfill } from '../e2e/live-cases.ts';

test('95 of 100 calls are visible within 10 seconds after they are listed', async () => {
  const figures = await liveBesideBackfill(Number(process.env.CALLSYNC_SECONDS ?? 600) * 1000);
  process.stdout.write(`${JSON.stringify(figures)}\n`);
  expect(figures.backfillRunning).toBe(true);
  expect(figures.p95Seconds).toBeLessThanOrEqual(10);
});
