/** Reads a part of an axis window by window. The number of calls in earlier windows sets the size of the next. */
import { addTotals, type Direction, emptyTotals, type Range, type ReadTotals } from '../../../schemas/orchestration.ts';
import { lengthOf } from '../../lib/intervals.ts';
import { iso } from '../../lib/timestamps.ts';
import { isOfOneAnswer } from '../../source/http/errors.ts';
import { axisOf, boundStep, halveWindow, isCuttable } from '../../source/list/list-query.ts';
import { isServiceUp, readWindow, type WindowResult } from '../../source/read/read-window.ts';
import { recordWindow, replaceProblems, uncoveredRanges } from '../../store/windows/windows.ts';
import type { LongRun, ReadDeps } from '../deps.ts';
import { createPipeline } from '../load/ingest.ts';

interface ReadRangePartInput {
  readonly axis: string;
  /** `proven`: length of the longest window that held calls in the part before, in microseconds. */
  readonly range: Range & { readonly proven?: number };
  readonly direction: Direction;
  readonly origin: string;
  /** False: skip windows that were read. */
  readonly force: boolean;
  /** The part ends after the window with which it has this many calls, or has lasted this long. */
  readonly maxCalls: number;
  readonly maxSeconds: number;
  /** Microseconds; learned by the part before, or the configured first length. */
  readonly windowLength?: number;
  /** Microseconds. Later windows are read and loaded, but do not count as read: calls may still appear there. */
  readonly settledTo?: number;
}

/** Rest of the range, at which a retry resumes. */
export type RangePartProgress = { readonly rest: Range; readonly totals: ReadTotals; readonly windowLength: number };

/** The next window and the rest of the range. Lengths in microseconds. */
const cutNext = ({ from, to }: Range, length: number, direction: Direction): readonly [window: Range, rest: Range] => {
  const isForwards = direction === 'oldest_first';
  const at = isForwards ? Math.min(from + length, to) : Math.max(to - length, from);
  const [older, newer] = [
    { from, to: at },
    { from: at, to },
  ];
  return isForwards ? [older, newer] : [newer, older];
};

/** For a window shorter than the step of the bounds, the service lists the whole step: each further one would ask for it again. */
const shortestWindow = ({ windows, source }: ReadDeps): number => Math.max(windows.min, boundStep(source.list.list));

const longestWindow = ({ windows, source }: ReadDeps): number => Math.min(windows.max, source.list.learned.longest);

/** At most four times as long as the last window and at least a quarter, so that one burst does not set the pace. */
export const nextLength = (length: number, calls: number, deps: ReadDeps): number => {
  const { targetCalls } = deps.windows;
  const factor = calls === 0 ? 4 : Math.min(4, Math.max(0.25, targetCalls / calls));
  return Math.round(Math.max(shortestWindow(deps), Math.min(longestWindow(deps), length * factor)));
};

/**
 * Reads windows from one end of the range until its end, or until the part's calls or seconds are spent. Totals
 * include those of `resume`.
 * @throws CallsyncError of the source or the store; finished windows stay read.
 * `rest` = unread rest of the range; null = all of it is read.
 * `windowLength` = microseconds; a good length for the next window.
 */
export const readRangePart = async (
  deps: ReadDeps,
  input: ReadRangePartInput,
  /** `attempt`: 1 at first. */
  options: LongRun<RangePartProgress> & { readonly attempt: number },
) => {
  const startedAt = performance.now();
  const beginning = {
    rest: input.range,
    totals: emptyTotals,
    windowLength: input.windowLength ?? deps.windows.initial,
  };
  let { rest, totals, windowLength: length } = options.resume ?? beginning;
  // A list without window parameters is read whole for every window, so there is only one.
  const cuttable = isCuttable(axisOf(deps.source.list.list, input.axis));
  length = cuttable ? Math.max(length, shortestWindow(deps)) : rest.to - rest.from;
  // The longest window that held calls, or the configured first one. A much longer window is counted before it is read.
  // After a quiet night, a window over the whole busy day would be too large to pause. The short ranges of continuous
  // sync need no such request.
  let { proven = deps.windows.initial } = input.range;
  const isOpen = async (window: Range): Promise<readonly Range[]> =>
    input.force ? [window] : await uncoveredRanges(deps.store, { axis: input.axis, ...window });
  const isSpent = () => totals.calls >= input.maxCalls || performance.now() - startedAt > input.maxSeconds * 1000;
  const { signal, attempt } = options;
  const readOpen = async (open: readonly Range[]): Promise<number> => {
    let calls = 0;
    for (const range of open) {
      const read = await passOverFailing(deps, { axis: input.axis, ...range }, { attempt, signal }, () =>
        ingestWindow(deps, input, range, signal),
      );
      calls += read.calls;
      totals = addTotals(totals, read);
    }
    return calls;
  };
  while (rest.from < rest.to) {
    signal.throwIfAborted();
    let [next, after] = cutNext(rest, length, input.direction);
    let open = await isOpen(next);
    if (cuttable && next.to - next.from > 1.5 * proven && open.length > 0) {
      length = await fitLength(deps, input, rest, [proven, length], signal);
      [next, after] = cutNext(rest, length, input.direction);
      open = await isOpen(next);
    }
    const calls = await readOpen(open);
    if (!cuttable) length = Math.max(1, after.to - after.from);
    else if (open.length > 0) {
      if (calls > 0) proven = Math.max(deps.windows.initial, next.to - next.from);
      length = nextLength(next.to - next.from, calls, deps);
    } else length = longestWindow(deps);
    totals = addTotals(totals, { ...emptyTotals, skippedSeconds: (lengthOf([next]) - lengthOf(open)) / 1_000_000 });
    rest = after;
    options.onProgress({ rest, totals, windowLength: length });
    if (isSpent()) break;
  }
  return { totals, rest: rest.from < rest.to ? { ...rest, proven } : null, windowLength: length };
};

