/** Live work goes on beside a backfill, and while the list is away. */
import { expect, test } from 'vitest';
import { listAway, liveBesideBackfill } from './live-cases.ts';

test('live calls become visible while a backfill and a reconcile still run', async () => {
  const figures = await liveBesideBackfill(7_000);
  expect(figures.seen).toBeGreaterThanOrEqual(5);
  expect(figures.backfillRunning).toBe(true);
});

test('deliveries become visible while the list is away and a repeat waits for it', async () => {
  const figures = await listAway(2_000);
  expect(figures.seen).toBeGreaterThanOrEqual(5);
  expect(figures.rereadsWaiting).toBe(1);
});
