/**
 * 60,000 calls at 40 requests in any 10 seconds, then a tenth of them again on the other
 * axis. About 8 minutes. Pages of 100 of the possible 200, so that reading is the bottleneck on 2 busy cores too.
 */
import { describeActivateBackfill } from '../e2e/activate-backfill-cases.ts';

describeActivateBackfill('60,000 calls', {
  calls: 60_000,
  pageSize: 100,
  maxOffset: 10_000,
  targetCalls: 15_000,
  again: 0.1,
  leastShare: 0.9,
});
