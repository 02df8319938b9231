/** Settings of a PostgreSQL warehouse. */
import { z } from 'zod';
import { a, everyWarehouse, notBoth, postgresUrl, withDefault } from '../../../schemas/config/values.ts';

export const postgresWarehouseSchema = z
  .strictObject({
    type: z.literal('postgres'),
    url: postgresUrl.describe('Connection URL. Without it, the tables have a schema on the server of the store.'),
    url_file: a.file.describe('File that holds the connection URL, instead of `url`.'),
    reader_url_file: a.file.describe(
      'File that holds the connection URL of a read-only role, for `callsync query`. Without it, callsync creates the role USER_callsync_reader, where USER owns the tables.',
    ),
    schema: withDefault
      .matching(/^[a-z_][a-z0-9_]{0,62}$/, 'calls')
      .describe('Schema of the analysts’ tables; created if it does not exist.'),
    ...everyWarehouse,
  })
  .refine(...notBoth('url'));

export type PostgresWarehouseConfig = z.infer<typeof postgresWarehouseSchema>;
