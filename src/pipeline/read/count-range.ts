/** How many calls a backfill will read, and how long its first windows should be. */
import type { Range } from '../../../schemas/orchestration.ts';
import { axisOf, isCuttable } from '../../source/list/list-query.ts';
import type { ReadDeps } from '../deps.ts';

export interface CountedRange {
  /** Calls that the service counts in the range; null where it has no total. */
  readonly expected: number | null;
  /** Microseconds. */
  readonly windowLength: number;
  /** The service cannot cut the list by the axis: readers of parts of the range would each read all of it. */
  readonly indivisible?: boolean;
}

/** One request. @throws CallsyncError of the source. */
export const countRange = async (
  { source: { list }, windows }: ReadDeps,
  { axis, range }: { readonly axis: string; readonly range: Range },
  signal: AbortSignal,
): Promise<CountedRange> => {
  const { initial, min, max, targetCalls } = windows;
  const expected = (await list.readTotal({ window: { axis, ...range }, signal })) ?? null;
  const length = range.to - range.from;
  if (!isCuttable(axisOf(list.list, axis))) return { expected, windowLength: length, indivisible: true };
  const even = expected === null || expected === 0 ? initial : (length * targetCalls) / expected;
  return { expected, windowLength: Math.round(Math.min(max, Math.max(min, even))) };
};
