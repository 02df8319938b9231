import { describeActivateBackfill } from './activate-backfill-cases.ts';

// The whole of it, which uses the requests that it is allowed: npm run campaign -- volume activate.
const size = { calls: 1_000, seconds: 2, pageSize: 25, maxOffset: 300, targetCalls: 750 };
describeActivateBackfill('in short', { ...size, again: 0 });
