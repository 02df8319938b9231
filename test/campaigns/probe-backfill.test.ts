/** Probe, then backfill, for every dialect that the simulated service speaks. About 3 minutes. */
import { dialects } from '../../src/simulator/service/dialects.ts';
import { describeProbeBackfill } from '../e2e/probe-backfill-cases.ts';

// `first_page` cannot be read completely by anyone.
describeProbeBackfill(Object.keys(dialects).filter((name) => name !== 'first_page'));
