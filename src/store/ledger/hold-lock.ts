/** Keeps deletions away while a hold is put on: the search for what it names may take minutes, for which no fold waits. */
import { type CallsyncError, transient } from '../../errors.ts';
import type { Database, Transaction } from '../../postgres/database.ts';
import { isCanceled, isLocked, postgresError } from '../../postgres/errors.ts';
import { type NotedKeys, readNoted } from './fold-lock.ts';

/** Advisory lock: shared by deletions, exclusive while a hold is put on; that takes it before the lock of folds. */
const holdLock = 7_202_611_212;

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
    throw isWaitOver(cause) ? underWay(cause) : cause;
  }
  await tx.query('SET LOCAL lock_timeout = 0');
  return await readNoted(tx);
};

/**
 * Deletions that run have ended before `work` begins, others wait for its end.
 * @throws CallsyncError HOLD_UNDER_WAY, transient, also where deletions may have passed beside `work`; DATABASE_…, or what `work` does
 */
export const withoutDeletions = async <T>(store: Database, work: () => Promise<T>): Promise<T> => {
  const ask = (cause: unknown): never => {
    const error = postgresError(store.purpose, cause);
    throw isWaitOver(error) ? underWay(error) : error;
  };
  const client = await store.pool.connect().catch(ask);
  let isLost = true;
  try {
    await client.query('SELECT pg_advisory_lock($1)', [holdLock]).catch(ask);
    const done = await work();
    await client.query('SELECT pg_advisory_unlock($1)', [holdLock]).catch((cause) => {
      throw transient(
        'HOLD_UNDER_WAY',
        'The session that kept deletions away while a legal hold was put on was lost.',
        {
          hint: 'Put it on again.',
          cause,
        },
      );
    });
    isLost = false;
    return done;
  } finally {
    // The lock goes with its session.
    client.release(isLost);
  }
};

const underWay = (cause: unknown): CallsyncError =>
  transient('HOLD_UNDER_WAY', 'A legal hold is being put on, or something is being deleted that one may name.', {
    hint: 'Try again when callsync privacy hold add, or the erasure, has ended.',
    cause,
  });

const isWaitOver = (error: unknown): boolean => isLocked(error) || isCanceled(error);
