import { configDefaults, defineConfig } from 'vitest/config';
import { listFastTests } from './test/support/list-fast-tests.ts';

/** Campaigns take minutes each and run by `npm run campaign -- NAME`; everything else is `npm test`. */
const campaigns = process.env.CALLSYNC_CAMPAIGNS !== undefined;
/** `npm run replay:record` writes histories instead of testing. */
const recording = process.env.CALLSYNC_RECORD !== undefined;

const fast = campaigns || recording ? [] : [...listFastTests()];
const all = recording ? 'test/replay/record-histories.ts' : `test/${campaigns ? 'campaigns/' : ''}**/*.test.ts`;

export default defineConfig({
  test: {
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: campaigns ? 3_600_000 : 60_000,
    hookTimeout: 120_000,
    teardownTimeout: 60_000,
    projects: [
      // `npm run test:fast`
      { extends: true, test: { name: 'fast', include: fast } },
      {
        extends: true,
        test: {
          name: 'servers',
          include: [all],
          exclude: [...configDefaults.exclude, ...(campaigns ? [] : ['test/campaigns/**']), ...fast],
          globalSetup: ['test/support/postgres.ts', 'test/support/temporal.ts', 'test/support/bigquery.ts'],
        },
      },
    ],
  },
});
