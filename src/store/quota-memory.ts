/** What a warehouse has spent of its budget, where all workers see it. */
import type pg from 'pg';
import { runQuery } from '../postgres/connection.ts';
import { storePurpose } from './store.ts';

/** A list of small records under the warehouse's name. Only the holder of the warehouse's lease writes. */
export const createBudgetMemory = <T>(pool: pg.Pool, warehouse: string) => {
  const key = `budget:${warehouse}`;
  return {
    async read(): Promise<readonly T[]> {
      const [row] = await runQuery<{ value: T[] }>(pool, storePurpose, 'SELECT value FROM meta WHERE key = $1', [key]);
      return row?.value ?? [];
    },
    async write(spent: readonly T[]): Promise<void> {
      await runQuery(
        pool,
        storePurpose,
        `INSERT INTO meta (key, value) VALUES ($1, $2)
         ON CONFLICT (key) DO UPDATE SET value = excluded.value, updated_at = now()`,
        [key, JSON.stringify(spent)],
      );
    },
  };
};
