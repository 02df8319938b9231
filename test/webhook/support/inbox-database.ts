/** A migrated store of the test file's own, and what it holds. */
import type pg from 'pg';
import { onTestFinished } from 'vitest';
import { openStore } from '../../../src/store/store.ts';
import { useOpened } from '../../support/opened.ts';
import { connect, createDatabase } from '../../support/postgres.ts';
import { type StartOptions, startReceiver } from './receiver.ts';

export const readInbox = async (pool: pg.Pool) => (await pool.query('SELECT * FROM callsync.inbox ORDER BY seq')).rows;

/** Made before the tests of a file or group, and dropped behind them. */
export const useInboxDatabase = () =>
  useOpened(async () => {
    const database = await createDatabase();
    const store = await openStore({ url: database.url });
    return {
      url: database.url,
      store,
      /** A receiver on it, until the end of the test. */
      receive: async (options: Partial<StartOptions> = {}) => {
        const started = await startReceiver({ databaseUrl: database.url, ...options });
        onTestFinished(started.stop);
        return started;
      },
      rows: () => readInbox(store.pool),
      empty: async () => void (await store.pool.query('TRUNCATE callsync.inbox')),
      /** Lets nobody read or write the inbox until the returned function is called. */
      hold: async () => {
        const client = await connect(database.url);
        await client.query('BEGIN; LOCK TABLE callsync.inbox IN ACCESS EXCLUSIVE MODE');
        return () => client.query('COMMIT').then(() => client.end());
      },
      close: () => store.close().finally(database.drop),
    };
  });
