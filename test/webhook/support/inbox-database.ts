/** A migrated operational store of the test file's own, and what it holds. */
import type pg from 'pg';
import { openStore, type Store } from '../../../src/store/store.ts';
import { createDatabase } from '../../support/postgres.ts';

export interface InboxDatabase {
  readonly url: string;
  readonly store: Store;
  rows(): Promise<InboxRow[]>;
  empty(): Promise<void>;
  drop(): Promise<void>;
}

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

export const createInboxDatabase = async (): Promise<InboxDatabase> => {
  const database = await createDatabase();
  const store = await openStore({ url: database.url });
  return {
    url: database.url,
    store,
    rows: () => readInbox(store.pool),
    async empty() {
      await store.pool.query('TRUNCATE callsync.inbox');
    },
    async drop() {
      await store.close();
      await database.drop();
    },
  };
};
