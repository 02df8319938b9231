/** Reads a window by a summary listing: whole records are fetched only for calls that are new or have changed. */
import type { Observation } from '../../../schemas/observation.ts';
import type { Range } from '../../../schemas/orchestration.ts';
import { unite } from '../../lib/intervals.ts';
import { axisOf, canLeaveOut, isCuttable } from '../../source/list/list-query.ts';
import { observeCalls } from '../../source/list/observe-call.ts';
import { readWindow } from '../../source/read/read-window.ts';
import type { LateContext } from '../../store/ledger/late-changes.ts';
import type { ReadDeps } from '../deps.ts';
import { createPipeline } from '../load/ingest.ts';
import { compareListing, type ListingComparison } from './compare-listing.ts';

type CompareListingInput = Parameters<typeof compareListing>[1];

interface ReadChangedInput extends CompareListingInput {
  readonly origin: string;
  readonly late?: LateContext;
}

/**
 * If the list cannot omit fields, the listing has whole records, which are folded directly.
 * @throws CallsyncError of the source or the store; earlier folds stay
 */
export const readChanged = async (deps: ReadDeps, input: ReadChangedInput, signal: AbortSignal) => {
  const { counts, list } = deps.source.list;
  const before = counts.requests;
  const level = input.level === 'fields' && !canLeaveOut(list) ? 'records' : input.level;
  const pipeline = createPipeline(deps);
  const { origin, late } = input;
  const take = (observations: readonly Observation[]) => pipeline.take({ observations, origin, late });
  const comparison = await compareListing(deps, { ...input, level }, take, signal);
  const [fresh, changed] = (['new', 'changed'] as const).map(
    (state) => new Set([...comparison.calls].filter(([, call]) => call.state === state).map(([id]) => id)),
  ) as [Set<string>, Set<string>];
  const wanted = new Set([...fresh, ...changed]);
  const isWhole = level === 'records' || wanted.size === 0;
  const unfetched = isWhole ? [] : await fetchWhole(deps, input, { comparison, wanted, take }, signal);
  await pipeline.finish();
  return {
    comparison,
    /** Level of the comparison, which is that of whole records where the list cannot omit fields. */
    level,
    /** Calls of the window that the service listed. */
    listed: comparison.calls.size,
    /** Listed calls that are new to the ledger. */
    fresh,
    /** Listed calls of which the ledger held other values. */
    changed,
    /** Whole records that were read. */
    fetched: wanted.size - unfetched.length,
    /** Calls whose whole record could not be read although they were listed. */
    unfetched,
    requests: counts.requests - before,
  };
};

/** Calls that are at most this share of the listed ones are asked for one by one, where that can be done. */
const fewCalls = 0.1;
/** Microseconds. More calls are read in windows of this grid, with all others that are there. */
const cell = 600_000_000;

/** Returns the ids of the calls that the service did not give. */
const fetchWhole = async (
  deps: ReadDeps,
  input: ReadChangedInput,
  work: {
    readonly comparison: ListingComparison;
    readonly wanted: ReadonlySet<string>;
    readonly take: (observations: readonly Observation[]) => Promise<unknown>;
  },
  signal: AbortSignal,
): Promise<string[]> => {
  const { comparison, wanted, take } = work;
  const client = deps.source.list;
  const single = client.list.single_path !== undefined;
  const left = new Set(wanted);
  const takeWanted = async (observations: readonly Observation[]): Promise<void> => {
    const asked = observations.filter(({ callId }) => wanted.has(callId));
    for (const { callId } of asked) left.delete(callId);
    if (asked.length > 0) await take(asked);
  };
  const cellOf = (callId: string): Range[] => {
    const time = comparison.calls.get(callId)?.time;
    return time === undefined ? [] : [{ from: Math.floor(time / cell) * cell, to: Math.floor(time / cell + 1) * cell }];
  };
  const isByCall = single && wanted.size <= comparison.calls.size * fewCalls;
  const isCut = isCuttable(axisOf(client.list, input.axis));
  const windows = isByCall || (single && !isCut) ? [] : isCut ? unite([...wanted].flatMap(cellOf)) : [input.range];
  for (const range of windows) {
    const window = { axis: input.axis, ...range };
    await readWindow({ client, window, confirm: 'later', signal, onPage: takeWanted });
  }
  if (single) {
    for await (const answers of observeCalls(client, [...left], signal)) {
      const found = [...answers.values()].filter((answer) => answer.kind === 'observation');
      await takeWanted(found.map(({ observation }) => observation));
    }
  }
  return [...left];
};
