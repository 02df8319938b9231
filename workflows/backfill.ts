import { defineSearchAttributeKey } from '@temporalio/common';
import { allHandlersFinished, condition, continueAsNew, setHandler, workflowInfo } from '@temporalio/workflow';
import type { Range } from '../schemas/orchestration.ts';
import { readActivities } from './activity-proxies.ts';
import { loadWhatIsLeft } from './load-warehouse.ts';
import type { BackfillInput, BackfillProgress } from './messages.ts';
import { pauseUpdate, progressQuery, resumeUpdate, setConcurrencyUpdate } from './messages.ts';
import { beginReading, readRanges } from './read-ranges.ts';

/** Reads every call of a range once, in windows that fit, with bounded concurrency; can be paused and resumed. */
export const backfill = async (input: BackfillInput): Promise<BackfillProgress> => {
  const resumed = input.resumed;
  let range = resumed?.range ?? input.range ?? (await resolve(input));
  const state = beginReading(resumed?.todo ?? [range], input.concurrency, resumed);
  const startedAt = resumed?.startedAt ?? workflowInfo().runStartTime.getTime();
  let expected = resumed?.expected ?? null;

  let loaded = false;

  const progress = (): BackfillProgress => {
    const left = [...state.todo, ...state.active].reduce((sum, range) => sum + range.to - range.from, 0);
    const read = state.active.size === 0 && state.todo.length === 0;
    const { calls } = state.totals;
    return {
      state: loaded ? 'done' : state.paused && !read ? 'paused' : 'running',
      axis: input.axis,
      range,
      share:
        expected !== null && calls < expected && !read
          ? calls / expected
          : 1 - left / Math.max(1, range.to - range.from),
      totals: state.totals,
      expected,
      concurrency: state.concurrency,
      startedAt,
      todo: state.todo,
    };
  };
  setHandler(progressQuery, progress);
  const setPaused = (paused: boolean) => (): BackfillProgress => {
    state.paused = paused;
    return progress();
  };
  setHandler(pauseUpdate, setPaused(true));
  setHandler(resumeUpdate, setPaused(false));
  setHandler(
    setConcurrencyUpdate,
    (concurrency) => {
      state.concurrency = concurrency;
      return progress();
    },
    {
      validator: (concurrency) => {
        if (!Number.isInteger(concurrency) || concurrency < 1 || concurrency > 256)
          throw new Error('concurrency must be a whole number from 1 to 256');
      },
    },
  );

  if (resumed === undefined) {
    const counted = await readActivities(input.queues).countRange({ axis: input.axis, range });
    expected = counted.expected;
    range = counted.range;
    state.todo = range.from < range.to ? [range] : [];
    state.windowLength = counted.windowLength;
    if (counted.indivisible) state.concurrency = 1;
  }
  const { queues, axis, direction, force } = input;
  await readRanges(state, { queues, axis, direction, force, origin: `backfill:${input.name}` });
  if (state.todo.length === 0) loaded = await loadWhatIsLeft(queues, `backfill:${input.name}`);
  await condition(allHandlersFinished);
  if (!loaded) {
    const { todo, totals, paused, windowLength, concurrency } = state;
    const left = { range, todo, totals, paused, startedAt, expected, windowLength };
    await continueAsNew<typeof backfill>({ ...input, concurrency, resumed: left });
  }
  return progress();
};

const scheduledStartTime = defineSearchAttributeKey('TemporalScheduledStartTime', 'DATETIME');

/** The due time of a scheduled run counts, even if it starts late. Temporal hands over the result of the run before. */
const resolve = ({ queues, axis, last = 0 }: BackfillInput): Promise<Range> => {
  const { typedSearchAttributes, runStartTime, lastResult } = workflowInfo();
  const due = typedSearchAttributes.get(scheduledStartTime) ?? runStartTime;
  const before = lastResult as BackfillProgress | undefined;
  const readTo = before?.axis === axis ? before.range.to : undefined;
  return readActivities(queues).resolveRange({ axis, last, scheduledAt: due.getTime() * 1000, readTo });
};
