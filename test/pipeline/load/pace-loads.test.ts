import { expect, test } from 'vitest';
import { callsToLoad, mayCommit, takesChanges } from '../../../src/pipeline/load/pace-loads.ts';

const ask = (origin: string, waiting: number, dueInMs?: number) =>
  callsToLoad({
    origin,
    waiting: async () => waiting,
    warehouse: { maxCallsPerLoad: 100, ...(dueInMs === undefined ? {} : { nextCommitInMs: async () => dueInMs }) },
  });

test.each([
  ['a warehouse without a pace takes everything', 'pending', 7, undefined, Number.POSITIVE_INFINITY],
  ['what waits, once the interval has passed', 'pending', 7, 0, 7],
  ['nothing before that', 'pending', 7, 5_000, undefined],
  ['a backlog of a full load does not wait', 'pending', 100, 5_000, 100],
  ['a backfill does not wait', 'backfill:x', 7, 5_000, 7],
])('%s', async (_name, origin, waiting, dueInMs, expected) => {
  expect(await ask(origin, waiting, dueInMs)).toBe(expected);
});

test('the sweep takes changed calls when they are due; everybody else at once', async () => {
  const warehouse = (dueInMs: number) => ({
    maxCallsPerLoad: 100,
    nextCommitInMs: async (pace: string) => (pace === 'changes' ? dueInMs : 0),
  });
  expect(await takesChanges({ origin: 'pending', warehouse: warehouse(5_000) })).toBe(false);
  expect(await takesChanges({ origin: 'pending', warehouse: warehouse(0) })).toBe(true);
  expect(await takesChanges({ origin: 'fill', warehouse: warehouse(5_000) })).toBe(true);
  expect(await takesChanges({ origin: 'pending', warehouse: { maxCallsPerLoad: 100 } })).toBe(true);
});

test('the sweep begins no commit that it would have to wait for; everybody else waits in the load', async () => {
  const warehouse = { maxCallsPerLoad: 100, nextCommitInMs: async (pace: string) => (pace === 'any' ? 20_000 : 0) };
  expect(await mayCommit({ origin: 'pending', warehouse })).toBe(false);
  expect(await mayCommit({ origin: 'import', warehouse })).toBe(true);
  expect(await mayCommit({ origin: 'pending', warehouse: { maxCallsPerLoad: 100 } })).toBe(true);
});
