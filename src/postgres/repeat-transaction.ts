/** Transactions that PostgreSQL ends for the sake of others: they run again. */
import type { Database, Transaction } from './database.ts';
import { isConflict } from './errors.ts';

const mostAttempts = 5;

/**
 * As `db.transaction`; repeats a few times after a deadlock or a conflict with another transaction.
 * @param work may run several times, so its effects outside the transaction must be repeatable
 */
export const repeatTransaction = async <T>(db: Database, work: (tx: Transaction) => Promise<T>): Promise<T> => {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await db.transaction(work);
    } catch (error) {
      if (attempt === mostAttempts || !isConflict(error)) throw error;
    }
  }
};
