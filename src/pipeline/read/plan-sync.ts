/**
 * Computes the ranges that continuous sync must read now from the ranges that are stored as read, never from the
 * scheduled time.
 */

import type { ListConfig } from '../../../schemas/config/list.ts';
import type { SyncSettings } from '../../../schemas/config/sync.ts';
import type { Range } from '../../../schemas/orchestration.ts';
import { CallsyncError } from '../../lib/errors.ts';
import { type Interval, subtract } from '../../lib/intervals.ts';
import { serviceNow } from '../../source/http/http.ts';
import { asLive } from '../../source/http/limiter.ts';
import {
  axisOf,
  canLeaveOut,
  defaultAxis,
  endOfProcessingAxis,
  isCuttable,
  splitWindow,
} from '../../source/list/list-query.ts';
import * as stored from '../../store/windows/windows.ts';
import type { ReadDeps } from '../deps.ts';

interface SyncDeps extends ReadDeps, Pick<SyncSettings, 'sync'> {
  readonly now: () => Date;
}

/** Runs that a time limit ended leave windows behind the watermark that were read too soon: they are looked for so far back. */
const lookBack = 3_600_000_000;
const triesPerRun = 10;
/**
 * Two readings overlap by so much. The known offset of the service's clock moves by up to a second. Without the
 * overlap, a move would leave a sliver between any two readings of the last hour, and the next run would read them all.
 */
const readingsOverlap = 5_000_000;
/**
 * Seconds. A run lasts about two intervals within these limits; then the rest is planned again with newly due ranges.
 */
const [shortestRun, longestRun] = [5, 120];

/** The watermark decides where to begin: it does not move while the sync is down, unlike a start relative to now. */
export const planSync = async ({ store, source, sync, now }: SyncDeps, signal?: AbortSignal) => {
  const { settle, lookback, start, direction } = sync;
  const { list } = source.list;
  const axis = defaultAxis(list).name;
  const { watermark, startedFrom } = (await stored.advanceWatermark(store, { axis, start })) ?? {
    watermark: start,
    startedFrom: start,
  };
  const present = await askServiceTime(source, { axis, local: now().getTime() * 1000, signal });
  const settledTo = present - settle;
  const from = Math.max(startedFrom, watermark - lookback - settle - lookBack);
  const topFrom = Math.max(startedFrom, settledTo - lookback);
  const older = { axis, from: Math.min(from, topFrom), to: topFrom };
  const open = await stored.uncoveredRanges(store, older, { overlap: lookback + settle, now: present });
  // The time that has just settled belongs to the newest range, so it costs no further request.
  const last = open.at(-1);
  const joined = last?.to === topFrom && last.to - last.from <= lookback ? open.splice(-1) : [];
  const seenTo = await findSeen(store, list, { axis, from: topFrom, to: Math.max(topFrom, settledTo) });
  const isProcessed = endOfProcessingAxis(list)?.name === axis;
  const widen = ({ from, to }: Interval): Interval => ({ from: Math.max(startedFrom, from - readingsOverlap), to });
  // An axis that the configuration no longer has cannot be read.
  const otherAxes = list.cursor_fields.map(({ name }) => name).filter((name) => name !== axis);
  const found = (await stored.listProblems(store)).filter((one) => one.axis === axis || otherAxes.includes(one.axis));
  const problems = found.filter((problem) => problem.axis === axis);
  const retried = found.filter(({ due }) => due).slice(0, triesPerRun);
  const retriedOn = (name: string) =>
    retried.filter((one) => one.axis === name).map(({ from, to }): Range => ({ from, to }));
  const seen = subtract([{ from: topFrom, to: seenTo }], problems);
  // When an earlier run has seen them.
  const since = seenTo + settle;
  const rest = [...subtract(open.map(widen), problems), ...retriedOn(axis)];
  return {
    axis,
    /** Read first: the calls that no run has seen, up to the service's now, and those that leave the lookback. Newest first. */
    top: newestFirst(subtract([...joined, { from: seenTo, to: present }].map(widen), problems)),
    /** Then the calls of the lookback that an earlier run has seen, by summaries: whole ones come where they differ. */
    lookback: {
      axis,
      at: present,
      covers: [],
      parts: seen.map(({ from, to }) => ({ from, to, since, weight: 1 })),
    },
    /**
     * Microseconds; windows that end later are read, but do not count as read. On an axis that calls join late, the whole
     * lookback is such: two listings of it would differ, and it is read again anyway.
     */
    settledTo: isProcessed ? settledTo : topFrom,
    /** Unread ranges, ranges that were read too soon, and failed ones; in the order of `direction`. */
    rest: direction === 'newest_first' ? newestFirst(rest) : newestFirst(rest).reverse(),
    /** Windows of other axes that are to be tried again: a backfill left them as problems. */
    others: otherAxes
      .map((name) => ({ axis: name, ranges: retriedOn(name) }))
      .filter(({ ranges }) => ranges.length > 0),
    direction,
    /** While the rest is read, the newest calls are planned and read again this often. */
    everySeconds: sync.interval / 1_000_000,
    /** Longest duration of a run; the next one plans anew. */
    seconds: Math.min(longestRun, Math.max(shortestRun, (2 * sync.interval) / 1_000_000)),
  };
};

