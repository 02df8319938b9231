/** Puts a backup in the place of the store, in one transaction: others see the old store or the restored one. */
import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { from as copyFrom } from 'pg-copy-streams';
import { type CallsyncError, terminal } from '../../errors.ts';
import type { Database, Transaction } from '../../postgres/database.ts';
import { receiverGrants } from '../delivery/receiver-role.ts';
import { isSameMigration, listMigrations, migrateWithin, storeSchema } from '../migrate.ts';
import { digestFile, quoteAll } from './back-up-store.ts';
import { type BackupManifest, readManifest, tablePath } from './manifest.ts';

export interface RestoredStore {
  readonly rows: Readonly<Record<string, number>>;
  /** Migrations that the backup lacked and that were applied after it. */
  readonly migrated: readonly string[];
  /** Roles of receivers, which have their rights again. */
  readonly receivers: readonly string[];
}

/**
 * Workers notice the restore by themselves and issue a new epoch; what the warehouses know of erasures is replayed.
 * @param input.replace also where the store that is there holds calls.
 * @throws CallsyncError USAGE_FILE where there is no backup; BACKUP_DAMAGED, BACKUP_NEWER, STORE_NOT_EMPTY; DATABASE_…
 */
export const restoreStore = async (
  database: Database,
  input: { readonly folder: string; readonly replace: boolean; readonly onTable: (table: string) => void },
): Promise<RestoredStore> => {
  const manifest = await readManifest(input.folder);
  const known = await listMigrations();
  const unknown = manifest.migrations.filter((name) => !known.some((one) => isSameMigration(one, name)));
  if (unknown.length > 0) {
    throw terminal('BACKUP_NEWER', `The backup is of a newer callsync (${manifest.made_by}).`, {
      hint: 'Restore it with that version, or a newer one.',
    });
  }
  await checkFiles(input.folder, manifest);
  return await database.transaction(async (tx) => {
    if (!input.replace && (await holdsCalls(tx))) {
      throw terminal('STORE_NOT_EMPTY', 'There is an operational store in this database, and it holds calls.', {
        hint: 'Back it up, then give --replace; or name another database.',
      });
    }
    const receivers = await listReceivers(tx);
    await tx.query(`DROP SCHEMA IF EXISTS ${storeSchema} CASCADE`);
    await migrateWithin(
      tx,
      known.filter((one) => manifest.migrations.some((name) => isSameMigration(one, name))),
    );
    const rows: Record<string, number> = {};
    for (const table of manifest.tables) {
      rows[table.name] = await readTable(tx, input.folder, table);
      input.onTable(table.name);
    }
    for (const [name, value] of Object.entries(manifest.sequences)) {
      await tx.query(`SELECT setval(format('%I.%I', $1::text, $2::text)::regclass, $3)`, [storeSchema, name, value]);
    }
    const migrated = await migrateWithin(tx, known);
    for (const role of receivers) for (const statement of receiverGrants(role)) await tx.query(statement);
    return { rows, migrated, receivers };
  });
};

const damaged = (name: string): CallsyncError =>
  terminal('BACKUP_DAMAGED', `File ${name} of the backup is missing, cut off or changed.`, {
    hint: 'Take another copy of the backup. Nothing was restored.',
  });

const checkFiles = async (folder: string, { tables }: BackupManifest): Promise<void> => {
  for (const { name, sha256 } of tables) {
    const path = tablePath(folder, name);
    if ((await digestFile(path).catch(() => undefined)) !== sha256) throw damaged(path);
  }
};

const holdsCalls = async (tx: Transaction): Promise<boolean> => {
  const [present] = await tx.query<{ ledger: boolean }>('SELECT to_regclass($1) IS NOT NULL AS ledger', [
    `${storeSchema}.ledger`,
  ]);
  if (present?.ledger !== true) return false;
  return (await tx.query(`SELECT FROM ${storeSchema}.ledger LIMIT 1`)).length > 0;
};

/** Roles other than the owner that may add deliveries. */
const listReceivers = async (tx: Transaction): Promise<readonly string[]> => {
  const rows = await tx.query<{ grantee: string }>(
    `SELECT DISTINCT grantee FROM information_schema.role_table_grants
      WHERE table_schema = $1 AND table_name = 'inbox' AND privilege_type = 'INSERT'
        AND grantee <> current_user AND grantee <> 'PUBLIC' ORDER BY grantee`,
    [storeSchema],
  );
  return rows.map(({ grantee }) => grantee);
};

/** Without triggers, for the counters that they keep are restored as well; what a migration put in is replaced. */
const readTable = async (
  tx: Transaction,
  folder: string,
  { name, columns, rows }: BackupManifest['tables'][number],
): Promise<number> => {
  const table = `${storeSchema}."${name}"`;
  await tx.query(`ALTER TABLE ${table} DISABLE TRIGGER USER`);
  await tx.query(`DELETE FROM ${table}`);
  const copy = tx.client.query(copyFrom(`COPY ${table} (${quoteAll(columns)}) FROM STDIN`));
  await pipeline(createReadStream(tablePath(folder, name)), createGunzip(), copy);
  if (copy.rowCount !== rows) throw damaged(tablePath(folder, name));
  await tx.query(`ALTER TABLE ${table} ENABLE TRIGGER USER`);
  return rows;
};
