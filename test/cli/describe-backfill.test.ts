/** What `callsync backfill` says in the end. */
import { expect, test } from 'vitest';
import { emptyTotals } from '../../schemas/orchestration.ts';
import { describeBackfill } from '../../src/cli/commands/backfill.ts';

test.each([
  ['nothing was', 0, undefined],
  ['all was', 1_000, '  100 % of the range was read before and is skipped: --force reads it again'],
  ['nearly nothing was', 1, '  1 % of the range was read before and is skipped: --force reads it again'],
])('%s read before', (_, skippedSeconds, line) => {
  const told = describeBackfill('old', {
    state: 'done',
    axis: 'qualified',
    range: { from: 0, to: 1_000_000_000 },
    share: 1,
    totals: { ...emptyTotals, calls: 23, skippedSeconds },
    expected: 2_343,
    concurrency: 1,
    startedAt: 0,
    todo: [],
  });
  expect(told.split('\n').find((one) => one.includes('skipped'))).toBe(line);
});
