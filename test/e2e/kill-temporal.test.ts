import { test } from 'vitest';
import { killTemporalDuringBackfill } from './kill-temporal.ts';

// Short form of `npm run campaign -- kills temporal`.
test('a backfill outlives its worker and a Temporal server that is killed twice; again it changes nothing', async () => {
  await killTemporalDuringBackfill(2, 400);
});
