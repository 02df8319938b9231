/** Puts legal holds on calls and takes them off: outside the store first, then in it, then into the chain of receipts. */
import { randomBytes } from 'node:crypto';
import { metadataSubject } from '../../calls/subject-text.ts';
import { countOf } from '../../count-of.ts';
import { terminal } from '../../errors.ts';
import type { LoggedHold } from '../../store/erasure-log.ts';
import { countNoted } from '../../store/ledger/erased-keys.ts';
import { withoutDeletions } from '../../store/ledger/hold-lock.ts';
import { addHoldKeys, dropHolds, listHolds } from '../../store/ledger/holds.ts';
import { findTombstones } from '../../store/ledger/ledger-windows.ts';
import { recordEvent } from '../../store/status/events.ts';
import type { Store } from '../../store/store.ts';
import { addReceipt, type ReceiptProof } from '../../store/windows/receipts.ts';
import type { Proof } from '../../store/windows/verdicts.ts';
import { listUnreplayed } from '../load/replay-erasures.ts';
import { findCalls } from './erase-request.ts';
import { type Comparison, type ErasureRequest, leastText } from './match-calls.ts';
import { selectorKey } from './receipt.ts';

/** What is told of a hold: its calls and persons under keyed hashes. */
export interface HoldReceipt {
  readonly at: string;
  readonly hold: {
    readonly id: string;
    readonly action: 'put on' | 'taken off';
    readonly kind: string;
    readonly reason: string;
    readonly actor: string;
    /** A keyed hash of each value; of one that is taken off none. */
    readonly keys: readonly string[];
  };
  /** Calls that it names now, or named. */
  readonly calls: number;
  /** Calls that are meant and had been erased before: nothing can be kept of them. */
  readonly gone: number;
  /** Numbers of which an erasure was asked for before: nothing tells how many calls it took. */
  readonly persons: number;
  readonly proof: ReceiptProof;
}

export interface HoldOptions {
  readonly comparison: Comparison;
  /** The text of a value that names a person, as for erasures. */
  readonly personOf: (kind: 'phone' | 'metadata', value: string) => string;
  /** Why, in words that name nobody. */
  readonly reason: string;
  /** Operating system user. */
  readonly actor: string;
  /** Where the receipt is signed. */
  readonly proof: Proof;
  readonly onProgress?: (seen: number) => void;
}

/** Keys of one line of the log. */
const keysPerLine = 500;

/**
 * From its beginning on, nothing erases or ages the calls that the request means; later calls are held that name a value in contacts
 * or metadata. What an interrupted run has noted stays on: `listHolds` has it.
 * @throws CallsyncError USAGE_HOLD, ERASURE_LOG, TOMBSTONE_KEY, DATABASE_…
 */
export const addHold = async (store: Store, request: ErasureRequest, options: HoldOptions): Promise<HoldReceipt> => {
  const { reason, actor } = options;
  if (request.values.some((value) => value.length >= leastText && reason.includes(value))) {
    throw terminal('USAGE_HOLD', 'The reason holds one of the values: it is stored and shown, so it must name nobody.');
  }
  const { kind } = request;
  const at = new Date().toISOString();
  const hold = { id: randomBytes(4).toString('hex'), kind, reason, actor, at };
  const note = async (keys: Pick<LoggedHold, 'calls' | 'subjects'>): Promise<void> => {
    const logged = { ...hold, ...keys };
    await store.erasures.log.appendHold(logged);
    await addHoldKeys(store, logged);
  };
  const { calls, gone } = await withoutDeletions(store, async () => {
    if (kind === 'call') await refuseGone(store, request.values);
    const named = listSubjects(request, options).map(store.keyOf);
    // A hold without a key is noted too: it is listed, and can be taken off.
    for (const subjects of named.length === 0 ? [[]] : pagesOf(named)) await note({ calls: [], subjects });
    const found = await findCalls(store, request, options.comparison, options.onProgress);
    const isGone = await readGone(store, found);
    const left = found.filter((id) => !isGone.has(id));
    for (const keys of pagesOf(left.map(store.keyOf))) await note({ calls: keys, subjects: [] });
    return { calls: left.length, gone: isGone.size };
  });
  const persons = await countSought(store, request, options.personOf);
  await recordEvent(store, {
    kind: 'hold',
    what: `Hold ${hold.id} put on ${countOf(calls, 'call')}, by ${kind}`,
    actor,
  });
  const keys = request.values.map((value) => selectorKey(store, kind, value));
  const receipt = {
    at,
    hold: { id: hold.id, action: 'put on' as const, kind, reason, actor, keys },
    calls,
    gone,
    persons,
  };
  return { ...receipt, proof: await addReceipt(store, options.proof, receipt) };
};

