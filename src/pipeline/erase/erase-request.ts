/** Carries out a request to erase: finds the calls, erases them everywhere, and says what was done. */
import { terminal } from '../../errors.ts';
import { countSealed, findNamedTexts, type Purged } from '../../store/delivery/purge.ts';
import { eraseCalls } from '../../store/erasure/erase.ts';
import { openErasure } from '../../store/erasure/erasure-requests.ts';
import { listCallIds, notePersons } from '../../store/ledger/erased-keys.ts';
import { findHeldCalls, haveHolds } from '../../store/ledger/holds.ts';
import { readDocuments, type StoredDocument } from '../../store/ledger/ledger.ts';
import { countStates } from '../../store/ledger/ledger-windows.ts';
import { findIndexed, indexOthers } from '../../store/ledger/subject-index.ts';
import type { Store } from '../../store/store.ts';
import type { Proof } from '../../store/windows/verdicts.ts';
import type { WarehouseTarget } from '../deps.ts';
import { listRequestSubjects } from './call-subjects.ts';
import { countMeantTexts, purgeMeantTexts } from './erase-texts.ts';
import { signErasure } from './finish-erasure.ts';
import { type Comparison, createMatcher, createTextMatcher, type ErasureRequest, leastText } from './match-calls.ts';
import { type ErasureDraft, type ErasureReceipt, listCopies, selectorKey } from './receipt.ts';

/**
 * Ids of the calls that a request means. Where there is an index, it names those that may be meant, and calls that it does not know
 * yet are read and noted first; else, and for values that may be a part of any text, the whole ledger is read.
 * @param onProgress told of calls that were looked at so far.
 */
export const findCalls = async (
  store: Store,
  request: ErasureRequest,
  comparison: Comparison,
  onProgress: (seen: number) => void = () => undefined,
): Promise<string[]> => {
  if (request.kind === 'call') return [...new Set(request.values)];
  const matches = createMatcher(request, comparison);
  const found = new Set<string>();
  let seen = 0;
  for await (const { read, calls } of readCandidates(store, listRequestSubjects(request, comparison))) {
    for (const { callId, document } of calls) if (matches(document)) found.add(callId);
    seen += read;
    onProgress(seen);
  }
  return [...found];
};

interface Candidates {
  /** Calls that were looked at for them. */
  readonly read: number;
  readonly calls: readonly StoredDocument[];
}

/** Every call that has one of the subjects is among them. */
async function* readCandidates(store: Store, subjects: readonly string[] | undefined): AsyncGenerator<Candidates> {
  const { index } = store.erasures;
  if (index === undefined || subjects === undefined) {
    for await (const page of listCallIds(store))
      yield* readAlive(
        store,
        page.flatMap(({ id, tombstone }) => (tombstone ? [] : [id])),
      );
    return;
  }
  // Before and after: a fold may take a call out of the index behind the place up to which others are read.
  const before = await findIndexed(store, index, subjects);
  yield* readAlive(store, before);
  const hashes = new Set(subjects.map(index.hashOf));
  for await (const page of indexOthers(store, index))
    yield { read: page.length, calls: page.filter((call) => call.hashes.some((hash) => hashes.has(hash))) };
  const read = new Set(before);
  const after = await findIndexed(store, index, subjects);
  yield* readAlive(
    store,
    after.filter((id) => !read.has(id)),
  );
}

async function* readAlive(store: Store, ids: readonly string[]): AsyncGenerator<Candidates> {
  for (let start = 0; start < ids.length; start += rowsAtOnce) {
    const calls = await readDocuments(store, 'call_id = ANY($1)', [ids.slice(start, start + rowsAtOnce)]);
    yield { read: calls.length, calls };
  }
}

/** Documents in memory at once. */
const rowsAtOnce = 200;

/** What came in while calls were erased is searched again, this often at most. */
const mostRounds = 5;

interface Carried {
  /** Calls that are tombstones now. */
  readonly ids: readonly string[];
  /** Calls that a hold keeps. */
  readonly held: readonly string[];
  readonly erased: number;
  /** Of the erased, those that were never seen. */
  readonly unseen: number;
  readonly purged: Purged;
}

