import { addTotals, emptyTotals, type Range, type ReadTotals } from '../schemas/orchestration.ts';
import { liveActivities } from './activity-proxies.ts';
import type { SyncInput } from './messages.ts';
import { type RangeReading, type RangeReadingInput, readRanges } from './read-ranges.ts';

/**
 * Reads the newest calls, then what is not read yet for as long as the run may last, and moves the watermark. Every run
 * plans anew, so that a backlog of years does not keep new calls waiting.
 */
export const syncRecent = async (input: SyncInput): Promise<ReadTotals & { readonly watermark: number | null }> => {
  const startedAt = Date.now();
  const { planSync, finishSync } = liveActivities(input.queues);
  const { axis, top, settledTo, rest, direction, seconds } = await planSync();
  const until = startedAt + seconds * 1000;
  const reading = { queues: input.queues, live: true, axis, force: true, origin: 'sync', settledTo } as const;
  const seenTo = top[0]?.to ?? settledTo;

  const newest = await readAll(top, { ...reading, direction: 'newest_first' });
  const { watermark } = await finishSync({ seenTo });
  if (rest.length === 0) return { ...newest, watermark };
  const older = await readAll(rest, { ...reading, direction, until });
  return { ...addTotals(newest, older), ...(await finishSync({ seenTo })) };
};

const readAll = async (ranges: readonly Range[], input: RangeReadingInput): Promise<ReadTotals> => {
  const state: RangeReading = {
    todo: [...ranges],
    active: 0,
    totals: emptyTotals,
    concurrency: 1,
    paused: false,
    windowLength: undefined,
  };
  await readRanges(state, input);
  return state.totals;
};
