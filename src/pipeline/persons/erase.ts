/** Runs an erasure: finds the calls, erases them everywhere, searches again, and signs the receipt. */

import { countOf } from '../../lib/count-of.ts';
import { terminal } from '../../lib/errors.ts';
import { partsOf } from '../../lib/pages.ts';
import { dayMs } from '../../lib/timestamps.ts';
import type { PurgeScope } from '../../persons/request.ts';
import { awaitFolds, findHeldCalls, findKnown, listFreeCalls } from '../../store/gate.ts';
import { countStates, findTombstones } from '../../store/ledger/read-ledger.ts';
import { eraseCalls, findNamingCalls, listSubjects, purgeCalls } from '../../store/persons/calls.ts';
import { addErased } from '../../store/persons/keys.ts';
import * as receipts from '../../store/persons/receipts.ts';
import type { Purged } from '../../store/persons/texts.ts';
import { countTexts, listTextSubjects, purgeNamingBodies, purgeTexts, sumPurged } from '../../store/persons/texts.ts';
import { recordEvent } from '../../store/status/events.ts';
import type { Store } from '../../store/store.ts';
import { type IngestDeps, namesOf, unlessAway, type WarehouseTarget } from '../deps.ts';
import { loadWaiting } from '../load/load-pending.ts';
import { mergeInbox } from '../load/merge-inbox.ts';

/** Ids of the calls of a request. */
export const findCalls = async (store: Store, { request, subjects }: PurgeScope) =>
  request.kind === 'call' ? [...new Set(request.values)] : await findNamingCalls(store, store.index.hashesOf(subjects));

/** Finds and counts only. */
export const previewErasure = async ({ store, targets }: Pick<IngestDeps, 'store' | 'targets'>, meant: PurgeScope) => {
  const at = new Date();
  const ids = await findCalls(store, meant);
  const { stored, tombstones } = await countStates(store, ids);
  return {
    ...describeRequest(store, meant, at),
    dryRun: true,
    calls: ids.length,
    known: stored,
    erasedBefore: tombstones,
    erased: 0,
    held: (await findHeldCalls(store, ids, store.keyOf)).size,
    purged: undefined,
    sealed: 0,
    copies: listCopies(targets, at),
  };
};

interface EraseOptions {
  /** The person objects: calls that come later and name a value in contacts or metadata are not kept either. */
  readonly suppress: boolean;
  /** Erases the calls that no hold keeps; without it a request that means a held one is refused. */
  readonly exceptHeld: boolean;
}

/**
 * Does everything that needs the values. Afterwards the store has none of the person's calls, later records are
 * compared with their keys, and tombstones wait for the warehouses.
 * Returns the name of the request, for `resumeErasure`.
 * @throws CallsyncError ERASURE_HELD, ERASURE_LOG, TOMBSTONE_KEY, DATABASE_…; may be repeated after any of them.
 */
export const beginErasure = async (deps: IngestDeps, meant: PurgeScope, { suppress, exceptHeld }: EraseOptions) => {
  const { store } = deps;
  const at = new Date();
  if (!exceptHeld) await refuseHeld(deps, meant);
  const keys = meant.request.kind === 'call' ? [] : meant.subjects.map(store.keyOf);
  const entries = keys.map((key) => ({ [suppress ? 'objection' : 'person']: key }));
  await store.erasures.log.append(store, entries);
  await addErased(store, keys, suppress);
  await mergeAll(deps);
  const callIds = await findCalls(store, meant);
  const { stored, tombstones } = await countStates(store, callIds);
  const draft: ErasureDraft = {
    ...describeRequest(store, meant, at),
    dryRun: false,
    known: stored,
    erasedBefore: tombstones,
    erased: 0,
    purged: sumPurged(),
  };
  const subjects = meant.request.kind === 'call' ? [] : store.index.hashesOf(meant.subjects);
  const requestId = await receipts.openErasure(store, { draft, callIds, subjects });
  await eraseMeant(deps, requestId, callIds);
  return requestId;
};

/** Calls to erase: not held and not erased yet. The request stores the progress. */
const eraseMeant = async ({ store }: Pick<IngestDeps, 'store'>, requestId: string, callIds: readonly string[]) => {
  const gone = await findTombstones(store, callIds);
  // A call that expired is in no log yet.
  const known = await findKnown(store, Array.from(gone, store.keyOf));
  const left = callIds.filter((id) => !gone.has(id) || known.get(store.keyOf(id))?.erased !== true);
  await eraseCalls(store, left, (tx, { calls, ...purged }) => receipts.notePurged(requestId)(tx, purged, calls));
};

/** @throws CallsyncError ERASURE_HELD where a legal hold keeps one of the calls; nothing is changed then. */
const refuseHeld = async (deps: IngestDeps, meant: PurgeScope): Promise<void> => {
  const { store } = deps;
  await mergeAll(deps);
  const ids = await findCalls(store, meant);
  const held = await findHeldCalls(store, ids, store.keyOf);
  if (held.size === 0) return;
  throw terminal(
    'ERASURE_HELD',
    `${held.size} of the ${ids.length} calls are under a legal hold. callsync erased nothing.`,
  );
};

