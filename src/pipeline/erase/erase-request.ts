/** Carries out a request to erase: finds the calls, erases them everywhere, and says what was done. */
import { createHmac } from 'node:crypto';
import { countSealed, type Purged, purgeTexts } from '../../store/delivery/purge.ts';
import { eraseCalls } from '../../store/erasure/erase.ts';
import { listCallIds, notePersons } from '../../store/ledger/erased-keys.ts';
import { readRows } from '../../store/ledger/ledger.ts';
import type { Store } from '../../store/store.ts';
import { addReceipt, type ReceiptProof } from '../../store/windows/receipts.ts';
import type { Proof } from '../../store/windows/verdicts.ts';
import type { WarehouseTarget } from '../deps.ts';
import { type Comparison, createMatcher, createTextMatcher, type ErasureRequest, leastText } from './match-calls.ts';
import { type ErasureCheck, verifyErasure } from './verify-erasure.ts';

export interface ErasureReceipt {
  readonly at: string;
  /** Kind of the request, and a keyed hash of each of its values: nothing that names the person. */
  readonly request: { readonly kind: string; readonly keys: readonly string[] };
  readonly dryRun: boolean;
  /** Calls that the request means. */
  readonly calls: number;
  /** Of them, those that were not erased before. */
  readonly erased: number;
  readonly purged: Purged | undefined;
  /** Records in quarantine that only the holder of the private key can look into. */
  readonly sealed: number;
  /** What a search afterwards found; undefined for a dry run. */
  readonly found: ErasureCheck | undefined;
  /** Copies that platforms keep for a while, and until when; `until` is null where only its own settings say so. */
  readonly copies: readonly PlatformCopy[];
  /** Its place in the chain that `verdicts verify` checks; a dry run has none. */
  readonly proof?: ReceiptProof;
}

export interface PlatformCopy {
  readonly of: string;
  readonly until: string | null;
  readonly why: string;
}

const dayMs = 86_400_000;

const listCopies = (targets: readonly WarehouseTarget[], at: Date): PlatformCopy[] => [
  {
    of: 'store',
    until: null,
    why: 'PostgreSQL keeps deleted rows until VACUUM, its write-ahead log and backups for as long as they are configured',
  },
  ...targets.map(({ warehouse: { name, kind } }) =>
    kind === 'postgres'
      ? { of: name, until: null, why: 'as the store' }
      : {
          of: name,
          until: new Date(at.getTime() + 14 * dayMs).toISOString(),
          why: 'BigQuery keeps deleted rows for its time travel (7 days at most) and 7 days of fail-safe after it, counted from the load that deletes them; staging tables of a load that failed for a day',
        },
  ),
];

/** Every way in which a value is told in the receipt. */
const selectorKey = (store: Store, kind: string, value: string): string =>
  createHmac('sha256', store.erasures.key).update(`${kind}\0${value}`).digest('hex');

/** Ids of the calls that a request means. Reads the whole ledger unless calls are named. */
export const findCalls = async (
  store: Store,
  request: ErasureRequest,
  comparison: Comparison,
  onProgress: (seen: number) => void = () => undefined,
): Promise<string[]> => {
  if (request.kind === 'call') return [...new Set(request.values)];
  const matches = createMatcher(request, comparison);
  const found: string[] = [];
  let seen = 0;
  for await (const page of listCallIds(store)) {
    const alive = page.filter(({ tombstone }) => !tombstone).map(({ id }) => id);
    for (let start = 0; start < alive.length; start += rowsAtOnce) {
      const rows = await readRows(store, alive.slice(start, start + rowsAtOnce));
      for (const [id, { document }] of rows) if (document !== null && matches(document)) found.push(id);
    }
    seen += page.length;
    onProgress(seen);
  }
  return found;
};

/** Documents in memory at once. */
const rowsAtOnce = 200;

/** What came in while calls were erased is searched again, this often at most. */
const mostRounds = 5;

interface Carried {
  readonly ids: readonly string[];
  readonly erased: number;
  readonly purged: Purged;
}

