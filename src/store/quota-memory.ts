/** The commits of a warehouse that count against its quota, where all workers see them. */
import type { Queryable } from '../postgres/database.ts';
import { readMeta, writeMeta } from './meta.ts';

/** A list of small records under the warehouse's name. Only the holder of the warehouse's lease writes. */
export const createQuotaMemory = <T>(db: Queryable, warehouse: string) => {
  const key = `quota:${warehouse}`;
  return {
    read: async (): Promise<readonly T[]> => (await readMeta<T[]>(db, key)) ?? [],
    write: (spent: readonly T[]): Promise<void> => writeMeta(db, key, spent),
  };
};
