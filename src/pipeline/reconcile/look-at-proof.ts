/** Whether a range is proven in some warehouses, and they say so themselves. */
import type { Range } from '../../../schemas/orchestration.ts';
import type { Store } from '../../store/store.ts';
import { findUnproven, listBehind, type ProofLevel } from '../../store/windows/verdicts.ts';
import type { Warehouse } from '../../warehouse/warehouse.ts';
import { hasLost } from '../load/check-ledger.ts';

interface ProofRequest {
  readonly axis: string;
  readonly range: Range;
  readonly warehouses: readonly Warehouse[];
  readonly level: ProofLevel;
}

export interface ProofFound extends Range {
  readonly proven: boolean;
  /** Unproven ranges, by warehouse. */
  readonly warehouses: Readonly<Record<string, readonly Range[]>>;
  /** Warehouses that lack tables, loads or all calls: nothing is proven of them. */
  readonly lost: readonly string[];
  /** Warehouses whose tables, and so their marts, do not have all of the verdicts yet. */
  readonly behind: readonly string[];
}

/**
 * Asks every warehouse and reads the verdicts.
 * @throws CallsyncError of the store, or of a warehouse that does not answer: nothing is said of it then
 */
export const lookAtProof = async (store: Store, request: ProofRequest): Promise<ProofFound> => {
  const lost: string[] = [];
  // Before the verdicts: the process that notices a loss withdraws them when it sends the calls again.
  for (const warehouse of request.warehouses) if (await hasLost(store, warehouse)) lost.push(warehouse.name);
  const names = { ...request, warehouses: request.warehouses.map(({ name }) => name) };
  const unproven = Object.entries(await findUnproven(store, names));
  const warehouses = Object.fromEntries(
    unproven.map(([name, ranges]) => [name, lost.includes(name) ? [request.range] : ranges]),
  );
  const proven = Object.values(warehouses).every((ranges) => ranges.length === 0);
  return { ...request.range, warehouses, proven, lost, behind: await listBehind(store, names) };
};
