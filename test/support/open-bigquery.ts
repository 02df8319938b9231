/** A BigQuery warehouse that only this process loads: its lease and the memory of its quota are here. */
import { createQuota } from '../../src/warehouse/bigquery/quota.ts';
import { createBigqueryWarehouse } from '../../src/warehouse/bigquery/warehouse.ts';

type Options = Parameters<typeof createBigqueryWarehouse>[0];

/** One holder of a name at a time, in the order of asking. */
const createLocalLease = (): Options['lease'] => {
  const tails = new Map<string, Promise<unknown>>();
  return {
    run<T>(name: string, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
      const turn = (tails.get(name) ?? Promise.resolve()).then(() => work(new AbortController().signal));
      const tail = turn.catch(() => undefined);
      tails.set(name, tail);
      return turn;
    },
  };
};

export const createLocalMemory = (): Options['quotaMemory'] => {
  let spent: Awaited<ReturnType<Options['quotaMemory']['read']>> = [];
  return {
    read: async () => spent,
    write: async (next) => {
      spent = next;
    },
  };
};

export const openBigquery = (options: Omit<Options, 'lease' | 'quotaMemory'>) =>
  createBigqueryWarehouse({ lease: createLocalLease(), quotaMemory: createLocalMemory(), ...options });

/** As `createQuota`, of this process. */
export const createLocalQuota = (limits: Parameters<typeof createQuota>[0], clock: () => number) =>
  createQuota(limits, clock, createLocalMemory());