/**
 * Erases, and looks again until nothing more is found: deliveries that came meanwhile may have brought other calls of the
 * person. Calls that were erased in a run that was interrupted are tombstones; their deliveries went with them. A hold that is put on
 * meanwhile keeps those of its calls that are not erased yet.
 */
const eraseAll = async (
  store: Store,
  names: readonly string[],
  merge: () => Promise<void>,
  find: () => Promise<readonly string[]>,
): Promise<Carried> => {
  const ids = new Set<string>();
  const seen = new Set<string>();
  let erased = 0;
  let unseen = 0;
  let purged: Purged = { inbox: 0, quarantine: 0, rereads: 0, frames: 0, aliases: 0 };
  for (let round = 0; round < mostRounds; round += 1) {
    await merge();
    const meant = await find();
    const texts = await findNamedTexts(
      store,
      meant.filter((id) => !seen.has(id)),
      store,
    );
    let fresh = 0;
    for (let start = 0; start < meant.length; start += rowsAtOnce) {
      const page = meant.slice(start, start + rowsAtOnce);
      const { calls, unseen: strange, ids: gone, ...taken } = await eraseCalls(store, page, names, texts);
      fresh += calls;
      unseen += strange;
      purged = addPurged(purged, taken);
      for (const id of gone) ids.add(id);
    }
    for (const id of meant) seen.add(id);
    erased += fresh;
    if (fresh === 0) break;
  }
  return { ids: [...ids], held: [...seen].filter((id) => !ids.has(id)), erased, unseen, purged };
};

const addPurged = (a: Purged, b: Purged): Purged => ({
  inbox: a.inbox + b.inbox,
  quarantine: a.quarantine + b.quarantine,
  rereads: a.rereads + b.rereads,
  frames: a.frames + b.frames,
  aliases: a.aliases + b.aliases,
});

/** Of two runs: the second meets again what is held, and no call that the first has erased. */
const joinCarried = (first: Carried, second: Carried): Carried => ({
  ids: [...new Set([...first.ids, ...second.ids])],
  held: second.held,
  erased: first.erased + second.erased,
  unseen: first.unseen + second.unseen,
  purged: addPurged(first.purged, second.purged),
});

/** @throws CallsyncError ERASURE_HELD where a legal hold keeps one of the calls; nothing is changed then. */
const refuseHeld = async (
  store: Store,
  merge: () => Promise<void>,
  find: () => Promise<readonly string[]>,
): Promise<void> => {
  if (!(await haveHolds(store))) return;
  await merge();
  const meant = await find();
  const held = await findHeldCalls(store, meant, store.keyOf);
  if (held.size === 0) return;
  throw terminal(
    'ERASURE_HELD',
    `${held.size} of the ${meant.length} calls that are meant are under a legal hold. Nothing was erased.`,
    { hint: 'See callsync privacy hold list; with --except-held the others are erased.' },
  );
};

/** From now on no text that names them is kept in quarantine, and a restore of the store finds such texts again. */
const notePersonsOf = async (
  store: Store,
  request: ErasureRequest,
  { personOf, comparison, keepOut }: Pick<BeginOptions, 'comparison' | 'keepOut' | 'personOf'>,
): Promise<void> => {
  if (request.kind === 'call') return;
  const { kind, values } = request;
  // A shorter value may be a part of anything.
  const long = values.filter((value) => value.length >= leastText);
  const named = long.map((value) => personOf(kind, value));
  const tokens = long.flatMap(comparison.tokensOf).map((token) => personOf('metadata', token));
  const keys = [...named, ...tokens].map(store.keyOf);
  await store.erasures.log.append(keepOut ? 'objection' : 'person', keys);
  await notePersons(store, keys, { objects: keepOut });
};

export interface BeginOptions {
  readonly comparison: Comparison;
  /** The text of a value that names a person, of which the erasure log holds a keyed hash. */
  readonly personOf: (kind: 'phone' | 'metadata', value: string) => string;
  /** The person objects: calls that come later and name a value in contacts or metadata are not kept either. */
  readonly keepOut: boolean;
  /** Erases the calls that no hold keeps; without it a request that means a held one is refused. */
  readonly exceptHeld: boolean;
  /** Brings what waits in the inbox into the ledger: it belongs to calls too, which are not known before. */
  readonly merge: () => Promise<void>;
  readonly onProgress?: (seen: number) => void;
}

