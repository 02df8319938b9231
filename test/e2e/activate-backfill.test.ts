import { describeActivateBackfill } from './activate-backfill-cases.ts';

// Small pages, so that a slow machine keeps up; the whole of it: npm run campaign -- activate.
describeActivateBackfill('in short', {
  calls: 6_000,
  pageSize: 50,
  maxOffset: 1_000,
  targetCalls: 2_500,
  again: 0,
  leastShare: 0.6,
});
