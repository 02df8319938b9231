/** Lists a window and compares every record with the ledger, page by page, so that memory holds ids and not records. */
import type { Observation } from '../../../schemas/observation.ts';
import type { Range, SourceLevel } from '../../../schemas/orchestration.ts';
import { holdsValues, type LedgerRow, type PreparedObservation } from '../../calls/fold.ts';
import { joinKnown, knownField } from '../../calls/known.ts';
import { axisTime } from '../../source/list/list-query.ts';
import { readWindow } from '../../source/read/read-window.ts';
import { findHeldCalls, tryPrepare } from '../../store/gate.ts';
import { readHeads, readRows, withKnown } from '../../store/ledger/ledger.ts';
import type { ReadDeps } from '../deps.ts';

/** `same`: the ledger holds every value that was listed. */
type CallState = 'same' | 'new' | 'changed';

interface ComparedCall {
  readonly state: CallState;
  /** Microseconds on the axis; undefined where the record has none. */
  readonly time: number | undefined;
}

export type ListingComparison = Awaited<ReturnType<typeof compareListing>>;

interface CompareListingInput {
  readonly axis: string;
  readonly range: Range;
  /** `full` lists whole records; `ids` compares nothing but presence. */
  readonly level: SourceLevel;
  readonly confirm: 'now' | 'later';
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
export const compareListing = async (
  deps: ReadDeps,
  input: CompareListingInput,
  onWorth: (observations: readonly Observation[]) => Promise<unknown>,
  signal: AbortSignal,
) => {
  const { list } = deps.source.list;
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
        if (!meta.outside.has(observation.callId))
          calls.set(observation.callId, { state, time: axisTime(list, input.axis, observation.fields) });
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
  const prepared = observations
    .map((observation) => tryPrepare(deps, observation, held))
    .filter((observation) => observation !== undefined);
  const heads = await readHeads(deps.store, prepared.map(idOf));
  const doubtful = prepared.filter((one) => level !== 'ids' && mayBeEqual(heads.get(one.callId), one));
  const whole = await readRows(deps.store, doubtful.map(idOf));
  return prepared.map((observation): Compared => {
    const head = heads.get(observation.callId);
    if (head === undefined) return { observation, state: 'new', worthNoting: false };
    if (head.tombstone) return { observation, state: 'same', worthNoting: false };
    const byHash = holdsValues(head, observation);
    const row = whole.get(observation.callId) ?? head;
    const known = joinKnown(row.document?.[knownField], observation.fields[knownField]);
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
