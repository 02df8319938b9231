/** Lists of every kind, read while calls come, go and change. About 26 minutes in all, each case as it says. */

import { describe, expect, test } from 'vitest';
import { dialects } from '../../src/simulator/service/dialects.ts';
import { describeProbeBackfill } from '../e2e/probe-backfill-cases.ts';
import { describeLateEdits } from '../pipeline/read/late-edits-cases.ts';
import { describeNeverLost } from '../pipeline/read/never-lost-cases.ts';
import { testListFuzz } from '../source/list-fuzz-cases.ts';
import { liveCases, probeLive } from '../source/probe-live-cases.ts';
import { testRefusedLists } from '../source/refused-lists-cases.ts';

const seeds = Array.from({ length: 500 }, (_, index) => Number(process.env.CALLSYNC_SEED ?? 1) + index);

/** Reads 500 random lists with every quirk of the simulated service, while calls come, go and change. No list that lacks
 * a call is read as complete. About 15 minutes. `CALLSYNC_SEED=1001` reads 500 others. A printed seed runs alone by
 * `SEEDS=112,149 npx vitest run test/pipeline/read/never-lost.test.ts`.
 */
describe('dialects', () => describeNeverLost(seeds));

/** 500 lists that refuse pages at random places. About 20 seconds. `CALLSYNC_SEED=1001` reads 500 others. */
describe('refusals', () => testRefusedLists(seeds));

/** 20,000 mutated list responses: nothing crashes or hangs, and no valid record is lost. About 1 minute. */
describe('fuzz', () => testListFuzz(20_000));

/** Probes lists of each style of paging 20 times while 10 calls a second come to their beginning. About 5 minutes. */
describe('probe', () => {
  const runs = 20;

  test.each(Object.entries(liveCases))('%s is recognised in every run', async (name, [, pagination]) => {
    let right = 0;
    for (let seed = 1; seed <= runs; seed++) {
      const report = await probeLive(name, seed);
      const agrees = Object.entries(pagination).every(
        ([key, value]) => (report.list.pagination as Record<string, unknown> | undefined)?.[key] === value,
      );
      const contradicts = report.findings.some(({ key }) => key === 'contradiction');
      if (agrees && report.complete && !contradicts && report.list.cursor_fields.length > 0) right++;
    }
    console.log(`probe of ${name}: right in ${right} of ${runs} runs`);
    expect(right).toBe(runs);
  });
});

/** Probe, then backfill, for every dialect that the simulated service speaks. About 3 minutes. */
describe('probe-backfill', () => {
  // `first_page` cannot be read completely by anyone.
  describeProbeBackfill(Object.keys(dialects).filter((name) => name !== 'first_page'));
});

/** Late edits that a learned horizon catches beside a fixed one, in a year of 5,000 calls a day. About 2 minutes. */
describe('late-edits', () => describeLateEdits({ days: 365, callsPerDay: 5_000 }));
