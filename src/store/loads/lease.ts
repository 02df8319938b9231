/** One holder at a time for a name, over all workers. */
import type { Database } from '../../postgres/database.ts';
import { withSessionLock } from '../../postgres/session-lock.ts';

export interface StoreLease {
  run<T>(name: string, work: (signal: AbortSignal) => Promise<T>): Promise<T>;
}

/** The lock goes with its connection; when that breaks, `signal` aborts and another holder may start. */
export const createLease = (database: Database): StoreLease => ({
  run: (name, work) => withSessionLock(database, `callsync.lease.${name}`, work),
});
