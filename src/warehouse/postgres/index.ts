/** The kind `postgres`. */

import { terminal } from '../../lib/errors.ts';
import { openSecret } from '../../lib/secret.ts';
import { openDatabase, type Queryable } from '../../postgres/database.ts';
import type { WarehouseKind } from '../kind.ts';
import { type PostgresWarehouseConfig, postgresWarehouseSchema } from './config.ts';
import { postgresFragments } from './dialect.ts';
import { type Layout, literal, qualified, quote, tablesOf, wordColumns } from './layout.ts';
import { createPostgresWarehouse, type PostgresWarehouseOptions } from './warehouse.ts';

const urlOf = (name: string, { url, url_file }: PostgresWarehouseConfig) =>
  openSecret({ key: `warehouses.${name}.url`, value: url, file: url_file })?.read;

const martsOf = ({ schema, marts_schema }: PostgresWarehouseConfig): string => marts_schema ?? `${schema}_marts`;

export const postgres: WarehouseKind<PostgresWarehouseConfig> = {
  type: 'postgres',
  config: postgresWarehouseSchema,
  create({ name, config, storeUrl, warn }) {
    const reader = openSecret({ key: `warehouses.${name}.reader_url`, file: config.reader_url_file });
    const url = urlOf(name, config) ?? storeUrl;
    return createPostgresWarehouse({ name, url, readerUrl: reader?.read, config, warn });
  },
  async checkAccess({ name, config, storeUrl }) {
    return await checkPostgresAccess({ name, url: urlOf(name, config) ?? (await storeUrl()), config });
  },
  place: (config) => ({
    tables: config.schema,
    marts: martsOf(config),
    restrictedMarts: martsOf(config),
    fragments: postgresFragments,
    relation: (schema, name) => qualified({ schema, documents: false }, name),
    literal,
    joinsByCall: true,
    words: wordColumns,
  }),
  questions: [
    {
      key: 'url_file',
      message: 'File that holds the connection URL (empty = callsync starts PostgreSQL on this machine)',
      required: false,
    },
  ],
};

// Whether the configured user has the rights for loading; leaves nothing behind.

const scratch = 'callsync_doctor';

/**
 * One sentence. Creates, writes and reads a scratch table in the warehouse's schema, within a transaction that is rolled back.
 * @throws CallsyncError DATABASE_…
 */
export const checkPostgresAccess = async (options: Pick<PostgresWarehouseOptions, 'name' | 'url' | 'config'>) => {
  const layout: Layout = options.config;
  const purpose = `warehouse ${options.name}`;
  const schema = quote(layout.schema);
  const { url } = options;
  const db = openDatabase({ url, schema: layout.schema, application: 'callsync doctor', purpose, max: 1 });
  try {
    return await db.transaction(async (tx) => {
      await tx.query("SET LOCAL lock_timeout = '5s'");
      const { version, present } = await tx.row<{ version: string; present: boolean }>`
          SELECT split_part(current_setting('server_version'), ' ', 1) AS version,
                 EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = ${layout.schema}) AS present`;
      await tx.query('SAVEPOINT before');
      if (!present) await tx.query(`CREATE SCHEMA ${schema}`);
      await tx.query(`CREATE TABLE ${schema}.${scratch} (id integer PRIMARY KEY, body jsonb)`);
      await tx.query(`INSERT INTO ${schema}.${scratch} VALUES (1, '{}')`);
      await tx.query(`SELECT * FROM ${schema}.${scratch}`);
      // A load stages its rows in temporary tables.
      await tx.query(`CREATE TEMPORARY TABLE ${scratch}_stage (id integer)`);
      await tx.query('ROLLBACK TO before');
      const refused = present ? await unwritable(tx, layout) : [];
      if (refused.length > 0)
        throw terminal(
          'DATABASE_PERMISSION',
          `The ${purpose} has tables that its user may not change: ${refused.join(', ')}.`,
          { hint: `Make that user the owner of the tables in schema ${layout.schema}.` },
        );
      return `PostgreSQL ${version}: may create, write and read in schema ${layout.schema}.`;
    });
  } finally {
    await db.close();
  }
};

const unwritable = (tx: Queryable, layout: Layout): Promise<string[]> =>
  tx.column`SELECT c.relname AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE n.nspname = ${layout.schema} AND c.relname = ANY(${tablesOf(layout).map(({ name }) => name)})
        AND NOT (pg_has_role(c.relowner, 'USAGE') AND has_table_privilege(c.oid, 'SELECT, INSERT, UPDATE, DELETE'))`;
