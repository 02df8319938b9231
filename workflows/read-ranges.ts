/** Reads a list of ranges with bounded concurrency, part by part. Idle readers split the remaining ranges. */
import { condition, patched, workflowInfo } from '@temporalio/workflow';
import type { LiveActivities } from '../activities/create-activities.ts';
import { addTotals, type Direction, emptyTotals, type Range, type ReadTotals } from '../schemas/orchestration.ts';
import { liveActivities, readActivities } from './activity-proxies.ts';
import type { TaskQueues } from './messages.ts';

/** A range part ends after this much, so that pausing and rebalancing take effect and history stays short. */
const callsPerPart = 5_000;
const secondsPerPart = 60;
/** Shorter ranges are not split for the sake of concurrency, in microseconds. Each costs a total, and a page that is not full. */
const shortestShare = ({ windowLength = 0 }: RangeReading): number =>
  patched('share-of-window') ? Math.max(60_000_000, windowLength / 4) : 60_000_000;

export type RangeReading = ReturnType<typeof beginReading>;

type Before = { readonly totals?: ReadTotals; readonly paused?: boolean; readonly windowLength?: number | undefined };

/** A reading that begins, or goes on where another one ended. `active`: ranges that are being read. */
export const beginReading = (
  todo: readonly PartRange[],
  concurrency: number,
  { totals = emptyTotals, paused = false, windowLength }: Before = {},
) => ({ todo: [...todo], active: new Set<PartRange>(), totals, concurrency, paused, windowLength });

type Part = Parameters<LiveActivities['readRangePart']>[0];
type PartRange = Part['range'];

export interface RangeReadingInput extends Pick<Part, 'axis' | 'direction' | 'origin' | 'force' | 'settledTo'> {
  readonly queues: TaskQueues;
  /** Continuous sync: on the queue of live work. */
  readonly live?: boolean;
  /** Milliseconds since the epoch: no part is begun after it. */
  readonly until?: number;
}

const byDirection = (direction: Direction) => (a: Range, b: Range) =>
  direction === 'oldest_first' ? a.from - b.from : b.from - a.from;

/** For Temporal's interface: instants only, never call data. */
const describeRange = (axis: string, range: Range): string =>
  `${axis} ${new Date(range.from / 1000).toISOString()} to ${new Date(range.to / 1000).toISOString()}`;

/** Takes the next range; while there are fewer ranges than readers, the longest is halved. */
const takeRange = (state: RangeReading, direction: Direction): PartRange | undefined => {
  while (state.todo.length > 0 && state.todo.length + state.active.size < state.concurrency) {
    const longest = state.todo.reduce((a, b) => (b.to - b.from > a.to - a.from ? b : a));
    if (longest.to - longest.from < 2 * shortestShare(state)) break;
    const middle = Math.floor((longest.from + longest.to) / 2);
    state.todo.splice(state.todo.indexOf(longest), 1, { ...longest, to: middle }, { ...longest, from: middle });
  }
  return state.todo.sort(byDirection(direction)).shift();
};

/**
 * Reads until the end, until history is long enough to continue as new, or until time is up; `state` holds the rest.
 * A range with a failed part goes back to `state.todo`, and the failure is thrown.
 */
export const readRanges = async (state: RangeReading, input: RangeReadingInput): Promise<void> => {
  const { queues, live = false, until = Number.POSITIVE_INFINITY, ...part } = input;
  const { readRangePart } = live ? liveActivities(queues) : readActivities(queues);
  let failure: unknown;
  const mustStop = (): boolean => failure !== undefined || workflowInfo().continueAsNewSuggested || Date.now() >= until;
  const mayStart = (): boolean => !mustStop() && !state.paused && state.active.size < state.concurrency;
  const mustEnd = (): boolean => state.active.size === 0 && mustStop();

  const readNext = async (range: PartRange): Promise<void> => {
    try {
      const result = await readRangePart.executeWithOptions({ summary: describeRange(input.axis, range) }, [
        {
          ...part,
          range,
          maxCalls: callsPerPart,
          maxSeconds: Math.min(secondsPerPart, Math.max(1, (until - Date.now()) / 1000)),
          windowLength: state.windowLength,
        },
      ]);
      state.totals = addTotals(state.totals, result.totals);
      state.windowLength = result.windowLength;
      if (result.rest !== null) state.todo.push(result.rest);
    } catch (error) {
      state.todo.push(range);
      failure = error;
    } finally {
      state.active.delete(range);
    }
  };

  for (;;) {
    while (mayStart()) {
      const range = takeRange(state, input.direction);
      if (range === undefined) break;
      state.active.add(range);
      void readNext(range);
    }
    if (mustEnd()) break;
    if (state.active.size === 0 && state.todo.length === 0) break;
    const [active, todo] = [state.active.size, state.todo.length];
    // `mustEnd`: updates of a paused backfill also make the history grow. A resume would then start nothing.
    await condition(
      () =>
        state.active.size !== active ||
        state.todo.length !== todo ||
        (mayStart() && state.todo.length > 0) ||
        mustEnd(),
    );
  }
  if (failure !== undefined) throw failure;
};
