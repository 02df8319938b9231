/** Keeps deletions away while a hold is put on: the search for what it names may take minutes, for which no fold waits. */
import { CallsyncError, transient } from '../../errors.ts';
import type { Database, Transaction } from '../../postgres/database.ts';
import { postgresError } from '../../postgres/errors.ts';
import { type NotedKeys, readNoted } from './fold-lock.ts';

/** Advisory lock: shared by deletions, exclusive while a hold is put on; that takes it before the lock of folds. */
const holdLock = 7_202_611_212;
const lockNotAvailable = '55P03';

/**
 * Of a deletion that holds stop, before it locks a row: holds that were being put on are on when it resolves, others wait for the end
 * of the transaction. Folds do not wait for deletions: they may search long texts.
 * @param patience a hold that searches for longer makes the deletion fail, to be tried again.
 * @throws CallsyncError HOLD_UNDER_WAY, transient
 */
export const joinDeletions = async (tx: Transaction, patience = '60s'): Promise<NotedKeys> => {
  await tx.query(`SET LOCAL lock_timeout = '${patience}'`);
  try {
    await tx.query('SELECT pg_advisory_xact_lock_shared($1)', [holdLock]);
  } catch (cause) {
    if (!isLockNotAvailable(cause)) throw cause;
    throw transient('HOLD_UNDER_WAY', 'A legal hold is being put on, and may name what was to be deleted.', {
      hint: 'Try again when callsync privacy hold add has ended.',
      cause,
    });
  }
  await tx.query('SET LOCAL lock_timeout = 0');
  return await readNoted(tx);
};

/** Deletions that run have ended before `work` begins, others wait for its end. @throws CallsyncError DATABASE_…, or what `work` does */
export const withoutDeletions = async <T>(store: Database, work: () => Promise<T>): Promise<T> => {
  const client = await store.pool.connect().catch((cause) => {
    throw postgresError(store.purpose, cause);
  });
  try {
    await client.query('SELECT pg_advisory_lock($1)', [holdLock]).catch((cause) => {
      throw postgresError(store.purpose, cause);
    });
    return await work();
  } finally {
    const unlocking = client.query('SELECT pg_advisory_unlock_all()');
    client.release(await unlocking.then(() => false).catch(() => true));
  }
};

const isLockNotAvailable = (error: unknown): boolean =>
  error instanceof CallsyncError && (error.cause as { code?: unknown } | undefined)?.code === lockNotAvailable;
