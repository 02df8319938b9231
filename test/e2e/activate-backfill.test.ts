import { describeActivateBackfill } from './activate-backfill-cases.ts';

// The whole of it, which uses the requests that it is allowed: npm run campaign -- volume activate.
describeActivateBackfill('in short', { calls: 1_600, pageSize: 25, maxOffset: 500, targetCalls: 1_250, again: 0 });
