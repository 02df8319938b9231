import { describeProbeBackfill, describeProbeRead, otherDialects, someDialects } from './probe-backfill-cases.ts';

describeProbeBackfill(someDialects);
describeProbeRead(otherDialects);
