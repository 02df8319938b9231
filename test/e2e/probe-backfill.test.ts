import { describeProbeBackfill } from './probe-backfill-cases.ts';

// Without window parameters. Of all dialects, test/source/probe.test.ts shows that what `probe` wrote reads them completely.
describeProbeBackfill(['no_parameters']);
