/**
 * What tells a worker, for the price of one small query, that the ledger is no longer the one it knew: restored, dropped,
 * or answered for by another server. Nothing is compared here; see `src/pipeline/load/check-ledger.ts`.
 */
import { CallsyncError, transient } from '../errors.ts';
import { migrateStore } from './migrate.ts';
import type { Store } from './store.ts';

export interface LedgerMark {
  /** Changes with every restore, with every epoch, and with every start of the server. */
  readonly identity: string;
  readonly epoch: number;
  /** How many of the asked loads the ledger knows. */
  readonly known: number;
}

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
                     WHERE datname = current_database() AND application_name NOT LIKE 'callsync%' AND state <> 'idle'
                       AND pid <> pg_backend_pid()) AS busy`,
  );
  if (found?.dropped !== true || found.busy) return false;
  return (await migrateStore(store)).length > 0;
};

/** Tables, or what belongs to them, are missing. */
export const isIncomplete = (error: unknown): boolean =>
  error instanceof CallsyncError && error.code === 'DATABASE_INCOMPLETE';