/** So few calls cost less whole, together with the newest ones, than a request and an activity of their own. */
const fewCalls = 50;

/** Up to where earlier runs have read a range whole, so that summaries can be compared; its start where that is not worth it. */
const findSeen = async (store: ReadDeps['store'], list: ListConfig, range: Interval & { readonly axis: string }) => {
  const processed = endOfProcessingAxis(list);
  // On another axis, a transcript may come later than its call, and no summary shows that.
  if (processed?.name !== range.axis || !isCuttable(processed) || !canLeaveOut(list)) return range.from;
  if ((await stored.countReadCalls(store, range)) <= fewCalls) return range.from;
  return (await stored.uncoveredRanges(store, range))[0]?.from ?? range.to;
};

const newestFirst = (ranges: readonly Interval[]): Range[] => [...ranges].sort((a, b) => b.to - a.to);

/** Moves the watermark to the end of the contiguous prefix of read windows; null while nothing is read. */
export const finishSync = async ({ store }: SyncDeps, { seenTo }: { readonly seenTo: number }) => {
  const watermark = (await stored.advanceWatermark(store))?.watermark ?? null;
  await stored.recordSeen(store, seenTo);
  return { watermark };
};

/**
 * Runs work of continuous sync. The requests of this work are live. Status and metrics keep its failure until a run has
 * seen the newest calls.
 */
export const asSync = async <T>(
  { store, log }: Pick<SyncDeps, 'store' | 'log'>,
  work: () => Promise<T>,
  signal?: AbortSignal,
) => {
  try {
    return await asLive(work);
  } catch (error) {
    // A worker that stops has not failed.
    if (signal?.aborted) throw error;
    const code = error instanceof CallsyncError ? error.code : 'UNEXPECTED';
    await stored.recordSyncError(store, code).catch((cause: unknown) => log('sync error not stored', { error: cause }));
    throw error;
  }
};

// Ranges that end at the service's present, and the number of calls that a backfill will read.

const second = 1_000_000;

/**
 * Microseconds; the local time if the service sends none. A process that has asked nothing yet asks for the total of
 * one second to learn it.
 */
const askServiceTime = async (
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
  /** End of the last run that finished. A missed run, or an hour that clocks repeat, leaves nothing unread. */
  readonly readTo?: number | undefined;
}

/** The range ends at the present by the service's clock. Asks for the time where no answer has told it yet. */
export const resolveRange = async (
  { source, now }: Pick<ReadDeps, 'source'> & { readonly now: () => Date },
  { axis, last, scheduledAt, readTo = scheduledAt }: RelativeRange,
  signal?: AbortSignal,
): Promise<Range> => {
  const to = await askServiceTime(source, { axis, local: now().getTime() * 1000, signal });
  return { from: Math.min(readTo, Math.min(scheduledAt, to) - last), to };
};

const mostCounts = 100;

/**
 * One or two requests; up to `mostCounts` more where the list refuses ranges that long. @throws CallsyncError of the
 * source.
 * `expected` = calls that the service counts in the range; null where it has no total, or does not count that many parts.
 * `windowLength` = microseconds.
 * `indivisible` = the service cannot cut the list by the axis: readers of parts of the range would each read all of
 * it.
 * `range` = the range up to the service's now less the settling time: a future window would count as read.
 */
export const countRange = async (
  deps: Pick<SyncDeps, 'now' | 'source' | 'windows'> & { readonly sync: Pick<SyncSettings['sync'], 'settle'> },
  { axis, range: asked }: { readonly axis: string; readonly range: Range },
  signal: AbortSignal,
) => {
  const { source, windows, sync, now } = deps;
  const { list } = source;
  const { initial, min, max, targetCalls } = windows;
  const present = await askServiceTime(source, { axis, local: now().getTime() * 1000, signal });
  const range = { from: asked.from, to: Math.max(asked.from, Math.min(asked.to, present - sync.settle)) };
  const length = range.to - range.from;
  const parts = splitWindow({ axis, ...range }, Math.ceil(length / max), 1);
  const whole = await list.readTotal({ window: { axis, ...range }, signal });
  const isTooLong = whole === undefined && parts.length <= mostCounts;
  const totals = isTooLong ? await Promise.all(parts.map((window) => list.readTotal({ window, signal }))) : [whole];
  const expected = totals.includes(undefined) ? null : totals.reduce<number>((sum, total = 0) => sum + total, 0);
  if (!isCuttable(axisOf(list.list, axis))) return { expected, windowLength: length, indivisible: true, range };
  const even = expected === null || expected === 0 ? initial : (length * targetCalls) / expected;
  return { range, expected, windowLength: Math.round(Math.min(max, Math.max(min, even))) };
};
