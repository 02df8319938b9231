/** The operational store: a database on schema `callsync`, the ledger's epoch, and what it must not hold itself. */
import { CallsyncError, terminal, transient } from '../errors.ts';
import { createKeyedHash } from '../keyed-hash.ts';
import { type ConnectionUrl, type Database, openDatabase, type Queryable } from '../postgres/database.ts';
import type { ErasureLog } from './erasure-log.ts';
import { migrateStore, storeSchema } from './migrate.ts';

export interface Store extends Database {
  readonly url: ConnectionUrl;
  /** Epoch of the ledger, the highest part of every warehouse guard; 0 before the first is issued. */
  epoch(db?: Queryable): Promise<number>;
  /** What outlives a store that is restored or lost. @throws CallsyncError TOMBSTONE_KEY where it was not given. */
  readonly erasures: Erasures;
  /** Keyed hash of a call id, or of another subject of an erasure, under which a tombstone stays in warehouses and receipts. @throws CallsyncError TOMBSTONE_KEY */
  keyOf(callId: string): string;
  /** As `erasures` has it: what is stored or folded is asked for it where somebody was erased, and not before. */
  subjectsIn(text: string): Iterable<string>;
}

/** Kept outside the store: with the store, a backup of it would bring back what was erased. */
export interface Erasures {
  readonly key: Buffer;
  readonly log: ErasureLog;
  /** Every call id and person that a text may name, in a form of which keyed hashes are made. */
  readonly subjectsIn: (text: string) => Iterable<string>;
  /** Undefined where there are no privacy rules: requests of persons then read every call. */
  readonly index?: SubjectIndex | undefined;
}

/** By what requests of persons find calls without reading them. */
export interface SubjectIndex {
  /** Changes with whatever changes the hashes of a call, the key too. 32 bits. */
  readonly version: number;
  /** The first 8 bytes, in hex, of the keyed hash of each subject that a document names. */
  readonly hashesOf: (document: Readonly<Record<string, unknown>>) => readonly string[];
  /**
   * The same while the call is folded; undefined where it would take a look at everything that is said, for which no fold waits.
   * @param rules version of the privacy rules that the document is under.
   */
  readonly foldedHashesOf: (
    document: Readonly<Record<string, unknown>>,
    rules: string | null,
  ) => readonly string[] | undefined;
  /** The same of one subject. */
  readonly hashOf: (subject: string) => string;
}

/**
 * What tells a worker, for the price of one small query, that the ledger is no longer the one it knew: restored, dropped, or
 * answered for by another server. Nothing is compared here; see `src/pipeline/load/check-ledger.ts`.
 */
export interface LedgerMark {
  /** Changes with every restore, with every epoch, and with every start of the server. */
  readonly identity: string;
  readonly epoch: number;
  /** How many of the asked loads the ledger knows. */
  readonly known: number;
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
  let keyedHash: ((text: string) => string) | undefined;
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
      subjectsIn: (text) => openErasures().subjectsIn(text),
      keyOf: (callId) => {
        keyedHash ??= createKeyedHash(openErasures().key);
        return keyedHash(callId);
      },
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

/**
 * A restore writes the row of an epoch again, in another transaction. It creates the foreign key last: without it the
 * tables are there, and not yet their rows.
 */
const markSql = `SELECT concat_ws(' ', pg_postmaster_start_time(), c.oid, e.epoch, e.xmin) AS identity,
       coalesce(e.epoch, 0) AS epoch, (SELECT count(*) FROM loads WHERE load_id = ANY($1)) AS known
  FROM pg_constraint c LEFT JOIN (SELECT epoch, xmin FROM epochs ORDER BY epoch DESC LIMIT 1) e ON true
 WHERE c.conrelid = 'load_calls'::regclass AND c.contype = 'f'`;

/** @throws CallsyncError DATABASE_INCOMPLETE while tables are missing or being restored, or another of the store */
export const readLedgerMark = async (store: Store, loadIds: readonly string[]): Promise<LedgerMark> => {
  const [mark] = await store.query<LedgerMark>(markSql, [loadIds]);
  if (mark !== undefined) return mark;
  throw transient('DATABASE_INCOMPLETE', 'The operational store is being restored.');
};

/**
 * Creates the tables of a store that was dropped, unless somebody is at work in the database: then they are being restored.
 * @returns whether they were created.
 */
export const recreateStore = async (store: Store): Promise<boolean> => {
  const [found] = await store.query<{ dropped: boolean; busy: boolean }>(
    `SELECT to_regclass('callsync.migrations') IS NULL AS dropped,
            EXISTS (SELECT FROM pg_stat_activity
                     WHERE datname = current_database() AND backend_type = 'client backend' AND application_name NOT LIKE 'callsync%' AND state <> 'idle'
                       AND pid <> pg_backend_pid()) AS busy`,
  );
  if (found?.dropped !== true || found.busy) return false;
  return (await migrateStore(store)).length > 0;
};

/** Tables, or what belongs to them, are missing. */
export const isIncomplete = (error: unknown): boolean =>
  error instanceof CallsyncError && error.code === 'DATABASE_INCOMPLETE';

/** A statement of a migration may rewrite a large table. */
const migrationMs = 24 * 3_600_000;

const refuseErasures = (): Erasures => {
  throw terminal('TOMBSTONE_KEY', 'The store was opened without the key of tombstones.');
};

const currentEpoch = async (db: Queryable): Promise<number> => {
  const [row] = await db.query<{ epoch: number | null }>('SELECT max(epoch) AS epoch FROM epochs');
  return row?.epoch ?? 0;
};
