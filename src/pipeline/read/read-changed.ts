/** Reads a window by its summary listing: whole records are fetched only for calls that are new or have changed. */
import type { Observation } from '../../../schemas/observation.ts';
import type { LateContext } from '../../rereads/late-change.ts';
import { planFetches } from '../../source/list/fetch-plan.ts';
import { axisOf, boundStep, canLeaveOut, isCuttable } from '../../source/list/list-query.ts';
import { observeRecord } from '../../source/list/observe.ts';
import { readWindow } from '../../source/read/read-window.ts';
import { meanDocumentBytes } from '../../store/ledger/ledger-windows.ts';
import { type CompareListingInput, compareListing, type ListingComparison } from './compare-listing.ts';
import { createPipeline, type ReadDeps } from './read-range-part.ts';

export interface ReadChangedInput extends CompareListingInput {
  readonly origin: string;
  readonly late?: LateContext;
}

export interface SummaryReading {
  readonly survey: ListingComparison;
  /** Calls of the window that the service listed. */
  readonly listed: number;
  /** Of those, new to the ledger or with other values than it held. */
  readonly fresh: ReadonlySet<string>;
  readonly changed: ReadonlySet<string>;
  /** Whole records that were read for them, and calls that could not be had although they were listed. */
  readonly fetched: number;
  readonly unfetched: readonly string[];
  readonly requests: number;
  /** Decoded bytes of all answers. */
  readonly bytes: number;
}

/** Most single calls that are asked for at once; the request budget paces them. */
const parallel = 4;

/**
 * Where the list cannot leave fields out, the listing carries whole records and those are folded as they come.
 * @throws CallsyncError of the source, the store or a failed load; what was folded before stays.
 */
export const readChanged = async (
  deps: ReadDeps,
  input: ReadChangedInput,
  options: { readonly signal: AbortSignal; readonly alive: () => void },
): Promise<SummaryReading> => {
  const { counts, list } = deps.source.list;
  const before = { requests: counts.requests, bytes: counts.bodyBytes };
  const level = input.level === 'light' && !canLeaveOut(list) ? 'full' : input.level;
  const pipeline = createPipeline(deps, input.origin, input.late);
  const survey = await compareListing(
    deps,
    { ...input, level },
    {
      ...options,
      onWorth: (observations) => pipeline.take(observations, []),
    },
  );
  const idsOf = (state: 'new' | 'changed'): Set<string> =>
    new Set([...survey.calls].filter(([, call]) => call.state === state).map(([id]) => id));
  const [fresh, changed] = [idsOf('new'), idsOf('changed')];
  const wanted = new Set([...fresh, ...changed]);
  let fetched = wanted.size;
  let unfetched: readonly string[] = [];
  if (level !== 'full' && wanted.size > 0) {
    unfetched = await fetchWhole(deps, input, { survey, wanted, take: (some) => pipeline.take(some, []) }, options);
    fetched = wanted.size - unfetched.length;
  }
  await pipeline.finish();
  return {
    survey,
    listed: survey.calls.size,
    fresh,
    changed,
    fetched,
    unfetched,
    requests: counts.requests - before.requests,
    bytes: counts.bodyBytes - before.bytes,
  };
};

/** Returns the ids that could not be had. */
const fetchWhole = async (
  deps: ReadDeps,
  input: ReadChangedInput,
  work: {
    readonly survey: ListingComparison;
    readonly wanted: ReadonlySet<string>;
    readonly take: (observations: readonly Observation[]) => Promise<void>;
  },
  options: { readonly signal: AbortSignal; readonly alive: () => void },
): Promise<string[]> => {
  const { survey, wanted, take } = work;
  const client = deps.source.list;
  const single = client.list.single_path !== undefined;
  const left = new Set(wanted);
  const listed = [...survey.calls].map(([callId, { time }]) => ({ callId, time }));
  const plan = isCuttable(axisOf(client.list, input.axis))
    ? planFetches(listed, wanted, {
        pageSize: client.pageSize ?? Number.POSITIVE_INFINITY,
        recordBytes: await meanDocumentBytes(
          deps.store,
          listed.map(({ callId }) => callId),
        ),
        single,
        step: boundStep(client.list),
      })
    : { ids: single ? [...wanted] : [], windows: single ? [] : [input.range] };

  for (const window of plan.windows) {
    await readWindow({
      client,
      window: { axis: input.axis, from: window.from, to: window.to },
      confirm: 'later',
      signal: options.signal,
      onProgress: options.alive,
      onPage: async (observations) => {
        options.alive();
        const asked = observations.filter(({ callId }) => wanted.has(callId));
        for (const { callId } of asked) left.delete(callId);
        await take(asked);
      },
    });
  }
  if (single) await fetchEach(deps, [...left], { take, left, ...options });
  return [...left];
};

/** Fetches calls one by one, several at once; folds them in batches. */
const fetchEach = async (
  deps: ReadDeps,
  ids: readonly string[],
  work: {
    readonly take: (observations: readonly Observation[]) => Promise<void>;
    readonly left: Set<string>;
    readonly signal: AbortSignal;
    readonly alive: () => void;
  },
): Promise<void> => {
  const carries = new Set(deps.source.list.list.carries);
  for (let start = 0; start < ids.length; start += parallel) {
    work.signal.throwIfAborted();
    work.alive();
    const answers = await Promise.all(
      ids.slice(start, start + parallel).map(async (callId) => {
        const found = await deps.source.list.fetchCall(callId, work.signal);
        const observed = found && observeRecord(found.record, { observedAt: found.observedAt, carries });
        return observed?.kind === 'observation' && observed.observation.callId === callId
          ? observed.observation
          : undefined;
      }),
    );
    const observations = answers.filter((observation) => observation !== undefined);
    if (observations.length === 0) continue;
    await work.take(observations);
    for (const { callId } of observations) work.left.delete(callId);
  }
};