/**
 * Erases, and looks again until nothing more is found: deliveries that came meanwhile may have brought other calls of the
 * person. Calls that were erased in a run that was interrupted are tombstones; their deliveries went with them.
 */
const eraseAll = async (
  store: Store,
  names: readonly string[],
  merge: () => Promise<void>,
  find: () => Promise<readonly string[]>,
): Promise<Carried> => {
  const ids = new Set<string>();
  let erased = 0;
  let purged: Purged = { inbox: 0, quarantine: 0, rereads: 0, frames: 0 };
  for (let round = 0; round < mostRounds; round += 1) {
    await merge();
    const found = await find();
    let fresh = 0;
    for (let start = 0; start < found.length; start += rowsAtOnce) {
      const { calls, ...taken } = await eraseCalls(store, found.slice(start, start + rowsAtOnce), names);
      fresh += calls;
      purged = addPurged(purged, taken);
    }
    for (const id of found) ids.add(id);
    erased += fresh;
    if (fresh === 0) break;
  }
  return { ids: [...ids], erased, purged };
};

const addPurged = (a: Purged, b: Purged): Purged => ({
  inbox: a.inbox + b.inbox,
  quarantine: a.quarantine + b.quarantine,
  rereads: a.rereads + b.rereads,
  frames: a.frames + b.frames,
});

/** From now on no text that names them is kept in quarantine, and a restore of the store finds such texts again. */
const notePersonsOf = async (
  store: Store,
  request: ErasureRequest,
  { personOf, comparison, keepOut }: Pick<EraseOptions, 'comparison' | 'keepOut' | 'personOf'>,
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

export interface EraseOptions {
  /** Finds and counts only. */
  readonly dryRun: boolean;
  readonly comparison: Comparison;
  /** The text of a value that names a person, of which the erasure log holds a keyed hash. */
  readonly personOf: (kind: 'phone' | 'metadata', value: string) => string;
  /** The person objects: calls that come later and name a value in contacts or metadata are not kept either. */
  readonly keepOut: boolean;
  /** Brings what waits in the inbox into the ledger: it belongs to calls too, which are not known before. */
  readonly merge: () => Promise<void>;
  /** Sends the tombstones to every warehouse that takes them now; the others get them later. */
  readonly load: () => Promise<void>;
  /** Where the receipt is signed. */
  readonly proof: Proof;
  readonly onProgress?: (seen: number) => void;
}

/** @throws CallsyncError ERASURE_LOG, TOMBSTONE_KEY, DATABASE_…; may be repeated after any of them. */
export const eraseRequest = async (
  { store, targets }: { readonly store: Store; readonly targets: readonly WarehouseTarget[] },
  request: ErasureRequest,
  options: EraseOptions,
): Promise<ErasureReceipt> => {
  const { dryRun, comparison } = options;
  const names = targets.map(({ warehouse }) => warehouse.name);
  const find = () => findCalls(store, request, comparison, options.onProgress);
  const at = new Date();
  const receipt = {
    at: at.toISOString(),
    request: {
      kind: request.kind,
      keys: request.values.map((value) => selectorKey(store, request.kind, value)),
    },
    dryRun,
    copies: listCopies(targets, at),
  };
  if (dryRun)
    return { ...receipt, calls: (await find()).length, erased: 0, purged: undefined, sealed: 0, found: undefined };
  await notePersonsOf(store, request, options);
  const { ids, erased, purged } = await eraseAll(store, names, options.merge, find);
  const isMeant = request.kind === 'call' ? () => false : createTextMatcher(request, comparison);
  const texts = await store.transaction((tx) => purgeTexts(tx, isMeant));
  await options.load();
  const done = {
    ...receipt,
    calls: ids.length,
    erased,
    purged: addPurged(purged, { inbox: 0, rereads: 0, ...texts }),
    sealed: await countSealed(store),
    found: await verifyErasure({ store, targets }, ids, isMeant),
  };
  return { ...done, proof: await addReceipt(store, options.proof, done) };
};
