/** Whether verdicts are as they were recorded: each chain in itself, and the warehouse's copy against the chain. */
import { CallsyncError } from '../../lib/errors.ts';
import type { Store } from '../../store/store.ts';
import type { ChainCheck } from '../../store/windows/chain.ts';
import { allVerdicts, digestOfRow, verifyVerdictChain } from '../../store/windows/verdicts.ts';
import type { WarehouseTarget } from '../deps.ts';

interface VerdictCheck extends ChainCheck {
  /** The warehouse's own table; null when the warehouse did not answer. */
  readonly copy: {
    readonly verdicts: number;
    /** Ids of verdicts that the warehouse holds otherwise than the store, or that the store no longer has. */
    readonly differing: readonly number[];
  } | null;
  readonly intact: boolean;
}

/**
 * The key reveals a chain that was rewritten in the store. The head in the file outside the store, and the
 * warehouse's copy, reveal a cut tail.
 * @throws CallsyncError of the store, or PROOF_HEADS.
 */
export const verifyVerdicts = async (
  store: Store,
  targets: readonly Pick<WarehouseTarget, 'warehouse'>[],
): Promise<VerdictCheck[]> => {
  const chains = await verifyVerdictChain(store);
  return await Promise.all(
    targets.map(async ({ warehouse }) => {
      const chain = chains.find((one) => one.warehouse === warehouse.name) ?? {
        warehouse: warehouse.name,
        verdicts: 0,
        broken: [],
        cut: [],
        head: null,
      };
      const copy = await compareCopy(store, warehouse);
      const problems = chain.broken.length + chain.cut.length + (copy?.differing.length ?? 0);
      return { ...chain, copy, intact: problems === 0 };
    }),
  );
};

const compareCopy = async (store: Store, warehouse: WarehouseTarget['warehouse']): Promise<VerdictCheck['copy']> => {
  const stored = new Set<unknown>();
  // Store and warehouse expire old verdicts independently.
  let first = Number.POSITIVE_INFINITY;
  for await (const verdict of allVerdicts(store, warehouse.name)) {
    stored.add(verdict.digest);
    first = Math.min(first, verdict.verdict_id);
  }
  const differing: number[] = [];
  let verdicts = 0;
  try {
    for await (const row of warehouse.rowsOf('verdicts')) {
      verdicts += 1;
      const id = Number(row.verdict_id);
      if (
        (id >= first && !stored.has(row.digest)) ||
        digestOfRow(store.erasures.proof.keys, warehouse.name, row) !== row.digest
      )
        differing.push(id);
    }
  } catch (error) {
    if (!(error instanceof CallsyncError)) throw error;
    return null;
  }
  return { verdicts, differing: differing.sort((a, b) => a - b) };
};
