/** The operational store: a database on schema `callsync`, the ledger's epoch, and the key of tombstones. */
import { createHmac, randomBytes } from 'node:crypto';
import type { ConnectionUrl } from '../postgres/connection.ts';
import { type Database, openDatabase, type Queryable } from '../postgres/database.ts';
import { keepMeta } from './meta.ts';
import { migrateStore, storeSchema } from './migrate.ts';

export interface Store extends Database {
  readonly url: ConnectionUrl;
  /** Epoch of the ledger, the highest part of every warehouse guard; 0 before the first is issued. */
  epoch(db?: Queryable): Promise<number>;
  /** Keyed hash of a call id, under which a tombstone stays in warehouses and receipts. */
  keyOf(callId: string): string;
}

/** Opens and migrates the store. @throws CallsyncError DATABASE_… when it cannot be used. */
export const openStore = async (options: {
  url: ConnectionUrl;
  application?: string;
  max?: number;
}): Promise<Store> => {
  const database = openDatabase({
    url: options.url,
    schema: storeSchema,
    application: options.application ?? 'callsync',
    purpose: 'operational store',
    max: options.max ?? 12,
  });
  try {
    await migrateStore(database);
    const key = await tombstoneKey(database);
    return {
      ...database,
      url: options.url,
      epoch: (db = database) => currentEpoch(db),
      keyOf: (callId) => createHmac('sha256', key).update(callId).digest('hex'),
    };
  } catch (error) {
    await database.close();
    throw error;
  }
};

const tombstoneKey = async (db: Queryable): Promise<Buffer> =>
  Buffer.from(await keepMeta(db, 'tombstone_key', randomBytes(32).toString('hex')), 'hex');

const currentEpoch = async (db: Queryable): Promise<number> => {
  const [row] = await db.query<{ epoch: number | null }>('SELECT max(epoch) AS epoch FROM epochs');
  return row?.epoch ?? 0;
};
