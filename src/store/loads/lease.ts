/** One holder at a time for a name, over all workers: a session lock on a connection of its own. */
import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import type { Database } from '../../postgres/database.ts';
import { postgresError } from '../../postgres/errors.ts';

export interface StoreLease {
  run<T>(name: string, work: (signal: AbortSignal) => Promise<T>): Promise<T>;
}

const retryMs = 200;

/** A connection that holds the lock, or undefined while another does: those who wait keep no connection. */
const tryHold = async (database: Database, key: string): Promise<pg.PoolClient | undefined> => {
  let client: pg.PoolClient | undefined;
  try {
    client = await database.pool.connect();
    const { rows } = await client.query<{ held: boolean }>('SELECT pg_try_advisory_lock(hashtext($1)) AS held', [key]);
    if (rows[0]?.held === true) return client;
    client.release();
    return undefined;
  } catch (cause) {
    client?.release(true);
    throw postgresError(database.purpose, cause);
  }
};

/** The lock goes with its connection; when that breaks, `signal` aborts and another holder may start. */
export const createLease = (database: Database): StoreLease => ({
  run: async (name, work) => {
    const key = `callsync.lease.${name}`;
    let client = await tryHold(database, key);
    while (client === undefined) {
      await delay(retryMs);
      client = await tryHold(database, key);
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
      const unlocked = await held.query('SELECT pg_advisory_unlock(hashtext($1))', [key]).then(
        () => true,
        () => false,
      );
      held.release(!unlocked);
    }
  },
});
