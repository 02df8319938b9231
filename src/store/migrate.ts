/** The store's schema: numbered SQL files, each applied once. */
import { readdir, readFile } from 'node:fs/promises';
import type { Database, Transaction } from '../postgres/database.ts';

export const storeSchema = 'callsync';
const migrationsFolder = new URL('./migrations/', import.meta.url);

/**
 * Applies the files that the store does not have yet, in one transaction; safe to run concurrently. Returns their names.
 * The number orders the files, the words behind it identify one: a file that gets another number is not applied again.
 */
export const migrateStore = async (database: Database): Promise<readonly string[]> =>
  await database.transaction(async (tx) => await migrateWithin(tx, await listMigrations()));

/** Names of all files, in their order. */
export const listMigrations = async (): Promise<readonly string[]> =>
  (await readdir(migrationsFolder)).filter((name) => name.endsWith('.sql')).sort();

/** As `migrateStore`, with some of the files, in a transaction of the caller. */
export const migrateWithin = async (tx: Transaction, files: readonly string[]): Promise<readonly string[]> => {
  await tx.query("SELECT pg_advisory_xact_lock(hashtext('callsync.migrate'))");
  await tx.query(`CREATE SCHEMA IF NOT EXISTS ${storeSchema}`);
  await tx.query(
    `CREATE TABLE IF NOT EXISTS ${storeSchema}.migrations (name text PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())`,
  );
  const applied = await tx.query<{ name: string }>(`SELECT name FROM ${storeSchema}.migrations`);
  const missing = files.filter((file) => !applied.some(({ name }) => isSameMigration(name, file)));
  for (const name of missing) {
    await tx.client.query(await readFile(new URL(name, migrationsFolder), 'utf8'));
    await tx.query(`INSERT INTO ${storeSchema}.migrations (name) VALUES ($1)`, [name]);
  }
  return missing;
};

/** Whether two file names are one migration, whatever its number: another branch may have taken the number. */
export const isSameMigration = (one: string, other: string): boolean => wordsOf(one) === wordsOf(other);

const wordsOf = (file: string): string => file.replace(/^\d+_/, '');
