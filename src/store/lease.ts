/** A lock by name that lets one process do some work. */
import { type Database, withSessionLock } from '../postgres/database.ts';

/** The lock goes with its connection; when that breaks, `signal` aborts and another holder may start. */
export const createLease = (database: Database) => ({
  run: <T>(name: string, work: (signal: AbortSignal) => Promise<T>) =>
    withSessionLock(database, `${database.schema}.lease.${name}`, work),
});
