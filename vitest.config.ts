import { configDefaults, defineConfig } from 'vitest/config';

/** Campaigns take minutes each and run by `npm run test:campaigns`; everything else is `npm test`. */
const campaigns = process.env.CALLSYNC_CAMPAIGNS !== undefined;
/** `npm run replay:record` writes histories instead of testing. */
const recording = process.env.CALLSYNC_RECORD !== undefined;

export default defineConfig({
  test: {
    include: recording
      ? ['test/replay/record-histories.ts']
      : [campaigns ? 'test/campaigns/**/*.test.ts' : 'test/**/*.test.ts'],
    exclude: [...configDefaults.exclude, ...(campaigns ? [] : ['test/campaigns/**'])],
    globalSetup: ['test/support/postgres.ts', 'test/support/temporal.ts', 'test/support/bigquery.ts'],
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: campaigns ? 3_600_000 : 60_000,
    hookTimeout: 120_000,
    teardownTimeout: 60_000,
  },
});
