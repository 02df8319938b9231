/** The commits of a warehouse that count against its quota, where all workers see them. */
import type { Queryable } from '../postgres/database.ts';

/** A list of small records under the warehouse's name. Only the holder of the warehouse's lease writes. */
export const createQuotaMemory = <T>(db: Queryable, warehouse: string) => {
  const key = `budget:${warehouse}`;
  return {
    async read(): Promise<readonly T[]> {
      const [row] = await db.query<{ value: T[] }>('SELECT value FROM meta WHERE key = $1', [key]);
      return row?.value ?? [];
    },
    async write(spent: readonly T[]): Promise<void> {
      await db.query(
        `INSERT INTO meta (key, value) VALUES ($1, $2)
         ON CONFLICT (key) DO UPDATE SET value = excluded.value, updated_at = now()`,
        [key, JSON.stringify(spent)],
      );
    },
  };
};
