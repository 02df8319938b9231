/** Whether a range is proven in some warehouses, and they say so themselves. */
import type { Store } from '../../store/store.ts';
import { findUnproven, listBehind } from '../../store/windows/verdicts.ts';
import type { Warehouse } from '../../warehouse/warehouse.ts';
import { hasLost } from '../load/check-ledger.ts';

type ProofRequest = Omit<Parameters<typeof findUnproven>[1], 'warehouses'> & {
  readonly warehouses: readonly Warehouse[];
};

export type ProofFound = Awaited<ReturnType<typeof lookAtProof>>;

/**
 * Asks every warehouse and reads the verdicts.
 * @throws CallsyncError of the store, or of a warehouse that does not answer: nothing is said of it then
 */
export const lookAtProof = async (store: Store, request: ProofRequest) => {
  const lost: string[] = [];
  // Before the verdicts: the process that notices a loss withdraws them when it sends the calls again.
  for (const warehouse of request.warehouses) if (await hasLost(store, warehouse)) lost.push(warehouse.name);
  const names = { ...request, warehouses: request.warehouses.map(({ name }) => name) };
  const unproven = Object.entries(await findUnproven(store, names));
  const warehouses = Object.fromEntries(
    unproven.map(([name, ranges]) => [name, lost.includes(name) ? [request.range] : ranges]),
  );
  const proven = Object.values(warehouses).every((ranges) => ranges.length === 0);
  return {
    ...request.range,
    /** Unproven ranges, by warehouse. */
    warehouses,
    proven,
    /** Warehouses that lack tables, loads or all calls: nothing is proven of them. */
    lost,
    /** Warehouses whose tables, and so their marts, do not have all of the verdicts yet. */
    behind: await listBehind(store, names),
  };
};
