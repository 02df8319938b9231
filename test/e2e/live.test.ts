/** Live work goes on beside a backfill, and while the list is away. */
import { expect, test } from 'vitest';
import { listAway, liveBesideBackfill } from './live-cases.ts';

test('live calls become visible while a backfill and a reconcile still run', async () => {
  expect((await liveBesideBackfill(7_000)).seen).toBeGreaterThanOrEqual(5);
});

test('deliveries become visible while the list is away and a repeat waits for it', async () => {
  expect((await listAway(2_000)).seen).toBeGreaterThanOrEqual(5);
});
