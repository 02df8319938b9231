/** The store's schema: one SQL file, applied once. */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { terminal } from '../lib/errors.ts';
import type { Database } from '../postgres/database.ts';

export const storeSchema = 'callsync';

/**
 * Makes the tables of a store that has none, in one transaction; safe to run concurrently.
 * @returns whether it made them.
 * @throws CallsyncError STORE_SCHEMA where another version of callsync made them
 */
export const migrateStore = async (database: Database): Promise<boolean> => {
  const sql = await readFile(new URL('./schema.sql', import.meta.url), 'utf8');
  const name = `schema.sql ${createHash('sha256').update(sql).digest('hex').slice(0, 12)}`;
  return await database.transaction(async (tx) => {
    await tx.query("SELECT pg_advisory_xact_lock(hashtext('callsync.migrate'))");
    await tx.query(`CREATE SCHEMA IF NOT EXISTS ${storeSchema}`);
    await tx.query(
      `CREATE TABLE IF NOT EXISTS ${storeSchema}.migrations (name text PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())`,
    );
    const applied = await tx.query<{ name: string }>(`SELECT name FROM ${storeSchema}.migrations`);
    if (applied.some((one) => one.name !== name)) {
      throw terminal('STORE_SCHEMA', 'Another version of callsync made the tables of the operational store.', {
        hint: 'Run that version, or name an empty database in store.url (without store.url: another store.data_dir) and read the calls again with callsync backfill.',
      });
    }
    if (applied.length > 0) return false;
    await tx.client.query(sql);
    await tx.query(`INSERT INTO ${storeSchema}.migrations (name) VALUES ($1)`, [name]);
    return true;
  });
};
