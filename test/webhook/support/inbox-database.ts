/** A migrated store of the test file's own, and what it holds. */
import type pg from 'pg';
import { afterAll, beforeAll } from 'vitest';
import { openStore, type Store } from '../../../src/store/store.ts';
import { connect, useDatabase } from '../../support/postgres.ts';

export interface InboxRow {
  readonly delivery_id: string | null;
  readonly hook_id: string | null;
  readonly agent: string | null;
  readonly received_at: Date;
  readonly signing_key: string | null;
  readonly body: Buffer | null;
  readonly body_hash: Buffer | null;
  readonly spooled: boolean;
  readonly outcome: string;
  readonly reason: string | null;
}

export const readInbox = async (pool: pg.Pool): Promise<InboxRow[]> =>
  (await pool.query<InboxRow>('SELECT * FROM callsync.inbox ORDER BY seq')).rows;

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
