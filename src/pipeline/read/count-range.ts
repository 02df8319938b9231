/** How many calls a backfill will read, and how long its first windows should be. */
import type { Range } from '../../../schemas/orchestration.ts';
import { axisOf, isCuttable } from '../../source/list/list-query.ts';
import type { SyncDeps } from './plan-sync.ts';
import { askServiceTime } from './service-time.ts';

export interface CountedRange {
  /** Calls that the service counts in the range; null where it has no total. */
  readonly expected: number | null;
  /** Microseconds. */
  readonly windowLength: number;
  /** The service cannot cut the list by the axis: readers of parts of the range would each read all of it. */
  readonly indivisible?: boolean;
  /** The range up to the service's now less the settling time: a future window would count as read. */
  readonly range: Range;
}

/** One or two requests. @throws CallsyncError of the source. */
export const countRange = async (
  deps: Pick<SyncDeps, 'source' | 'windows' | 'sync' | 'now'>,
  { axis, range: asked }: { readonly axis: string; readonly range: Range },
  signal: AbortSignal,
): Promise<CountedRange> => {
  const { source, windows, sync, now } = deps;
  const { list } = source;
  const { initial, min, max, targetCalls } = windows;
  const present = await askServiceTime(source, { axis, local: now().getTime() * 1000, signal });
  const range = { from: asked.from, to: Math.max(asked.from, Math.min(asked.to, present - sync.settle)) };
  const expected = (await list.readTotal({ window: { axis, ...range }, signal })) ?? null;
  const length = range.to - range.from;
  if (!isCuttable(axisOf(list.list, axis))) return { expected, windowLength: length, indivisible: true, range };
  const even = expected === null || expected === 0 ? initial : (length * targetCalls) / expected;
  return { range, expected, windowLength: Math.round(Math.min(max, Math.max(min, even))) };
};
