import { describeProbeBackfill, someDialects } from './probe-backfill-cases.ts';

describeProbeBackfill(someDialects);
