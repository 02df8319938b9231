/** A migrated store of the test file's own, and what it holds. */
import type pg from 'pg';
import { afterAll, beforeAll, onTestFinished } from 'vitest';
import { openStore, type Store } from '../../../src/store/store.ts';
import { connect, useDatabase } from '../../support/postgres.ts';
import { type StartOptions, startReceiver } from './receiver.ts';

export const readInbox = async (pool: pg.Pool) => (await pool.query('SELECT * FROM callsync.inbox ORDER BY seq')).rows;

/** Made before the tests of a file or group, and dropped behind them. */
export const useInboxDatabase = () => {
  const database = useDatabase();
  let store: Store;
  beforeAll(async () => {
    store = await openStore({ url: database.url });
  });
  afterAll(() => store?.close());
  return {
    get url() {
      return database.url;
    },
    get store() {
      return store;
    },
    /** A receiver on it, until the end of the test. */
    async receive(options: Partial<StartOptions> = {}) {
      const started = await startReceiver({ databaseUrl: database.url, ...options });
      onTestFinished(started.stop);
      return started;
    },
    rows: () => readInbox(store.pool),
    async empty() {
      await store.pool.query('TRUNCATE callsync.inbox');
    },
    /** Lets nobody read or write the inbox until the returned function is called. */
    async hold() {
      const client = await connect(database.url);
      await client.query('BEGIN; LOCK TABLE callsync.inbox IN ACCESS EXCLUSIVE MODE');
      return () => client.query('COMMIT').then(() => client.end());
    },
  };
};
