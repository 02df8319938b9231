/** Ten kills of the Temporal server during a backfill. About 3 minutes. */
import { expect, test } from 'vitest';
import { killTemporalDuringBackfill } from '../e2e/kill-temporal.ts';

test('a backfill outlives a Temporal server that is killed ten times', async () => {
  const figures = await killTemporalDuringBackfill(10, 3_500);
  process.stdout.write(`${JSON.stringify(figures)}\n`);
  expect(figures.runningAtLastRestart).toBe(true);
  expect(figures.shareLeft).toBeGreaterThanOrEqual(0.5);
  expect(figures.secondsAfterLastRestart).toBeLessThan(30 + figures.secondsUndisturbed);
});
