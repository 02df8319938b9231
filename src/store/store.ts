/** The operational store: a pool on schema `callsync`, the ledger's epoch, and the key of tombstones. */
import { createHmac, randomBytes } from 'node:crypto';
import type pg from 'pg';
import { inTransaction, openPool, runQuery } from '../postgres/connection.ts';
import { migrateStore, storeSchema } from './migrate.ts';

export const storePurpose = 'operational store';

export interface Store {
  readonly pool: pg.Pool;
  readonly url: string;
  /** Epoch of the ledger, the highest part of every warehouse guard. */
  epoch(db?: pg.Pool | pg.PoolClient): Promise<number>;
  /** Keyed hash of a call id, under which a tombstone stays in warehouses and receipts. */
  keyOf(callId: string): string;
  close(): Promise<void>;
}

/** Opens and migrates the store. @throws CallsyncError DATABASE_… when it cannot be used. */
export const openStore = async (options: { url: string; application?: string; max?: number }): Promise<Store> => {
  const pool = openPool({
    url: options.url,
    schema: storeSchema,
    application: options.application ?? 'callsync',
    purpose: storePurpose,
    max: options.max ?? 12,
  });
  try {
    await migrateStore(pool);
    const key = await tombstoneKey(pool);
    return {
      pool,
      url: options.url,
      epoch: (db) => currentEpoch(db ?? pool),
      keyOf: (callId) => createHmac('sha256', key).update(callId).digest('hex'),
      close: () => pool.end(),
    };
  } catch (error) {
    await pool.end();
    throw error;
  }
};

const tombstoneKey = async (pool: pg.Pool): Promise<Buffer> => {
  await runQuery(
    pool,
    storePurpose,
    `INSERT INTO meta (key, value) VALUES ('tombstone_key', to_jsonb($1::text)) ON CONFLICT (key) DO NOTHING`,
    [randomBytes(32).toString('hex')],
  );
  const [row] = await runQuery<{ value: string }>(
    pool,
    storePurpose,
    `SELECT value FROM meta WHERE key = 'tombstone_key'`,
  );
  return Buffer.from(row?.value ?? '', 'hex');
};

const currentEpoch = async (pool: pg.Pool | pg.PoolClient): Promise<number> => {
  const [row] = await runQuery<{ epoch: number }>(pool, storePurpose, 'SELECT max(epoch) AS epoch FROM epochs');
  return row?.epoch ?? 0;
};

/**
 * Issues an epoch above every one known here and in the warehouses, and makes every call pending again: used when a
 * ledger is created, or restored from a backup that is older than what the warehouses hold.
 */
export const issueEpoch = async (pool: pg.Pool, reason: string, highestElsewhere: number): Promise<number> =>
  await inTransaction(pool, storePurpose, async (client) => {
    // Loads being completed finish before or wait: one that knows only the old epoch must not settle a call after this.
    await client.query('LOCK TABLE warehouse_calls IN EXCLUSIVE MODE');
    const { rows } = await client.query<{ epoch: number }>(
      `INSERT INTO epochs (epoch, reason)
       SELECT greatest(coalesce(max(epoch), 0), $2::int) + 1, $1 FROM epochs
       RETURNING epoch`,
      [reason, highestElsewhere],
    );
    await client.query('UPDATE warehouse_calls SET pending = true WHERE NOT pending');
    return rows[0]?.epoch ?? 0;
  });