interface Parts {
  readonly store: Store;
  readonly targets: readonly WarehouseTarget[];
}

/** Finds and counts only. */
export const previewErasure = async (
  { store, targets }: Parts,
  request: ErasureRequest,
  { comparison, onProgress }: Pick<BeginOptions, 'comparison' | 'onProgress'>,
): Promise<ErasureReceipt> => {
  const at = new Date();
  const meant = await findCalls(store, request, comparison, onProgress);
  const { stored, tombstones } = await countStates(store, meant);
  return {
    ...describeRequest(store, request, at),
    dryRun: true,
    calls: meant.length,
    known: stored,
    erasedBefore: tombstones,
    erased: 0,
    held: (await findHeldCalls(store, meant, store.keyOf)).size,
    purged: undefined,
    sealed: 0,
    found: undefined,
    copies: listCopies(targets, at),
  };
};

/**
 * Everything that needs the values: from its end on the person is gone from the store, and tombstones wait for the
 * warehouses. Returns the name of the request, which `finishErasure` carries to its receipt.
 * @throws CallsyncError ERASURE_HELD, HOLD_UNDER_WAY, ERASURE_LOG, TOMBSTONE_KEY, DATABASE_…; may be repeated after any of them.
 */
export const beginErasure = async (
  { store, targets }: Parts,
  request: ErasureRequest,
  options: BeginOptions,
): Promise<string> => {
  const { comparison, merge } = options;
  const names = targets.map(({ warehouse }) => warehouse.name);
  const find = () => findCalls(store, request, comparison, options.onProgress);
  const described = describeRequest(store, request, new Date());
  if (!options.exceptHeld) await refuseHeld(store, merge, find);
  await notePersonsOf(store, request, options);
  const isMeant = request.kind === 'call' ? undefined : createTextMatcher(request, comparison);
  const eraseOnce = async (): Promise<Carried> => {
    const carried = await eraseAll(store, names, merge, find);
    const taken = await purgeMeantTexts(store, { isMeant, callIds: carried.ids });
    return { ...carried, purged: addPurged(carried.purged, { inbox: 0, rereads: 0, ...taken }) };
  };
  const first = await eraseOnce();
  // A replay may have made a call of a text after calls were searched for, and before the text was taken.
  const isReplayed = isMeant !== undefined && first.purged.quarantine > 0;
  const { ids, held, erased, unseen, purged } = isReplayed ? joinCarried(first, await eraseOnce()) : first;
  const kept = await countStates(store, held);
  const draft: ErasureDraft = {
    ...described,
    dryRun: false,
    calls: ids.length + held.length,
    known: erased - unseen + kept.stored,
    erasedBefore: ids.length - erased + kept.tombstones,
    erased,
    held: held.length,
    purged,
    sealed: await countSealed(store),
    texts: await countMeantTexts(store, { isMeant, callIds: ids }),
  };
  return await openErasure(store, { draft, callIds: ids });
};

export interface EraseOptions extends BeginOptions {
  readonly dryRun: boolean;
  /** Sends the tombstones to every warehouse that takes them now; the others get them later. */
  readonly load: () => Promise<void>;
  /** Where the receipt is signed. */
  readonly proof: Proof;
}

/** The whole of it in this process: the receipt says which warehouses still wait. @throws CallsyncError as `beginErasure` */
export const eraseRequest = async (
  parts: Parts,
  request: ErasureRequest,
  options: EraseOptions,
): Promise<ErasureReceipt> => {
  if (options.dryRun) return await previewErasure(parts, request, options);
  const requestId = await beginErasure(parts, request, options);
  await options.load();
  return await signErasure({ ...parts, proof: options.proof }, requestId);
};

const describeRequest = (store: Store, { kind, values }: ErasureRequest, at: Date) => ({
  at: at.toISOString(),
  request: { kind, keys: values.map((value) => selectorKey(store, kind, value)) },
});
