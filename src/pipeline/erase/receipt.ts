/** What is told of an erasure, and signed: keyed hashes and counts, nothing that names the person. */
import type { Purged } from '../../store/delivery/purge.ts';
import type { Store } from '../../store/store.ts';
import type { ReceiptProof } from '../../store/windows/receipts.ts';
import type { WarehouseTarget } from '../deps.ts';
import type { ErasureCheck } from './verify-erasure.ts';

export interface ErasureReceipt {
  readonly at: string;
  /** Kind of the request, and a keyed hash of each of its values: nothing that names the person. */
  readonly request: { readonly kind: string; readonly keys: readonly string[] };
  readonly dryRun: boolean;
  /** Name of the request, by which `callsync privacy receipt` finds it; a dry run has none. */
  readonly requestId?: string;
  /** Calls that the request means. */
  readonly calls: number;
  /** Of them, those that were stored here before; older receipts do not say it. A call that was neither stored nor erased is unknown here. */
  readonly known?: number;
  /** Of them, those that had been erased before, or had gone for their age; older receipts do not say it. */
  readonly erasedBefore?: number;
  /** Of them, those that became tombstones now, unknown ones too. */
  readonly erased: number;
  /** Of them, those that a legal hold keeps. */
  readonly held: number;
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

/** The receipt before anything is known of the warehouses. */
export interface ErasureDraft extends Omit<ErasureReceipt, 'copies' | 'found' | 'proof' | 'requestId'> {
  /** Records and frames that belong to no call and still name the person. */
  readonly texts: Pick<Purged, 'aliases' | 'frames' | 'quarantine'>;
}

const dayMs = 86_400_000;

/** @param at when the last tombstones were loaded. */
export const listCopies = (targets: readonly WarehouseTarget[], at: Date): PlatformCopy[] => [
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
export const selectorKey = (store: Store, kind: string, value: string): string => store.keyOf(`${kind}\0${value}`);