/** Merges waiting deliveries first: they may bring unknown calls of the person. */
const mergeAll = async (deps: IngestDeps): Promise<void> => {
  while ((await mergeInbox(deps)).more);
};

const describeRequest = (store: Store, { request: { kind, values } }: PurgeScope, at: Date) => ({
  at: at.toISOString(),
  request: { kind, keys: values.map((value) => selectorKey(store, kind, value)) },
});

/** One attempt of the workflow. Counts, and nothing that names a call. */
export const resumeErasure = async (deps: IngestDeps, requestId: string) => {
  const { waiting, receipt } = await finishErasure(deps, requestId, { load: true });
  return { waiting, receiptId: receipt?.proof?.receipt_id ?? null };
};

/**
 * Erases calls that arrived meanwhile, searches everywhere, and signs the receipt if nothing is left. A receipt is
 * signed only once.
 * @param options.load also sends the tombstones to the warehouses.
 * @throws CallsyncError ERASURE_UNKNOWN, PROOF_HEADS, ERASURE_LOG, DATABASE_…
 * `waiting` = warehouses that do not have every tombstone yet; `store` where something of the person is found in it
 * again.
 * `receipt` = undefined while it is not signed.
 */
export const finishErasure = (deps: IngestDeps, requestId: string, options: { readonly load: boolean }) =>
  deps.store.lease.run(`erasure:${requestId}`, async () => {
    const { store, targets } = deps;
    const signed = await receipts.findReceipt<ErasureReceipt>(store, requestId);
    if (signed !== undefined) return { waiting: [], receipt: signed };
    await takeMore(deps, requestId);
    // Tombstones go before all other calls.
    if (options.load) await loadWaiting(deps, 'erase');
    const { draft, callIds, ...open } = await readOpen(store, requestId);
    const gone = [...(await findTombstones(store, callIds))];
    const { found, sealed } = await search(deps, { ...open, callIds: gone });
    const isLate = ({ erased, waiting: unsent, rows }: WarehouseCheck): boolean =>
      erased === null || erased < gone.length || unsent > 0 || rows !== 0;
    const waiting = found.warehouses.filter(isLate).map(({ name }) => name);
    const { warehouses: _warehouses, heldTexts: _held, ...left } = found;
    if (Object.values(left).some((count) => count > 0)) waiting.unshift('store');
    if (waiting.length > 0) return { waiting, receipt: undefined };
    const counts = { calls: callIds.length, held: callIds.length - gone.length };
    const receipt = { ...draft, ...counts, requestId, sealed, found, copies: listCopies(targets, new Date()) };
    const proved = { ...receipt, proof: await receipts.addReceipt(store, receipt) };
    await recordEvent(store, { kind: 'erasure', what: `Erased ${countOf(gone.length, 'call')}`, actor: null });
    await receipts.closeErasure(store, requestId);
    return { waiting, receipt: proved };
  });

/** Carries erasures to their end that have waited for long: the command of one may have been killed before a workflow had it. */
export const finishOldErasures = async (deps: IngestDeps): Promise<void> => {
  for (const requestId of await receipts.listOldErasures(deps.store))
    await finishErasure(deps, requestId, { load: false });
};

const readOpen = async (store: Store, requestId: string) => {
  const open = await receipts.readOpenErasure<ErasureDraft>(store, requestId);
  if (open !== undefined) return open;
  throw terminal('ERASURE_UNKNOWN', 'The store has no erasure with this name.');
};

/**
 * All folds that did not know the keys have ended, so a search finds their calls. Calls from a replay meanwhile are
 * erased too, and texts.
 */
const takeMore = async (deps: IngestDeps, requestId: string): Promise<void> => {
  const { store } = deps;
  const { callIds, subjects, openedAt } = await readOpen(store, requestId);
  const note = receipts.notePurged(requestId);
  await awaitFolds(store, async () => undefined);
  await listTextSubjects(store);
  await purgeTexts(store, note);
  const meant = new Set(callIds);
  const more = (await findNamingCalls(store, subjects, openedAt)).filter((id) => !meant.has(id));
  await store.transaction((tx) =>
    receipts.changeErasure<ErasureDraft>(tx, requestId, ({ draft }) => ({
      draft: { ...draft, known: draft.known + more.length },
      callIds: [...callIds, ...more],
    })),
  );
  await eraseMeant(deps, requestId, [...callIds, ...more]);
  await purgeCalls(store, [...(await findTombstones(store, callIds))], note);
  await purgeNamingBodies(store, subjects, openedAt, note);
};

