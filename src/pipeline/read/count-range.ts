/** Ranges that end at the service's present, and the number of calls that a backfill will read. */
import type { Range } from '../../../schemas/orchestration.ts';
import { serviceNow } from '../../source/http/service-clock.ts';
import { axisOf, isCuttable } from '../../source/list/list-query.ts';
import type { ReadDeps } from '../deps.ts';

const second = 1_000_000;

/**
 * Microseconds; the local time if the service sends none. A process that has asked nothing yet asks for the total of
 * one second to learn it.
 */
export const askServiceTime = async (
  { clock, list }: Pick<ReadDeps['source'], 'clock' | 'list'>,
  { axis, local, signal }: { readonly axis: string; readonly local: number; readonly signal?: AbortSignal | undefined },
): Promise<number> => {
  if (serviceNow(clock) === undefined)
    await list.readTotal({ window: { axis, from: local - second, to: local }, signal });
  return serviceNow(clock) ?? local;
};

interface RelativeRange {
  readonly axis: string;
  /** Microseconds before `scheduledAt`. */
  readonly last: number;
  /** Due time of the run in microseconds. A late run still covers its whole range. */
  readonly scheduledAt: number;
}

/** The range ends at the present by the service's clock. Asks for the time where no answer has told it yet. */
export const resolveRange = async (
  { source, now }: Pick<ReadDeps, 'source'> & { readonly now: () => Date },
  { axis, last, scheduledAt }: RelativeRange,
  signal?: AbortSignal,
): Promise<Range> => {
  const to = await askServiceTime(source, { axis, local: now().getTime() * 1000, signal });
  return { from: Math.min(scheduledAt, to) - last, to };
};

/**
 * One or two requests. @throws CallsyncError of the source.
 * `expected` = calls that the service counts in the range; null where it has no total.
 * `windowLength` = microseconds.
 * `indivisible` = the service cannot cut the list by the axis: readers of parts of the range would each read all of
 * it.
 * `range` = the range up to the service's now less the settling time: a future window would count as read.
 */
export const countRange = async (
  deps: Pick<ReadDeps, 'source' | 'windows'> & {
    readonly now: () => Date;
    /** Microseconds. */
    readonly sync: { readonly settle: number };
  },
  { axis, range: asked }: { readonly axis: string; readonly range: Range },
  signal: AbortSignal,
) => {
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
