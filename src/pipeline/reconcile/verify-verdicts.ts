/** Whether verdicts are as they were recorded: each chain in itself, and the warehouse's copy against the chain. */
import { tableOf } from '../../../schemas/tables.ts';
import { CallsyncError } from '../../errors.ts';
import type { Store } from '../../store/store.ts';
import { allVerdicts, type ChainCheck, digestOfRow, verifyVerdictChain } from '../../store/windows/verdicts.ts';
import type { WarehouseTarget } from '../deps.ts';

export interface VerdictCheck extends ChainCheck {
  /** The warehouse's own table; null when the warehouse did not answer. */
  readonly copy: {
    readonly verdicts: number;
    /** Ids of verdicts that the warehouse holds otherwise than the store, or that the store no longer has. */
    readonly differing: readonly number[];
  } | null;
  readonly intact: boolean;
}

const columns = tableOf('verdicts').columns.map((column) => column.name);
const idAt = columns.indexOf('verdict_id');
const digestAt = columns.indexOf('digest');

/** A verdict that was changed together with all that follow it in the store still shows in the warehouse's copy. */
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
        head: null,
      };
      const copy = await compareCopy(store, warehouse);
      return { ...chain, copy, intact: chain.broken.length === 0 && (copy?.differing.length ?? 0) === 0 };
    }),
  );
};

const compareCopy = async (store: Store, warehouse: WarehouseTarget['warehouse']): Promise<VerdictCheck['copy']> => {
  const stored = new Map<number, string>();
  for await (const verdict of allVerdicts(store, warehouse.name)) stored.set(verdict.verdict_id, verdict.digest);
  const differing: number[] = [];
  let verdicts = 0;
  try {
    for await (const row of warehouse.rowsOf('verdicts')) {
      verdicts += 1;
      const id = Number(row[idAt]);
      if (stored.get(id) !== row[digestAt] || digestOfRow(warehouse.name, row) !== row[digestAt]) differing.push(id);
    }
  } catch (error) {
    if (!(error instanceof CallsyncError)) throw error;
    return null;
  }
  return { verdicts, differing: differing.sort((a, b) => a - b) };
};
