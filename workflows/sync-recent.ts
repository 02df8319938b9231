import { continueAsNew, patched } from '@temporalio/workflow';
import { emptyTotals, type ReadTotals } from '../schemas/orchestration.ts';
import { readActivities } from './activity-proxies.ts';
import type { SyncRecentInput } from './messages.ts';
import { type RangeReading, readRanges } from './read-ranges.ts';

/**
 * Reads from the stored watermark, less the overlap, to now, less the settling time; then moves the watermark. A backlog
 * that is too long for one run is continued as new with what is left of it.
 */
export const syncRecent = async (
  input: SyncRecentInput,
): Promise<ReadTotals & { readonly watermark: number | null }> => {
  const { planSync, finishSync } = readActivities(input.queues);
  const { axis, direction, todo, totals, windowLength } = input.resumed ?? (await begin(planSync));
  const state: RangeReading = { todo: [...todo], active: 0, totals, concurrency: 1, paused: false, windowLength };
  // Forced: the overlap covers windows that are read already, in order to read them again.
  await readRanges(state, { queues: input.queues, axis, direction, force: true, origin: 'sync' });
  // A run of the code before this one went on to the watermark here, and must do so again on replay.
  if (state.todo.length > 0 && patched('sync-continues-as-new')) {
    const left = state.windowLength === undefined ? {} : { windowLength: state.windowLength };
    await continueAsNew<typeof syncRecent>({
      ...input,
      resumed: { axis, direction, todo: state.todo, totals: state.totals, ...left },
    });
  }
  const { watermark } = await finishSync();
  return { ...state.totals, watermark };
};

const begin = async (
  planSync: ReturnType<typeof readActivities>['planSync'],
): Promise<NonNullable<SyncRecentInput['resumed']>> => {
  const { axis, range, direction } = await planSync();
  return { axis, direction, todo: range.from < range.to ? [range] : [], totals: emptyTotals };
};
