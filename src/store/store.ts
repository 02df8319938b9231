/** The operational store: a database on schema `callsync`, the ledger's epoch, and what it must not hold itself. */
import { createHmac } from 'node:crypto';
import { terminal } from '../errors.ts';
import { type ConnectionUrl, type Database, openDatabase, type Queryable } from '../postgres/database.ts';
import type { ErasureLog } from './erasure-log.ts';
import { migrateStore, storeSchema } from './migrate.ts';

export interface Store extends Database {
  readonly url: ConnectionUrl;
  /** Epoch of the ledger, the highest part of every warehouse guard; 0 before the first is issued. */
  epoch(db?: Queryable): Promise<number>;
  /** What outlives a store that is restored or lost. @throws CallsyncError TOMBSTONE_KEY where it was not given. */
  readonly erasures: Erasures;
  /** Keyed hash of a call id, under which a tombstone stays in warehouses and receipts. @throws CallsyncError TOMBSTONE_KEY */
  keyOf(callId: string): string;
}

/** Kept outside the store: with the store, a backup of it would bring back what was erased. */
export interface Erasures {
  readonly key: Buffer;
  readonly log: ErasureLog;
}

/**
 * Opens and migrates the store.
 * @param options.erasures asked at the first use, so that commands which erase and load nothing need no key.
 * @throws CallsyncError DATABASE_… when it cannot be used.
 */
export const openStore = async (options: {
  url: ConnectionUrl;
  application?: string;
  max?: number;
  erasures?: () => Erasures;
}): Promise<Store> => {
  const common = {
    url: options.url,
    schema: storeSchema,
    application: options.application ?? 'callsync',
    purpose: 'operational store',
  };
  const migrating = openDatabase({ ...common, max: 1, statementMs: migrationMs });
  const database = openDatabase({ ...common, max: options.max ?? 12 });
  let erasures: Erasures | undefined;
  const openErasures = (): Erasures => {
    erasures ??= (options.erasures ?? refuseErasures)();
    return erasures;
  };
  try {
    await migrateStore(migrating);
    return {
      ...database,
      url: options.url,
      epoch: (db = database) => currentEpoch(db),
      get erasures() {
        return openErasures();
      },
      keyOf: (callId) => createHmac('sha256', openErasures().key).update(callId).digest('hex'),
    };
  } catch (error) {
    await database.close();
    throw error;
  } finally {
    await migrating.close();
  }
};

/** One connection to the store as it is, for statements that take long: backups and restores. Nothing is migrated. */
export const openStoreAsItIs = (url: ConnectionUrl): Database =>
  openDatabase({
    url,
    schema: storeSchema,
    application: 'callsync backup',
    purpose: 'operational store',
    max: 1,
    statementMs: migrationMs,
  });

/** A statement of a migration may rewrite a large table. */
const migrationMs = 24 * 3_600_000;

const refuseErasures = (): Erasures => {
  throw terminal('TOMBSTONE_KEY', 'The store was opened without the key of tombstones.');
};

const currentEpoch = async (db: Queryable): Promise<number> => {
  const [row] = await db.query<{ epoch: number | null }>('SELECT max(epoch) AS epoch FROM epochs');
  return row?.epoch ?? 0;
};
