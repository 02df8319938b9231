/** Reads a part of an axis, window by window, each sized by what the ones before held. */
import type { Observation, RejectedRecord } from '../../../schemas/observation.ts';
import type { Direction, Range, ReadTotals } from '../../../schemas/orchestration.ts';
import type { LateContext } from '../../rereads/late-change.ts';
import { axisOf, isCuttable } from '../../source/list/list-query.ts';
import { readWindow } from '../../source/read/read-window.ts';
import type { Source } from '../../source/source.ts';
import { recordProblem, recordWindow, uncoveredRanges } from '../../store/windows/windows.ts';
import { type FoldedBatch, foldBatch, type IngestDeps, loadFolded } from '../load/ingest.ts';

export interface ReadRangePartInput {
  readonly axis: string;
  readonly range: Range;
  readonly direction: Direction;
  readonly origin: string;
  /** False: what is read already is passed over. */
  readonly force: boolean;
  /** The part ends after the window with which it has this many calls, or has lasted this long. */
  readonly maxCalls: number;
  readonly maxSeconds: number;
  /** Microseconds; learned by the part before, or the configured first length. */
  readonly windowLength?: number;
}

export interface ReadRangePartResult {
  readonly totals: ReadTotals;
  /** What of the range is still to be read; null when all of it is. */
  readonly rest: Range | null;
  /** Microseconds; a good length for the next window. */
  readonly windowLength: number;
}

export interface ReadDeps extends IngestDeps {
  readonly source: Source;
  readonly windows: {
    /** Microseconds. */
    readonly initial: number;
    readonly min: number;
    readonly max: number;
    readonly targetCalls: number;
  };
}

/** Called as the part goes on: what is left of the range, so that a retry resumes there. */
export interface RangePartProgress {
  readonly rest: Range;
  readonly totals: ReadTotals;
  readonly windowLength: number;
}

/** The next window and what remains; together they are the range. Lengths in microseconds. */
export const cutNext = (range: Range, length: number, direction: Direction): readonly [window: Range, rest: Range] =>
  direction === 'oldest_first'
    ? [
        { from: range.from, to: Math.min(range.from + length, range.to) },
        { from: Math.min(range.from + length, range.to), to: range.to },
      ]
    : [
        { from: Math.max(range.to - length, range.from), to: range.to },
        { from: range.from, to: Math.max(range.to - length, range.from) },
      ];

/** At most four times as long as the last window, at least a quarter: one burst must not set the pace for good. */
export const nextLength = (length: number, calls: number, rules: ReadDeps['windows']): number => {
  const factor = calls === 0 ? 4 : Math.min(4, Math.max(0.25, rules.targetCalls / calls));
  return Math.round(Math.min(rules.max, Math.max(rules.min, length * factor)));
};

