import { emptyTotals, type ReadTotals } from '../schemas/orchestration.ts';
import { readActivities } from './activity-proxies.ts';
import type { SyncInput } from './messages.ts';
import { type RangeReading, readRanges } from './read-ranges.ts';

/** Reads from the stored watermark, less the overlap, to now, less the settling time; then moves the watermark. */
export async function syncRecent(input: SyncInput): Promise<ReadTotals & { readonly watermark: number | null }> {
  const { planSync, finishSync } = readActivities(input.queues);
  const { axis, range, direction } = await planSync();
  const state: RangeReading = {
    todo: range.from < range.to ? [range] : [],
    active: 0,
    totals: emptyTotals,
    concurrency: 1,
    paused: false,
    windowLength: undefined,
  };
  // Forced: the overlap lies in windows that are read already, and reading them again is what it is for.
  await readRanges(state, { queues: input.queues, axis, direction, force: true, origin: 'sync' });
  const { watermark } = await finishSync();
  return { ...state.totals, watermark };
}
