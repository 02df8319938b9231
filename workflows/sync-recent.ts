import { condition, isCancellation, patched } from '@temporalio/workflow';
import type { LiveActivities } from '../activities/create-activities.ts';
import { addTotals, emptyTotals, type Range, type ReadTotals } from '../schemas/orchestration.ts';
import { liveActivities } from './activity-proxies.ts';
import type { SyncInput } from './messages.ts';
import { beginReading, type RangeReadingInput, readRanges } from './read-ranges.ts';

/**
 * Reads the newest calls, then unread ranges while time lasts, and moves the watermark.
 * At each interval, it plans and reads the newest calls again. Neither a backlog nor a slow window delays new calls.
 * Every run plans the rest again.
 */
export const syncRecent = async (input: SyncInput): Promise<ReadTotals & { readonly watermark: number | null }> => {
  const startedAt = Date.now();
  const { planSync, finishSync } = liveActivities(input.queues);
  let totals = emptyTotals;
  let seenTo = 0;
  const whole = { queues: input.queues, live: true, force: true, origin: 'sync' } as const;
  // Plans of earlier versions have no `lookback`.
  const readTop = async ({ axis, top, lookback, settledTo }: Awaited<ReturnType<LiveActivities['planSync']>>) => {
    totals = addTotals(totals, await readAll(top, { ...whole, axis, settledTo, direction: 'newest_first' }));
    seenTo = top[0]?.to ?? settledTo;
    const finished = await finishSync({ seenTo });
    if (lookback !== undefined && lookback.parts.length > 0 && patched('lookback'))
      totals = addTotals(totals, await compareLookback(input, lookback));
    return finished;
  };

  const plan = await planSync();
  const { watermark } = await readTop(plan);
  // Absent in plans of earlier versions.
  const { axis, rest, others = [], settledTo, direction, seconds, everySeconds } = plan;
  if (rest.length === 0 && others.length === 0) return { ...totals, watermark };

  const readOlder = async (): Promise<ReadTotals> => {
    let read = emptyTotals;
    for (const { axis: name, ranges } of [{ axis, ranges: rest }, ...others]) {
      const until = startedAt + seconds * 1000;
      read = addTotals(read, await readAll(ranges, { ...whole, axis: name, settledTo, direction, until }));
    }
    return read;
  };
  const older = readOlder();
  let isRead = false;
  const end = (): void => {
    isRead = true;
  };
  older.then(end, end);
  let topAt = startedAt;
  while (!(await condition(() => isRead, Math.max(1, topAt + everySeconds * 1000 - Date.now())))) {
    topAt = Date.now();
    await readTop(await planSync());
  }
  totals = addTotals(totals, await older);
  return { ...totals, ...(await finishSync({ seenTo })) };
};

type Lookback = Parameters<LiveActivities['rereadWindows']>[0];

/** If this fails, the calls come whole when they leave the lookback: nothing waits for it. */
const compareLookback = async ({ queues }: SyncInput, lookback: Lookback): Promise<ReadTotals> => {
  try {
    const { listed, changed, requests } = await liveActivities(queues, { maximumAttempts: 3 }).rereadWindows(lookback);
    return { ...emptyTotals, calls: listed, changed, requests };
  } catch (error) {
    if (isCancellation(error)) throw error;
    return emptyTotals;
  }
};

const readAll = async (ranges: readonly Range[], input: RangeReadingInput): Promise<ReadTotals> => {
  const state = beginReading(ranges, 1);
  await readRanges(state, input);
  return state.totals;
};
