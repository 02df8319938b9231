/** The end of an erasure: when the warehouses have its tombstones, it is verified and its receipt signed. Needs no value. */
import { CallsyncError, terminal } from '../../errors.ts';
import { closeErasure, readOpenErasure } from '../../store/erasure/erasure-requests.ts';
import { createLease } from '../../store/loads/lease.ts';
import { addReceipt, findReceipt } from '../../store/windows/receipts.ts';
import type { Proof } from '../../store/windows/verdicts.ts';
import type { IngestDeps } from '../deps.ts';
import { loadPending } from '../load/load-pending.ts';
import { type ErasureDraft, type ErasureReceipt, listCopies } from './receipt.ts';
import { type ErasureCheck, verifyErasure } from './verify-erasure.ts';

export type FinishDeps = Pick<IngestDeps, 'store' | 'targets'> & { readonly proof: Proof };

export interface FinishedErasure {
  /** Warehouses that do not have every tombstone yet. */
  readonly waiting: readonly string[];
  /** Undefined while it is not signed. */
  readonly receipt: ErasureReceipt | undefined;
}

/**
 * Signs the receipt of an erasure once every warehouse has its tombstones. It is signed once, however many ask.
 * @throws CallsyncError ERASURE_UNKNOWN, PROOF_HEADS, ERASURE_LOG, DATABASE_…
 */
export const finishErasure = (deps: FinishDeps, requestId: string): Promise<FinishedErasure> =>
  withErasure(deps, requestId, async () => {
    const signed = await findReceipt<ErasureReceipt>(deps.store, requestId);
    if (signed !== undefined) return { waiting: [], receipt: signed };
    const looked = await lookAt(deps, requestId);
    if (looked.waiting.length > 0) return { waiting: looked.waiting, receipt: undefined };
    return { waiting: [], receipt: await sign(deps, requestId, looked) };
  });

/** As `finishErasure`, but signs at once: the receipt says which warehouses still wait. */
export const signErasure = (deps: FinishDeps, requestId: string): Promise<ErasureReceipt> =>
  withErasure(
    deps,
    requestId,
    async () =>
      (await findReceipt<ErasureReceipt>(deps.store, requestId)) ??
      (await sign(deps, requestId, await lookAt(deps, requestId))),
  );

/** Sends what is pending to every warehouse that takes it now. One that is away or has no quota left gets it later. */
export const loadTombstones = async (deps: IngestDeps): Promise<void> => {
  for (const { warehouse } of deps.targets) {
    try {
      while ((await loadPending(deps, { warehouse: warehouse.name, origin: 'erase' })).more);
    } catch (error) {
      if (!(error instanceof CallsyncError)) throw error;
      deps.log('tombstones could not be loaded yet', { warehouse: warehouse.name, code: error.code });
    }
  }
};

/** One attempt of the workflow: loads, then signs if every warehouse has its tombstones. Counts, and nothing that names a call. */
export const carryOnErasure = async (
  deps: IngestDeps & FinishDeps,
  requestId: string,
): Promise<{ readonly waiting: readonly string[]; readonly receiptId: number | null }> => {
  await loadTombstones(deps);
  const { waiting, receipt } = await finishErasure(deps, requestId);
  return { waiting, receiptId: receipt?.proof?.receipt_id ?? null };
};

const withErasure = <T>({ store }: FinishDeps, requestId: string, work: () => Promise<T>): Promise<T> =>
  createLease(store).run(`erasure:${requestId}`, work);

interface Looked {
  readonly draft: ErasureDraft;
  readonly found: ErasureCheck;
  readonly waiting: readonly string[];
}

const lookAt = async ({ store, targets }: FinishDeps, requestId: string): Promise<Looked> => {
  const open = await readOpenErasure<ErasureDraft>(store, requestId);
  if (open === undefined) {
    throw terminal('ERASURE_UNKNOWN', 'The store knows no erasure of this name.', {
      hint: 'A store that was restored has forgotten those that were not signed: erase again, with the same values.',
    });
  }
  const { draft, callIds } = open;
  const found = await verifyErasure({ store, targets }, callIds, draft.texts);
  const waiting = found.warehouses.filter(({ erased }) => (erased ?? -1) < callIds.length);
  return { draft, found, waiting: waiting.map(({ name }) => name) };
};

const sign = async (
  { store, targets, proof }: FinishDeps,
  requestId: string,
  { draft: { texts: _texts, ...draft }, found }: Looked,
): Promise<ErasureReceipt> => {
  const receipt = { ...draft, requestId, found, copies: listCopies(targets, new Date()) };
  const signed = { ...receipt, proof: await addReceipt(store, proof, receipt) };
  await closeErasure(store, requestId);
  return signed;
};
