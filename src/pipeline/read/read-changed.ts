/**
 * Reads a window by a summary listing, and compares every record with the ledger, page by page, so that memory holds ids
 * and not records. Whole records are fetched only for calls that are new or have changed.
 */
import type { Observation } from '../../../schemas/observation.ts';
import type { Range, SourceLevel } from '../../../schemas/orchestration.ts';
import { holdsValues, type LedgerRow, type PreparedObservation } from '../../calls/fold.ts';
import { joinKnown, knownField } from '../../calls/own-fields.ts';
import { intersect } from '../../lib/intervals.ts';
import { parseTimestamp } from '../../lib/timestamps.ts';
import { axesOf, axisOf, canLeaveOut, isCuttable } from '../../source/list/list-query.ts';
import { observeCalls } from '../../source/list/observe-call.ts';
import { readWindow } from '../../source/read/read-window.ts';
import { findHeldCalls, prepare } from '../../store/gate.ts';
import type { LateContext } from '../../store/ledger/late-changes.ts';
import { readHeads, readRows, withKnown } from '../../store/ledger/ledger.ts';
import type { ReadDeps } from '../deps.ts';
import { createPipeline } from '../load/ingest.ts';

interface ReadChangedInput {
  readonly axis: string;
  readonly range: Range;
  /** `full` lists whole records; `ids` compares nothing but presence. */
  readonly level: SourceLevel;
  readonly confirm: 'now' | 'later';
  readonly origin: string;
  readonly late?: LateContext;
}

export type ListingComparison = Awaited<ReturnType<typeof compareListing>>;

/**
 * If the list cannot omit fields, the listing has whole records, which are folded directly.
 * @throws CallsyncError of the source or the store; earlier folds stay
 */
export const readChanged = async (deps: ReadDeps, input: ReadChangedInput, signal: AbortSignal) => {
  const { counts, list } = deps.source.list;
  const before = counts.requests;
  const level = input.level === 'fields' && !canLeaveOut(list) ? 'records' : input.level;
  const pipeline = createPipeline(deps);
  const left = new Set<string>();
  const take = async (observations: readonly Observation[]): Promise<void> => {
    await pipeline.take({ observations, origin: input.origin, late: input.late });
    for (const { observation, state } of await comparePage(deps, observations, 'records'))
      left[state === 'same' ? 'delete' : 'add'](observation.callId);
  };
  const comparison = await compareListing(deps, { ...input, level }, take, signal);
  const idsOf = (is: CallState) =>
    new Set([...comparison.calls].flatMap(([id, { state }]) => (state === is ? id : [])));
  const [fresh, changed] = [idsOf('new'), idsOf('changed')];
  const wanted = new Set([...fresh, ...changed]);
  if (level !== 'records' && wanted.size > 0) await fetchWhole(deps, input, { comparison, wanted, left, take }, signal);
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
    fetched: wanted.size - left.size,
    /** Listed calls whose whole record could not be read, or of which the ledger has other values that it takes for newer. */
    unfetched: [...left],
    requests: counts.requests - before,
  };
};

/** The ids that the service lists in a range, and around it. Undefined where the listing has problems. @throws as `readChanged` */
export const listIds = async (
  deps: ReadDeps,
  { axis, range }: Pick<ReadChangedInput, 'axis' | 'range'>,
  signal: AbortSignal,
) => {
  const ids = new Set<string>();
  const onPage = async (observations: readonly Observation[]): Promise<void> => {
    for (const { callId } of observations) ids.add(callId);
  };
  const options = { window: { axis, ...range }, confirm: 'later', summary: true, signal, onPage } as const;
  const { problems } = await readWindow({ client: deps.source.list, ...options });
  return problems.length > 0 ? undefined : ids;
};

/** Calls that are at most this share of the listed ones are asked for one by one, where that can be done. */
const fewCalls = 0.03;
/** Microseconds. More calls are read in windows of this grid within the range, with all others that are there. */
const cell = 600_000_000;

/** Fills `left` with the wanted calls; `take` empties it. */
const fetchWhole = async (
  deps: ReadDeps,
  input: ReadChangedInput,
  work: {
    readonly comparison: ListingComparison;
    readonly wanted: ReadonlySet<string>;
    readonly left: Set<string>;
    readonly take: (observations: readonly Observation[]) => Promise<unknown>;
  },
  signal: AbortSignal,
): Promise<void> => {
  const { comparison, wanted, left, take } = work;
  const client = deps.source.list;
  const single = client.list.single_path !== undefined;
  for (const callId of wanted) left.add(callId);
  const takeWanted = async (observations: readonly Observation[]): Promise<void> => {
    const asked = observations.filter(({ callId }) => wanted.has(callId));
    if (asked.length > 0) await take(asked);
  };
  const cellOf = (callId: string): Range[] => {
    const time = comparison.calls.get(callId)?.time;
    return time === undefined ? [] : [{ from: Math.floor(time / cell) * cell, to: Math.floor(time / cell + 1) * cell }];
  };
  const isByCall = single && wanted.size <= comparison.calls.size * fewCalls;
  const isCut = isCuttable(axisOf(client.list, input.axis));
  const windows =
    isByCall || (single && !isCut) ? [] : isCut ? intersect([...wanted].flatMap(cellOf), [input.range]) : [input.range];
  for (const range of windows) {
    const window = { axis: input.axis, ...range };
    await readWindow({ client, window, confirm: 'later', signal, onPage: takeWanted });
  }
  if (single)
    for await (const answers of observeCalls(client, [...left], signal))
      await takeWanted([...answers.values()].flatMap((one) => (one.kind === 'observation' ? one.observation : [])));
};

