/** The kind `postgres`. */

import { openSecret } from '../../lib/secret.ts';
import type { WarehouseKind } from '../kind.ts';
import { checkPostgresAccess } from './check-access.ts';
import { type PostgresWarehouseConfig, postgresWarehouseSchema } from './config.ts';
import { postgresFragments } from './dialect.ts';
import { literal, qualified, wordColumns } from './layout.ts';
import { createPostgresWarehouse } from './warehouse.ts';

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
