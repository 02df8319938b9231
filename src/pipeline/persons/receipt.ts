/** Signed receipt of an erasure: keyed hashes and counts, and nothing that names the person. */
import { dayMs } from '../../lib/day.ts';
import type { ReceiptProof } from '../../store/persons/receipts.ts';
import type { Purged } from '../../store/persons/texts.ts';
import type { Store } from '../../store/store.ts';
import type { WarehouseTarget } from '../deps.ts';

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
  /** Result of the search afterwards; undefined for a dry run. */
  readonly found: ErasureCheck | undefined;
  /** Copies that platforms keep for a while, and until when; `until` is null where only its own settings say so. */
  readonly copies: readonly PlatformCopy[];
  /** Its place in the chain that `verdicts verify` checks; a dry run has none. */
  readonly proof?: ReceiptProof;
}

/** Counts found after the erasure, of what no hold keeps: a receipt is signed when all are 0. */
export interface ErasureCheck extends Purged {
  readonly calls: number;
  readonly documents: number;
  /** Texts that name the person or a call, and that a hold keeps. */
  readonly heldTexts: number;
  readonly warehouses: readonly WarehouseCheck[];
}

export interface WarehouseCheck {
  readonly name: string;
  /** Calls whose tombstone it has: with it, in one commit, their rows went. Null where it did not answer. */
  readonly erased: number | null;
  /** Calls whose tombstone it is still to be sent. */
  readonly waiting: number;
  /** Rows that any of its tables has of the calls, by a search for their ids. Null where it did not answer. */
  readonly rows: number | null;
}

interface PlatformCopy {
  readonly of: string;
  readonly until: string | null;
  readonly why: string;
}

/** Content of the receipt before its signature. */
export interface ErasureDraft extends Pick<ErasureReceipt, 'at' | 'dryRun' | 'erased' | 'request'> {
  readonly known: number;
  readonly erasedBefore: number;
  readonly purged: Purged;
}

/** @param at when the last tombstones were loaded. */
export const listCopies = (targets: readonly WarehouseTarget[], at: Date): PlatformCopy[] => [
  {
    of: 'store',
    until: null,
    why: 'PostgreSQL keeps deleted rows until VACUUM, its write-ahead log and backups for as long as they are configured',
  },
  {
    of: 'dbt',
    until: null,
    why: 'models of calls in the package are views and hold no copy; a table that you build of such a model (+materialized: table, or a model of your own) keeps its rows until its next build',
  },
  ...targets.map(({ warehouse: { name, keepsDeleted } }) => ({
    of: name,
    until: keepsDeleted.days === null ? null : new Date(at.getTime() + keepsDeleted.days * dayMs).toISOString(),
    why: keepsDeleted.why,
  })),
];

/** Every way in which a value is told in the receipt. */
export const selectorKey = (store: Store, kind: string, value: string): string => store.keyOf(`${kind}\0${value}`);
