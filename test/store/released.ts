/** The store and the spool of the previous release: `npm run replay:record` keeps them in test/store/released. */
import { readFile, writeFile } from 'node:fs/promises';
import { gunzipSync, gzipSync } from 'node:zlib';
import type { Store } from '../../src/store/store.ts';
import { runOnServer, type TestDatabase } from '../support/postgres.ts';

export const releaseFolder = new URL('released/', import.meta.url);
const file = new URL('store.sql.gz', releaseFolder);

/** Tables and rows as SQL, so that it does not matter which programs of PostgreSQL this machine has. */
export const dumpStore = async (store: Store): Promise<void> => {
  const schema = await readFile(new URL('../../src/store/schema.sql', import.meta.url), 'utf8');
  const made =
    'CREATE TABLE callsync.migrations (name text PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now());';
  const parts = [`CREATE SCHEMA callsync; SET search_path = callsync; ${made}\n${schema}`];
  const tables = await store.query<{ name: string; key: string | null }>(
    `SELECT table_name AS name, (SELECT column_name FROM information_schema.columns c
                                  WHERE c.table_schema = t.table_schema AND c.table_name = t.table_name AND is_identity = 'YES') AS key
       FROM information_schema.tables t WHERE table_schema = 'callsync' AND table_type = 'BASE TABLE' ORDER BY 1`,
  );
  for (const { name, key } of tables) {
    const [found] = await store.query<{ rows: string | null }>(`SELECT json_agg(t)::text AS rows
        FROM callsync.${name} t`);
    const rows = found?.rows ?? '[]';
    parts.push(`INSERT INTO callsync.${name} OVERRIDING SYSTEM VALUE SELECT *
        FROM json_populate_recordset(NULL::callsync.${name}, $dump$${rows}$dump$);`);
    if (key === null) continue;
    const sequence = `pg_get_serial_sequence('callsync.${name}', '${key}')`;
    parts.push(`SELECT setval(${sequence}, (SELECT coalesce(max(${key}), 1) FROM callsync.${name}));`);
  }
  await writeFile(file, gzipSync(parts.join('\n')));
};

/** Without triggers, as a restore of data does it. */
export const restoreReleased = async ({ adminUrl }: TestDatabase): Promise<void> => {
  const sql = gunzipSync(await readFile(file)).toString();
  await runOnServer(adminUrl, `SET session_replication_role = replica; SET ROLE callsync; ${sql}`);
};
