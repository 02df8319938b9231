import { configDefaults, defineConfig } from 'vitest/config';
import { listTests } from './test/support/list-tests.ts';
import { LongestFirst } from './test/support/longest-first.ts';

/** Campaigns take minutes each and run by `npm run campaign -- NAME`; everything else is `npm test`. */
const campaigns = process.env.CALLSYNC_CAMPAIGNS !== undefined;
/** `npm run replay:record` writes histories instead of testing. */
const recording = process.env.CALLSYNC_RECORD !== undefined;

const listed = campaigns || recording ? undefined : listTests();
const all = recording ? 'test/replay/record-histories.ts' : 'test/campaigns/**/*.test.ts';

export default defineConfig({
  test: {
    pool: 'forks',
    // A module that has not changed since the last run is not transformed again.
    experimental: { fsModuleCache: true },
    // Many times what a machine takes that does nothing else: it says that something hangs, not that a machine is slow.
    testTimeout: campaigns ? 3_600_000 : 600_000,
    hookTimeout: 600_000,
    expect: { poll: { timeout: 120_000 } },
    teardownTimeout: 60_000,
    sequence: { sequencer: LongestFirst },
    projects: [
      // `npm run test:fast`
      {
        extends: true,
        // No test of these changes what another one sees: a worker loads each module once.
        test: {
          name: 'fast',
          include: [...(listed?.fast ?? [])],
          // One more than there are cores: some tests wait for time to pass.
          maxWorkers: 3,
          isolate: false,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: 'servers',
          include: [...(listed?.servers ?? [all])],
          exclude: [...configDefaults.exclude, ...(campaigns ? [] : ['test/campaigns/**'])],
          // As above; each test file has databases of its own.
          isolate: campaigns || recording,
          // Three times as many as there are cores: most of the time these tests wait for processes to start or for time to pass.
          maxWorkers: 6,
          sequence: { groupOrder: 1 },
          globalSetup: ['test/support/postgres.ts', 'test/support/temporal.ts', 'test/support/bigquery.ts'],
        },
      },
    ],
  },
});