// Compares a listing with the ledger.

/** `same`: the ledger holds every value that was listed. */
type CallState = 'same' | 'new' | 'changed';

interface ComparedCall {
  readonly state: CallState;
  /** Microseconds on the axis; undefined where the record has none. */
  readonly time: number | undefined;
  /** Of a new call: as `time`, on the other axes of the list, if it has any. */
  readonly times?: ReadonlyMap<string, number | undefined>;
}

interface Compared {
  readonly observation: PreparedObservation;
  readonly state: CallState;
  /** Equal values, but listed for the first time, listed again after being missing, or written in another key order. */
  readonly worthNoting: boolean;
}

/**
 * The state of every call that the service lists in a window.
 * @param onWorth takes records that are worth folding unchanged: new or changed whole records, and summaries with new values.
 * @throws CallsyncError of the source or the store.
 */
const compareListing = async (
  deps: ReadDeps,
  input: ReadChangedInput,
  onWorth: (observations: readonly Observation[]) => Promise<unknown>,
  signal: AbortSignal,
) => {
  const others = axesOf(deps.source.list.list).filter(({ name }) => name !== input.axis);
  const { record_field: path } = axisOf(deps.source.list.list, input.axis);
  const calls = new Map<string, ComparedCall>();
  let observedAt = 0;
  const result = await readWindow({
    client: deps.source.list,
    window: { axis: input.axis, ...input.range },
    confirm: input.confirm,
    summary: input.level !== 'records',
    signal,
    onPage: async (observations, meta) => {
      observedAt = Math.max(observedAt, meta.observedAt);
      const worth: Observation[] = [];
      for (const compared of await comparePage(deps, observations, input.level)) {
        const { observation, state, worthNoting } = compared;
        const timeAt = (field: string) => parseTimestamp(observation.fields.at(field));
        const isAsked = state === 'new' && others.length > 0;
        const times = isAsked && new Map(others.map(({ name, record_field }) => [name, timeAt(record_field)]));
        if (!meta.outside.has(observation.callId))
          calls.set(observation.callId, { state, time: timeAt(path), ...(times && { times }) });
        if (worthNoting || (state !== 'same' && !meta.summary)) worth.push(observation);
      }
      if (worth.length > 0) await onWorth(worth);
    },
  });
  return { calls, result, observedAt };
};

const idOf = ({ callId }: Observation): string => callId;

const comparePage = async (deps: ReadDeps, observations: readonly Observation[], level: SourceLevel) => {
  const agedIds = deps.ages === undefined ? [] : observations.map(idOf);
  const held = await findHeldCalls(deps.store, agedIds, deps.store.keyOf);
  const prepared = observations.map((observation) => prepare(deps, observation, held));
  const heads = await readHeads(deps.store, prepared.map(idOf));
  const doubtful = prepared.filter((one) => level !== 'ids' && mayBeEqual(heads.get(one.callId), one));
  const whole = await readRows(deps.store, doubtful.map(idOf));
  return prepared.map((observation): Compared => {
    const head = heads.get(observation.callId);
    if (head === undefined) return { observation, state: 'new', worthNoting: false };
    if (head.tombstone) return { observation, state: 'same', worthNoting: false };
    const byHash = holdsValues(head, observation);
    const row = whole.get(observation.callId) ?? head;
    const known = joinKnown(row.document?.value(knownField), observation.fields.value(knownField));
    const clean = deps.sanitize === undefined ? observation : withKnown(observation, known, deps.sanitize);
    const same = level === 'ids' || byHash || holdsValues(row, clean);
    const firstObservation = head.seenBy.poll === undefined || head.sourceDeletedAt !== null;
    const reordered = level !== 'ids' && same && !byHash;
    return { observation, state: same ? 'same' : 'changed', worthNoting: same && (firstObservation || reordered) };
  });
};

/** If a field has another hash, its value may be the same in another key order. */
const mayBeEqual = (head: LedgerRow | undefined, observation: PreparedObservation): boolean =>
  head !== undefined &&
  !head.tombstone &&
  !holdsValues(head, observation) &&
  Object.keys(observation.hashes).every((name) => Object.hasOwn(head.versions, name));
