import type { Lease } from '../warehouse.ts';

/** One holder of a name at a time within this process, in the order of asking. */
export const createLocalLease = (): Lease => {
  const tails = new Map<string, Promise<unknown>>();
  return {
    run<T>(name: string, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
      const turn = (tails.get(name) ?? Promise.resolve()).then(() => work(new AbortController().signal));
      const settled = turn.catch(() => undefined);
      tails.set(name, settled);
      return turn;
    },
  };
};
