/**
 * One holder at a time for a name, over all processes: until the end of a transaction, or of work on its own
 * connection.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import { connectTo, type Database, type Queryable, type Transaction } from './database.ts';
import { postgresError } from './errors.ts';

type Pooled = Pick<Database, 'pool' | 'purpose'>;

const retryMs = 200;

/** A connection that holds the lock, or undefined while another holds it. Waiting processes keep no connection. */
const tryHold = async (database: Pooled, name: string): Promise<pg.PoolClient | undefined> => {
  const client = await connectTo(database);
  try {
    const { rows } = await client.query<{ held: boolean }>('SELECT pg_try_advisory_lock(hashtext($1)) AS held', [name]);
    if (rows[0]?.held === true) return client;
    client.release();
    return undefined;
  } catch (cause) {
    client.release(true);
    throw postgresError(database.purpose, cause);
  }
};

/**
 * Polls for the lock: a waiting statement would delay every wait for running statements, such as an index build.
 * The lock ends with its connection. Then `signal` aborts, and another holder may start.
 * @param onWait called once if another process holds it.
 * @throws CallsyncError DATABASE_…, or the errors of `work`
 */
export const withSessionLock = async <T>(
  database: Pooled,
  name: string,
  work: (signal: AbortSignal) => Promise<T>,
  onWait: () => void = () => undefined,
): Promise<T> => {
  let client = await tryHold(database, name);
  if (client === undefined) onWait();
  while (client === undefined) {
    await delay(retryMs);
    client = await tryHold(database, name);
  }
  const held = client;
  const controller = new AbortController();
  const lost = (): void => controller.abort();
  held.on('error', lost);
  held.on('end', lost);
  try {
    return await work(controller.signal);
  } finally {
    held.removeListener('error', lost);
    held.removeListener('end', lost);
    const unlocked = await held.query('SELECT pg_advisory_unlock(hashtext($1))', [name]).then(
      () => true,
      () => false,
    );
    held.release(!unlocked);
  }
};

/** Until the end of the transaction. */
export const lockName = (tx: Queryable, name: string): Promise<unknown> =>
  tx.query('SELECT pg_advisory_xact_lock(hashtext($1))', [name]);

/** Does short work under the lock, in a new transaction, or in the given transaction until its end. */
export const withLock = async <T>(db: Database | Transaction, name: string, work: () => Promise<T>): Promise<T> => {
  if ('transaction' in db) return await db.transaction((tx) => withLock(tx, name, work));
  await lockName(db, name);
  return await work();
};
