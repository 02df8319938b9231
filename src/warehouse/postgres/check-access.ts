/** Whether the configured user may do in the warehouse what loading needs; leaves nothing behind. */

import { terminal } from '../../lib/errors.ts';
import { type ConnectionUrl, inTransaction, openPool } from '../../postgres/database.ts';
import type { PostgresWarehouseConfig } from './config.ts';
import { type Layout, quote, tablesOf } from './layout.ts';

const scratch = 'callsync_doctor';

/**
 * One sentence. Creates, writes and reads a scratch table in the warehouse's schema, within a transaction that is rolled back.
 * @throws CallsyncError DATABASE_…
 */
export const checkPostgresAccess = async (options: {
  readonly name: string;
  readonly url: ConnectionUrl;
  readonly config: Pick<PostgresWarehouseConfig, 'schema' | 'documents'>;
}): Promise<string> => {
  const layout: Layout = options.config;
  const purpose = `warehouse ${options.name}`;
  const schema = quote(layout.schema);
  const pool = openPool({ url: options.url, schema: layout.schema, application: 'callsync doctor', purpose, max: 1 });
  try {
    return await inTransaction(pool, purpose, async (client) => {
      await client.query("SET LOCAL lock_timeout = '5s'");
      const { rows } = await client.query<{ version: string; present: boolean }>(
        `SELECT current_setting('server_version') AS version,
                EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = $1) AS present`,
        [layout.schema],
      );
      const present = rows[0]?.present === true;
      await client.query('SAVEPOINT before');
      if (!present) await client.query(`CREATE SCHEMA ${schema}`);
      await client.query(`CREATE TABLE ${schema}.${scratch} (id integer PRIMARY KEY, body jsonb)`);
      await client.query(`INSERT INTO ${schema}.${scratch} VALUES (1, '{}')`);
      await client.query(`SELECT * FROM ${schema}.${scratch}`);
      // A load stages its rows in temporary tables.
      await client.query(`CREATE TEMPORARY TABLE ${scratch}_stage (id integer)`);
      await client.query('ROLLBACK TO before');
      const refused = present ? await unwritable(client, layout) : [];
      if (refused.length > 0) {
        throw terminal(
          'DATABASE_PERMISSION',
          `The ${purpose} has tables that its user may not change: ${refused.join(', ')}.`,
          {
            hint: `Make that user the owner of the tables in schema ${layout.schema}.`,
          },
        );
      }
      const version = (rows[0]?.version ?? '').split(' ')[0];
      return `PostgreSQL ${version}: may create, write and read in schema ${layout.schema}.`;
    });
  } finally {
    await pool.end();
  }
};

interface Querying {
  query<R>(sql: string, values: unknown[]): Promise<{ rows: R[] }>;
}

const unwritable = async (client: Querying, layout: Layout): Promise<string[]> => {
  const { rows } = await client.query<{ name: string }>(
    `SELECT c.relname AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE n.nspname = $1 AND c.relname = ANY($2)
        AND NOT (pg_has_role(c.relowner, 'USAGE') AND has_table_privilege(c.oid, 'SELECT, INSERT, UPDATE, DELETE'))`,
    [layout.schema, tablesOf(layout).map(({ name }) => name)],
  );
  return rows.map(({ name }) => name);
};
