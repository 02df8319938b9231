/** The whole store as files, of one moment, while others use it. Its schema is left as it is: nothing is migrated. */
import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { to as copyTo } from 'pg-copy-streams';
import { terminal } from '../../errors.ts';
import { writeFolder } from '../../new-folder.ts';
import type { Database, Transaction } from '../../postgres/database.ts';
import { storeSchema } from '../migrate.ts';
import { type BackupManifest, type BackupTable, manifestPath, tablePath } from './manifest.ts';

/** SHA-256 of a file, in hex. */
export const digestFile = async (path: string): Promise<string> => {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
};

/**
 * Writes one compressed file for each table and a manifest, all as of the beginning. Neither the key of tombstones nor the
 * erasure log is among them: with them, a restored store would have forgotten what was erased since.
 * @param input.folder does not exist, or is empty. @param input.version written to the manifest.
 * @throws CallsyncError USAGE_FILE, STORE_MISSING, DATABASE_…
 */
export const backUpStore = async (
  database: Database,
  input: { readonly folder: string; readonly version: string; readonly onTable: (table: BackupTable) => void },
): Promise<BackupManifest> =>
  await writeFolder(input.folder, async (partial) => {
    const manifest = await database.transaction(async (tx): Promise<BackupManifest> => {
      await tx.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY');
      const [found] = await tx.query<{ present: boolean }>('SELECT to_regclass($1) IS NOT NULL AS present', [
        `${storeSchema}.migrations`,
      ]);
      if (found?.present !== true) {
        throw terminal('STORE_MISSING', 'There is no operational store in this database.', {
          hint: 'Check store.url of the configuration.',
        });
      }
      const applied = await tx.query<{ name: string }>('SELECT name FROM migrations ORDER BY name');
      const tables: BackupTable[] = [];
      for (const table of await listTables(tx)) {
        const written = await writeTable(tx, table, partial);
        input.onTable(written);
        tables.push(written);
      }
      const sequences = await tx.query<{ name: string; value: number }>(
        'SELECT sequencename AS name, last_value AS value FROM pg_sequences WHERE schemaname = $1 AND last_value IS NOT NULL',
        [storeSchema],
      );
      return {
        format: 1,
        made_by: `callsync ${input.version}`,
        made_at: new Date().toISOString(),
        migrations: applied.map(({ name }) => name),
        tables,
        sequences: Object.fromEntries(sequences.map(({ name, value }) => [name, value])),
      };
    });
    await writeFile(manifestPath(partial), `${JSON.stringify(manifest, null, 2)}\n`, { mode: 0o600 });
    return manifest;
  });

interface StoreTable {
  readonly name: string;
  readonly columns: readonly string[];
}

/** Tables with foreign keys come last: nothing refers to them. */
const listTables = (tx: Transaction): Promise<StoreTable[]> =>
  tx.query<StoreTable>(
    `SELECT c.relname AS name,
            array_agg(a.attname::text ORDER BY a.attnum) AS columns
       FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
      WHERE c.relnamespace = $1::regnamespace AND c.relkind = 'r' AND c.relname <> 'migrations'
      GROUP BY c.oid, c.relname
      ORDER BY EXISTS (SELECT FROM pg_constraint f WHERE f.conrelid = c.oid AND f.contype = 'f'), c.relname`,
    [storeSchema],
  );

const writeTable = async (tx: Transaction, { name, columns }: StoreTable, folder: string): Promise<BackupTable> => {
  const path = tablePath(folder, name);
  const rows = tx.client.query(copyTo(`COPY ${storeSchema}."${name}" (${quoteAll(columns)}) TO STDOUT`));
  await pipeline(rows, createGzip({ level: 1 }), createWriteStream(path, { mode: 0o600, flags: 'wx' }));
  return { name, columns, rows: rows.rowCount ?? 0, sha256: await digestFile(path) };
};

export const quoteAll = (columns: readonly string[]): string => columns.map((column) => `"${column}"`).join(', ');
