/** Whether verdicts are as they were recorded: each chain in itself, and the warehouse's copy against the chain. */
import { CallsyncError } from '../../lib/errors.ts';
import type { Store } from '../../store/store.ts';
import type { StoredVerdict } from '../../store/windows/verdicts.ts';
import { allVerdicts, digestVerdict, unloadedVerdicts, verifyVerdictChain } from '../../store/windows/verdicts.ts';
import type { WarehouseTarget } from '../deps.ts';

/**
 * The key reveals a chain that was rewritten in the store. The head in the file outside the store, and the
 * warehouse's copy, reveal a cut tail.
 * @throws CallsyncError of the store, or PROOF_HEADS.
 */
export const verifyVerdicts = async (store: Store, targets: readonly Pick<WarehouseTarget, 'warehouse'>[]) => {
  const chains = await verifyVerdictChain(store);
  return await Promise.all(
    targets.map(async ({ warehouse }) => {
      const none = { warehouse: warehouse.name, verdicts: 0, broken: [], cut: [], head: null };
      const chain = chains.find((one) => one.warehouse === warehouse.name) ?? none;
      const copy = await compareCopy(store, warehouse);
      const problems = chain.broken.length + chain.cut.length + (copy?.differing.length ?? 0);
      return { ...chain, copy, intact: problems === 0 };
    }),
  );
};

/**
 * Check of the table in the warehouse; null if the warehouse did not answer.
 * `differing` = ids of verdicts that differ between warehouse and store, or are missing in one.
 */
const compareCopy = async (store: Store, warehouse: WarehouseTarget['warehouse']) => {
  const stored = new Map<unknown, StoredVerdict>();
  for await (const verdict of allVerdicts(store, warehouse.name)) stored.set(verdict.digest, verdict);
  // Read after those, so that no verdict counts as loaded that is not, and before the copy.
  const unloaded = await unloadedVerdicts(store, warehouse.name, Number.MAX_SAFE_INTEGER);
  // Store and warehouse expire old verdicts independently.
  const first = Math.min(...Array.from(stored.values(), ({ verdict_id: id }) => id));
  const differing: number[] = [];
  let verdicts = 0;
  let oldest = Number.POSITIVE_INFINITY;
  const lacking = new Map(stored);
  for (const { digest } of unloaded) lacking.delete(digest);
  try {
    for await (const row of warehouse.proof.rowsOf('verdicts')) {
      verdicts += 1;
      oldest = Math.min(oldest, Number(row.compared_at));
      lacking.delete(row.digest);
      const id = Number(row.verdict_id);
      const digest = digestVerdict(store.erasures.proof.keys, { warehouse: warehouse.name, ...row });
      if ((id >= first && !stored.has(row.digest)) || digest !== row.digest) differing.push(id);
    }
  } catch (error) {
    if (!(error instanceof CallsyncError)) throw error;
    return null;
  }
  // An emptied copy lacks at least the newest: only older ones expire.
  if (verdicts === 0) oldest = Math.max(...Array.from(lacking.values(), ({ compared_at: at }) => at));
  for (const { verdict_id: id, compared_at: at } of lacking.values()) if (at >= oldest) differing.push(id);
  return { verdicts, differing: [...new Set(differing)].sort((a, b) => a - b) };
};