/** @throws CallsyncError of the source or the store; finished windows stay read. */
export const readRangePart = async (
  deps: ReadDeps,
  input: ReadRangePartInput,
  options: {
    readonly signal: AbortSignal;
    readonly onProgress: (progress: RangePartProgress) => void;
    readonly resume?: RangePartProgress;
  },
): Promise<ReadRangePartResult> => {
  const startedAt = performance.now();
  let rest = options.resume?.rest ?? input.range;
  let totals = options.resume?.totals ?? { windows: 0, calls: 0, changed: 0, requests: 0, problems: 0 };
  let length = options.resume?.windowLength ?? input.windowLength ?? deps.windows.initial;
  // A list without window parameters is read whole for every window, so there is only one.
  const cuttable = isCuttable(axisOf(deps.source.list.list, input.axis));
  if (!cuttable) length = rest.to - rest.from;
  // The longest window that was seen to hold calls: a longer one is counted before it is read, so that a part which
  // comes out of a silent night into a busy day does not swallow the day, and can still be paused.
  let proven = 0;
  while (rest.from < rest.to) {
    options.signal.throwIfAborted();
    const isOpen = (window: Range): Promise<readonly Range[]> =>
      input.force ? Promise.resolve([window]) : uncoveredRanges(deps.store, { axis: input.axis, ...window });
    let [next, after] = cutNext(rest, length, input.direction);
    let open = await isOpen(next);
    if (cuttable && length > proven && open.length > 0) {
      length = await fitLength(deps, input, rest, length, options.signal);
      [next, after] = cutNext(rest, length, input.direction);
      open = await isOpen(next);
    }
    let calls = 0;
    for (const range of open) {
      const read = await readOne(deps, input, range, options.signal, () =>
        options.onProgress({ rest, totals, windowLength: length }),
      );
      calls += read.calls;
      totals = {
        windows: totals.windows + read.windows,
        calls: totals.calls + read.calls,
        changed: totals.changed + read.changed,
        requests: totals.requests + read.requests,
        problems: totals.problems + read.problems,
      };
    }
    if (!cuttable) length = Math.max(1, after.to - after.from);
    else if (open.length > 0) {
      if (calls > 0) proven = next.to - next.from;
      length = nextLength(next.to - next.from, calls, deps.windows);
    } else length = deps.windows.max;
    rest = after;
    options.onProgress({ rest, totals, windowLength: length });
    if (totals.calls >= input.maxCalls || performance.now() - startedAt > input.maxSeconds * 1000) break;
  }
  return { totals, rest: rest.from < rest.to ? rest : null, windowLength: length };
};

/** The length, shortened until the next window holds at most twice the target; unchanged where there is no total. */
const fitLength = async (
  deps: ReadDeps,
  input: ReadRangePartInput,
  rest: Range,
  length: number,
  signal: AbortSignal,
): Promise<number> => {
  const { min, targetCalls } = deps.windows;
  for (let fitted = length; ; ) {
    const [window] = cutNext(rest, fitted, input.direction);
    const total = await deps.source.list.readTotal({ window: { axis: input.axis, ...window }, signal });
    if (total === undefined || total <= 2 * targetCalls || fitted <= min) return fitted;
    fitted = Math.round(Math.max(min, (Math.min(fitted, window.to - window.from) * targetCalls) / total));
  }
};

/** One window: pages are folded as they come while the page before is loaded and the next is fetched. */
const readOne = async (
  deps: ReadDeps,
  input: ReadRangePartInput,
  range: Range,
  signal: AbortSignal,
  alive: () => void,
): Promise<ReadTotals> => {
  const pipeline = createPipeline(deps, input.origin);
  const result = await readWindow({
    client: deps.source.list,
    window: { axis: input.axis, ...range },
    signal,
    onPage: async (observations) => {
      alive();
      await pipeline.take(observations, []);
    },
    onRejected: (records) => pipeline.take([], records),
    onProgress: alive,
  });
  await pipeline.finish();
  await deps.drift?.seeEmpty(result.uncarried);
  for (const part of result.parts) {
    await recordWindow(deps.store, { axis: input.axis, ...part, origin: input.origin });
  }
  for (const { window, problem, detail } of result.problems) {
    await recordProblem(deps.store, {
      axis: window.axis,
      from: window.from,
      to: window.to,
      problem: `${problem}: ${detail}`,
    });
  }
  const { calls, requests } = result;
  return { windows: result.parts.length, calls, requests, changed: pipeline.changed, problems: result.problems.length };
};

/** Folding of one batch overlaps with loading of the batch before it. */
export const createPipeline = (deps: IngestDeps, origin: string, late?: LateContext) => {
  let loading: Promise<unknown> = Promise.resolve();
  let changed = 0;
  return {
    take: async (observations: readonly Observation[], rejected: readonly RejectedRecord[]): Promise<void> => {
      const folded: FoldedBatch = await foldBatch(deps, {
        observations,
        rejected,
        origin,
        ...(late === undefined ? {} : { late }),
      });
      changed += folded.changed.length;
      await loading;
      loading = loadFolded(deps, folded);
      // Awaited with the next batch or at the end; until then its failure must not count as unhandled.
      loading.catch(() => undefined);
    },
    finish: () => loading,
    get changed(): number {
      return changed;
    },
  };
};
