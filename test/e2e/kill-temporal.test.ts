import { expect, it } from 'vitest';
import { killTemporalDuringBackfill } from './kill-temporal.ts';

// Short version of test/campaigns/kill-temporal.test.ts.
it('a backfill outlives a Temporal server that is killed twice', async () => {
  const { runningAtLastRestart, secondsAfterLastRestart, secondsUndisturbed } = await killTemporalDuringBackfill(
    2,
    400,
  );
  expect(runningAtLastRestart).toBe(true);
  expect(secondsAfterLastRestart).toBeLessThan(30 + 60 + secondsUndisturbed * 3);
}, 240_000);
