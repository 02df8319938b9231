/** Puts legal holds on calls and takes them off: outside the store first, then in it, then into the chain of receipts. */
import { randomBytes } from 'node:crypto';
import { countOf } from '../../lib/count-of.ts';
import { terminal } from '../../lib/errors.ts';
import { partsOf } from '../../lib/pages.ts';
import type { PurgeScope } from '../../persons/request.ts';
import { leastText } from '../../persons/subjects.ts';
import type { LoggedHold } from '../../store/erasure-log.ts';
import { findKnown } from '../../store/gate.ts';
import { findTombstones } from '../../store/ledger/read-ledger.ts';
import { addHoldKeys, dropHolds, listHolds } from '../../store/persons/keys.ts';
import { addReceipt } from '../../store/persons/receipts.ts';
import { listTextSubjects, purgeTexts } from '../../store/persons/texts.ts';
import { recordEvent } from '../../store/status/events.ts';
import type { Store } from '../../store/store.ts';
import { listUnreplayed } from '../load/replay-erasures.ts';
import { findCalls, selectorKey } from './erase.ts';

interface HoldOptions {
  /** The reason; it must not name a person. */
  readonly reason: string;
  /** Operating system user. */
  readonly actor: string;
}

/** Keys of one line of the log. */
const keysPerLine = 500;

/**
 * From its start on, nothing erases or cuts the calls of the request, nor later calls that name a value. Deletions
 * compare calls with the keys.
 * An interrupted run keeps its progress, and `listHolds` shows it.
 * @throws CallsyncError USAGE_HOLD, ERASURE_LOG, TOMBSTONE_KEY, DATABASE_…
 */
export const addHold = async (store: Store, meant: PurgeScope, { reason, actor }: HoldOptions) => {
  const { kind, values } = meant.request;
  if (values.some((value) => value.length >= leastText && reason.includes(value)))
    throw terminal(
      'USAGE_HOLD',
      'The reason contains one of the values. callsync stores and shows the reason, so it must not name a person.',
      { hint: 'Run the command again with another --reason, such as the number of a case.' },
    );
  const at = new Date().toISOString();
  const hold = { id: randomBytes(4).toString('hex'), kind, reason, actor, at };
  const note = async (keys: readonly string[], what: 'calls' | 'subjects'): Promise<void> => {
    for (const part of partsOf(keys, keysPerLine)) {
      const logged: LoggedHold = { ...hold, calls: [], subjects: [], [what]: part };
      await store.erasures.log.append(store, [{ hold: logged }]);
      await addHoldKeys(store, logged);
    }
  };
  if (kind === 'call') await refuseGone(store, values);
  else await note(meant.subjects.map(store.keyOf), 'subjects');
  const found = await findCalls(store, meant);
  const before = await readGone(store, found);
  await note(found.filter((id) => !before.has(id)).map(store.keyOf), 'calls');
  // Also by parallel erasures, which have ended by now.
  const gone = (await readGone(store, found)).size;
  const calls = found.length - gone;
  const sought = await findKnown(store, kind === 'call' ? [] : meant.own.map(store.keyOf));
  const persons = [...sought.values()].filter(({ erased }) => erased).length;
  const what = `Placed hold ${hold.id} on ${countOf(calls, 'call')}, by ${kind}`;
  await recordEvent(store, { kind: 'hold', what, actor });
  const keys = values.map((value) => selectorKey(store, kind, value));
  return await sign(store, at, { id: hold.id, action: 'put on', kind, reason, actor, keys }, { calls, gone, persons });
};

/**
 * Erasure and retention apply again, also to calls that the hold kept. Texts that name an erased subject go at once.
 * @throws CallsyncError USAGE_HOLD, ERASURE_LOG, DATABASE_…
 */
export const removeHold = async (store: Store, id: string, { reason, actor }: HoldOptions) => {
  const hold = (await listHolds(store)).find((one) => one.id === id);
  if (hold === undefined)
    throw terminal('USAGE_HOLD', 'There is no hold with this name.', {
      hint: 'Run callsync privacy hold list for the names.',
    });
  await store.erasures.log.append(store, [{ unheld: id }]);
  await dropHolds(store, [id]);
  await listTextSubjects(store);
  await purgeTexts(store);
  const { calls, kind } = hold;
  await recordEvent(store, { kind: 'hold', what: `Removed hold ${id} from ${countOf(calls, 'call')}`, actor });
  const at = new Date().toISOString();
  const act: HoldAct = { id, action: 'taken off', kind, reason, actor, keys: [] };
  return await sign(store, at, act, { calls, gone: 0, persons: 0 });
};

type HoldAct = HoldOptions & {
  readonly id: string;
  readonly action: 'put on' | 'taken off';
  readonly kind: string;
  /** A keyed hash of each value; empty when the hold is removed. */
  readonly keys: readonly string[];
};

/**
 * Receipt of a hold: its calls and persons under keyed hashes.
 * @param counts.calls that it names now, or named. @param counts.gone requested calls that were erased before, so nothing of them
 * can be kept. @param counts.persons values of earlier erasures; the number of calls that they erased is unknown.
 */
const sign = async (store: Store, at: string, hold: HoldAct, counts: Record<'calls' | 'gone' | 'persons', number>) => {
  const receipt = { at, hold, ...counts };
  return { ...receipt, proof: await addReceipt(store, receipt) };
};

/** A hold of calls that are all gone would keep nothing, now or later. @throws CallsyncError USAGE_HOLD */
const refuseGone = async (store: Store, ids: readonly string[]): Promise<void> => {
  if ((await readGone(store, ids)).size < new Set(ids).size) return;
  throw terminal('USAGE_HOLD', 'All of these calls were erased before, so there is nothing to hold.', {
    hint: 'Correct the values, if they were mistyped; an erased call cannot be held.',
  });
};

/** Calls that were erased, or that are in the log and will be erased by the next check of the ledger. */
const readGone = async (store: Store, ids: readonly string[]): Promise<ReadonlySet<string>> => {
  const tombstones = await findTombstones(store, ids);
  const unreplayed = await listUnreplayed(store);
  return new Set(ids.filter((id) => tombstones.has(id) || unreplayed.has(store.keyOf(id))));
};
