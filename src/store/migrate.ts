import { readdir, readFile } from 'node:fs/promises';
import type pg from 'pg';
import { inTransaction, postgresError } from '../postgres/connection.ts';

const purpose = 'operational store';
export const storeSchema = 'callsync';
const migrationsFolder = new URL('./migrations/', import.meta.url);

/** Applies the numbered SQL files that the store does not have yet, each in a transaction. Safe to run concurrently. */
export const migrateStore = async (pool: pg.Pool): Promise<readonly string[]> => {
  const files = (await readdir(migrationsFolder)).filter((name) => name.endsWith('.sql')).sort();
  return await inTransaction(pool, purpose, async (client) => {
    await client.query("SELECT pg_advisory_xact_lock(hashtext('callsync.migrate'))");
    await client.query(`CREATE SCHEMA IF NOT EXISTS ${storeSchema}`);
    await client.query(
      `CREATE TABLE IF NOT EXISTS ${storeSchema}.migrations (name text PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())`,
    );
    const { rows } = await client.query<{ name: string }>(`SELECT name FROM ${storeSchema}.migrations`);
    const applied = new Set(rows.map((row) => row.name));
    const missing = files.filter((name) => !applied.has(name));
    for (const name of missing) {
      const sql = await readFile(new URL(name, migrationsFolder), 'utf8');
      try {
        await client.query(sql);
      } catch (cause) {
        throw postgresError(`${purpose} (migration ${name})`, cause);
      }
      await client.query(`INSERT INTO ${storeSchema}.migrations (name) VALUES ($1)`, [name]);
    }
    return missing;
  });
};
