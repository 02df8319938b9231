/** Carries out a request to erase: finds the calls, erases them everywhere, and says what was done. */
import { createHmac } from 'node:crypto';
import { type Purged, purgeDeliveries } from '../../store/delivery/purge.ts';
import { listCallIds } from '../../store/ledger/erased-keys.ts';
import { readRows } from '../../store/ledger/ledger.ts';
import { eraseCalls } from '../../store/loads/erase.ts';
import type { Store } from '../../store/store.ts';
import type { WarehouseTarget } from '../deps.ts';
import { type Comparison, createMatcher, type ErasureRequest } from './match-calls.ts';

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
  /** The tombstones are the next that these are sent. */
  readonly warehouses: readonly string[];
  /** Copies that platforms keep for a while, and until when. */
  readonly copies: readonly string[];
}

const copies = [
  'BigQuery keeps deleted rows for its time travel (2 to 7 days, as the dataset is set) and 7 days of fail-safe after it',
  'PostgreSQL keeps deleted rows until VACUUM, its write-ahead log and backups for as long as they are configured',
];

/** Every way in which a value is told in the receipt. */
const selectorKey = (store: Store, kind: string, value: string): string =>
  createHmac('sha256', store.erasures.key).update(`${kind}\0${value}`).digest('hex');

/** Ids of the calls that a request means. Reads the whole ledger unless calls are named. */
const findCalls = async (
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

/**
 * @param dryRun finds and counts only.
 * @throws CallsyncError ERASURE_LOG, TOMBSTONE_KEY, DATABASE_…; may be repeated after any of them.
 */
export const eraseRequest = async (
  { store, targets }: { readonly store: Store; readonly targets: readonly WarehouseTarget[] },
  request: ErasureRequest,
  options: {
    readonly dryRun: boolean;
    readonly comparison: Comparison;
    readonly onProgress?: (seen: number) => void;
  },
): Promise<ErasureReceipt> => {
  const ids = await findCalls(store, request, options.comparison, options.onProgress);
  const names = targets.map(({ warehouse }) => warehouse.name);
  let erased = 0;
  let purged: Purged | undefined;
  if (!options.dryRun) {
    for (let start = 0; start < ids.length; start += rowsAtOnce) {
      const rows = await eraseCalls(store, ids.slice(start, start + rowsAtOnce), names);
      erased += rows.length;
    }
    const texts =
      request.kind === 'call' ? [] : request.values.flatMap((value) => [value, ...options.comparison.tokensOf(value)]);
    const calls = ids.map((id) => ({ id, key: store.keyOf(id) }));
    purged = await store.transaction((tx) => purgeDeliveries(tx, calls, texts, names));
  }
  const keys = request.values.map((value) => selectorKey(store, request.kind, value));
  return {
    at: new Date().toISOString(),
    request: { kind: request.kind, keys },
    dryRun: options.dryRun,
    calls: ids.length,
    erased,
    purged,
    warehouses: names,
    copies,
  };
};