/** Erases unheld data: ledger, deliveries, rereads and texts by id and subject, warehouses by id. */
const search = async (
  deps: Pick<IngestDeps, 'log' | 'store' | 'targets'>,
  { callIds, subjects, openedAt }: Omit<receipts.OpenErasure<unknown>, 'draft'>,
) => {
  const { store, targets } = deps;
  const named = await findNamingCalls(store, subjects, openedAt);
  const alive = await listFreeCalls(store, [...new Set([...callIds, ...named])], store);
  const left = await receipts.countLeft(store, callIds, alive);
  const { heldTexts, sealed, ...texts } = await countTexts(store, [...subjects, ...store.index.hashesOf(callIds)]);
  const sent = await receipts.readSent(store, { warehouses: namesOf({ targets }), callIds, openedAt });
  const keys = callIds.map(store.keyOf);
  const warehouses: WarehouseCheck[] = [];
  for (const { warehouse } of targets) {
    const { name } = warehouse;
    const { waiting = 0, dates } = sent.get(name) ?? {};
    const [erased, rows] = await Promise.all([
      unlessAway(deps, warehouse, 'tombstones could not be counted', () => countTombstones(warehouse, keys)),
      unlessAway(deps, warehouse, 'rows could not be searched', () => warehouse.proof.rowsLeft(callIds, dates)),
    ]);
    warehouses.push({ name, erased: erased ?? null, waiting, rows: rows ?? null });
    sent.delete(name);
  }
  for (const [name, { waiting }] of sent) warehouses.push({ name, erased: null, waiting, rows: null });
  const lost = subjects.length === 0 ? [] : await listSubjects(store);
  return { found: { ...left, ...texts, heldTexts, warehouses }, sealed: sealed + lost.length };
};

const keysPerStatement = 500;

/** By keyed hashes, so that no call id gets into the warehouse's statement log. */
const countTombstones = async (warehouse: WarehouseTarget['warehouse'], keys: readonly string[]): Promise<number> => {
  let erased = 0;
  for (const part of partsOf(keys, keysPerStatement)) {
    const list = part.map((key) => `'${key}'`);
    const rows = await warehouse.query(`SELECT call_key FROM tombstones WHERE call_key IN (${list.join(', ')})`);
    erased += rows.length;
  }
  return erased;
};

export interface ErasureReceipt {
  readonly at: string;
  /** Kind of the request, and a keyed hash of each of its values: nothing that names the person. */
  readonly request: { readonly kind: string; readonly keys: readonly string[] };
  readonly dryRun: boolean;
  /** Name of the request, by which `callsync privacy receipt` finds it; a dry run has none. */
  readonly requestId?: string;
  /** Calls that the request means. */
  readonly calls: number;
  /** Calls that were stored before; absent in older receipts. Calls that were neither stored nor erased are unknown. */
  readonly known?: number;
  /** Calls that were erased before, or had expired; absent in older receipts. */
  readonly erasedBefore?: number;
  /** Calls that became tombstones now, including unknown ones. */
  readonly erased: number;
  /** Calls under a legal hold. */
  readonly held: number;
  /** Undefined for a dry run, as `found`. */
  readonly purged?: Purged;
  /** Records in quarantine that only the holder of the private key can look into, and calls whose documents are lost. */
  readonly sealed: number;
  /** Counts of unheld data after the erasure; all are 0, or the receipt is not signed. `heldTexts`: those that a hold keeps. */
  readonly found?: Awaited<ReturnType<typeof search>>['found'];
  /** Copies that platforms keep for a while, and until when; `until` is null where only its own settings say so. */
  readonly copies: readonly PlatformCopy[];
  /** Place of the receipt in the chain that `callsync verdicts` checks; a dry run has none. */
  readonly proof?: receipts.ReceiptProof;
}

interface WarehouseCheck {
  readonly name: string;
  /** Calls whose tombstone the warehouse has, and whose rows the same commit removed. Null if the warehouse did not answer. */
  readonly erased: number | null;
  /** Calls whose tombstone the warehouse does not have yet. */
  readonly waiting: number;
  /** Rows that any of its tables has of the calls, by a search for their ids. Null where it did not answer. */
  readonly rows: number | null;
}

type PlatformCopy = { readonly of: string; readonly until: string | null; readonly why: string };

/** Content of the receipt before its signature. */
type ErasureDraft = Required<
  Pick<ErasureReceipt, 'at' | 'dryRun' | 'erased' | 'erasedBefore' | 'known' | 'purged' | 'request'>
>;

/** @param at when the last tombstones were loaded. */
export const listCopies = (targets: readonly WarehouseTarget[], at: Date): PlatformCopy[] => [
  {
    of: 'store',
    until: null,
    why: 'PostgreSQL keeps deleted rows until VACUUM, its write-ahead log and backups for as long as they are configured; the ledger keeps the id of each erased call, so that the call cannot come back',
  },
  {
    of: 'dbt',
    until: null,
    why: 'models of calls in the package are views and hold no copy; a table that you build of such a model (callsync_incremental, +materialized: table, or a model of your own) keeps its rows until its next build',
  },
  ...targets.map(({ warehouse: { name, traits } }) => {
    const { days, why } = traits.keepsDeleted;
    return { of: name, until: days === null ? null : new Date(at.getTime() + days * dayMs).toISOString(), why };
  }),
];

/** All forms of a value in the receipt. */
export const selectorKey = (store: Store, kind: string, value: string): string => store.keyOf(`${kind}\0${value}`);