/** Erasures and ages act again, on what the hold kept too. @throws CallsyncError USAGE_HOLD, ERASURE_LOG, DATABASE_… */
export const removeHold = async (
  store: Store,
  id: string,
  { reason, actor, proof }: Pick<HoldOptions, 'actor' | 'proof' | 'reason'>,
): Promise<HoldReceipt> => {
  const hold = (await listHolds(store)).find((one) => one.id === id);
  if (hold === undefined) {
    throw terminal('USAGE_HOLD', 'There is no hold of this name.', { hint: 'See callsync privacy hold list.' });
  }
  await store.erasures.log.appendUnheld(id);
  await dropHolds(store, [id]);
  const { calls, kind } = hold;
  await recordEvent(store, { kind: 'hold', what: `Hold ${id} taken off ${countOf(calls, 'call')}`, actor });
  const receipt = {
    at: new Date().toISOString(),
    hold: { id, action: 'taken off' as const, kind, reason, actor, keys: [] },
    calls,
    gone: 0,
    persons: 0,
  };
  return { ...receipt, proof: await addReceipt(store, proof, receipt) };
};

/** A hold of calls that are all gone would keep nothing, now or later. @throws CallsyncError USAGE_HOLD */
const refuseGone = async (store: Store, ids: readonly string[]): Promise<void> => {
  if ((await readGone(store, ids)).size < new Set(ids).size) return;
  throw terminal('USAGE_HOLD', 'All of these calls were erased before: nothing is left of them to be kept.');
};

/** Those of some calls that were erased before the hold was on, by erasures that ran beside it too: they are over by now. */
const readGone = async (store: Store, ids: readonly string[]): Promise<ReadonlySet<string>> => {
  const tombstones = await findTombstones(store, ids);
  const unreplayed = await listUnreplayed(store);
  return new Set(ids.filter((id) => tombstones.has(id) || unreplayed.has(store.keyOf(id))));
};

/** Numbers of which an erasure was asked for before. A value of metadata was noted without its key, so that nothing is told of it. */
const countSought = async (
  store: Store,
  { kind, values }: ErasureRequest,
  personOf: HoldOptions['personOf'],
): Promise<number> =>
  kind === 'phone'
    ? await countNoted(
        store,
        values.map((value) => store.keyOf(personOf(kind, value))),
      )
    : 0;

/** What names later calls of a person, also by the tokens that rules make of the values. */
const listSubjects = (
  request: ErasureRequest,
  { personOf, comparison }: Pick<HoldOptions, 'comparison' | 'personOf'>,
): string[] => {
  if (request.kind === 'call') return [];
  const tokens = request.values.flatMap(comparison.tokensOf);
  if (request.kind === 'phone') {
    return [
      ...request.values.map((value) => personOf('phone', value)),
      ...tokens.map((token) => personOf('metadata', token)),
    ];
  }
  const values = [...request.values, ...tokens];
  // Texts that belong to no call are searched for what is no part of anything else.
  const long = values.filter((value) => value.length >= leastText);
  return [
    ...values.map((value) => metadataSubject(request.key, value)),
    ...long.map((value) => personOf('metadata', value)),
  ];
};

function* pagesOf(keys: readonly string[]): Generator<readonly string[]> {
  for (let start = 0; start < keys.length; start += keysPerLine) yield keys.slice(start, start + keysPerLine);
}