/**
 * The greatest length, shortened until the next window holds at most twice the target; without a total, the greatest.
 * Not below the least where a shorter window has the same total: it counts all calls, and would cut a year into minutes.
 */
const fitLength = async (
  deps: ReadDeps,
  input: ReadRangePartInput,
  rest: Range,
  [least, most]: readonly [number, number],
  signal: AbortSignal,
) => {
  const { targetCalls } = deps.windows;
  const min = shortestWindow(deps);
  for (let [fitted, before] = [most, Number.POSITIVE_INFINITY]; ; ) {
    const [window] = cutNext(rest, fitted, input.direction);
    const total = await deps.source.list.readTotal({ window: { axis: input.axis, ...window }, signal });
    if (total === undefined || total <= 2 * targetCalls || fitted <= min) return fitted;
    if (total >= before) return Math.max(least, fitted);
    before = total;
    fitted = Math.round(Math.max(min, (Math.min(fitted, window.to - window.from) * targetCalls) / total));
  }
};

const nothing: Pick<WindowResult, 'parts' | 'problems' | 'calls' | 'requests'> = {
  parts: [],
  problems: [],
  calls: 0,
  requests: 0,
};

/**
 * Reads one window into the ledger: folds a page while the previous page loads and the next one arrives. Records read
 * parts and parts that were not shown complete, but nothing that is not settled yet.
 */
const ingestWindow = async (deps: ReadDeps, input: ReadRangePartInput, range: Range, signal: AbortSignal) => {
  const { axis, origin, settledTo = Number.POSITIVE_INFINITY } = input;
  const { store } = deps;
  const pipeline = createPipeline(deps);
  const read = async (window: Range, confirm: 'now' | 'later'): Promise<WindowResult> => {
    const result = await readWindow({
      client: deps.source.list,
      window: { axis, ...window },
      confirm,
      signal,
      ...pipeline.handlersOf(origin),
    });
    await deps.drift?.seeWindow(result);
    return result;
  };
  const settled = { from: range.from, to: Math.min(range.to, settledTo) };
  const young = { from: Math.max(range.from, settledTo), to: range.to };
  const newest = young.from < young.to ? await read(young, 'later') : nothing;
  const result = settled.from < settled.to ? await read(settled, 'now') : nothing;
  const { parts, problems } = result;
  await pipeline.finish();
  for (const part of parts) await recordWindow(store, { axis, ...part, origin });
  if (result !== nothing)
    await replaceProblems(
      store,
      { axis, ...settled },
      problems.map(({ window, problem, detail }) => ({ ...window, problem: `${problem}: ${detail}` })),
    );
  return {
    windows: parts.length,
    calls: result.calls + newest.calls,
    requests: result.requests + newest.requests,
    changed: pipeline.changed,
    problems: problems.length,
  };
};

/** Attempts at a window with transient failures before callsync passes it over. */
const attempts = 3;

/**
 * Returns the result of `read`, or the totals of a window that was recorded as a problem for a later reading.
 * @param attempt of the whole work, 1 at first.
 * @throws the error of `read` if it may pass, or if the service answers no other request either.
 */
const passOverFailing = async (
  deps: ReadDeps,
  window: Range & { readonly axis: string },
  { attempt, signal }: { readonly attempt: number; readonly signal: AbortSignal },
  read: () => Promise<ReadTotals>,
): Promise<ReadTotals> => {
  try {
    return await read();
  } catch (error) {
    signal.throwIfAborted();
    if (!isOfOneAnswer(error)) throw error;
    if (error.kind === 'transient' && attempt < attempts) throw error;
    if (!(await isServiceUp(deps.source.list, { window, signal }, error))) throw error;
    const { axis, from, to } = window;
    // If a list cannot be split, each half reads it whole.
    const isLong = isCuttable(axisOf(deps.source.list.list, axis)) && to - from >= 2 * shortestHalf;
    const parts = (isLong && halveWindow(window, 1_000_000)) || [{ axis, from, to }];
    const halves = parts.map((half) => ({
      ...half,
      problem: `unreadable: ${axis} ${iso(half.from)} to ${iso(half.to)} fails (${error.code}); it is read again later.`,
    }));
    await replaceProblems(deps.store, window, halves);
    deps.log('window passed over', { axis, from, to, code: error.code });
    return { windows: 0, calls: 0, changed: 0, requests: 1, problems: halves.length };
  }
};

/** Microseconds. Longer windows are read again in halves, to narrow down a failure. */
const shortestHalf = 30_000_000;
