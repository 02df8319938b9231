import { describeActivateBackfill } from './activate-backfill-cases.ts';

// Small pages, so that a slow machine keeps up; the whole of it: npm run campaign -- volume activate.
describeActivateBackfill('in short', {
  calls: 3_000,
  pageSize: 25,
  maxOffset: 500,
  targetCalls: 1_250,
  again: 0,
  leastShare: 0.6,
});
