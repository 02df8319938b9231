/** Config section `warehouses:`: a map of name → settings. */
import { z } from 'zod';

const common = {
  documents: z
    .boolean()
    .default(false)
    .describe('Also keep the full folded document of each call in a table of its own.'),
  marts: z
    .boolean()
    .default(true)
    .describe('Create the marts: views for analysts, in a schema or dataset of their own.'),
  marts_schema: z
    .string()
    .regex(/^[a-z_][a-z0-9_]{0,62}$/)
    .optional()
    .describe('Schema or dataset of the marts; by default that of the tables, followed by _marts.'),
};

export const postgresWarehouseSchema = z.strictObject({
  type: z.literal('postgres'),
  url: z
    .string()
    .optional()
    .describe('Connection URL. Without it, the store’s own server is used (schema of its own).'),
  url_file: z.string().optional().describe('File that holds the connection URL, instead of `url`.'),
  schema: z
    .string()
    .regex(/^[a-z_][a-z0-9_]{0,62}$/)
    .default('calls')
    .describe('Schema of the analysts’ tables; created if it does not exist.'),
  ...common,
});

export const bigqueryWarehouseSchema = z.strictObject({
  type: z.literal('bigquery'),
  project: z.string().describe('Google Cloud project that holds the dataset and runs the jobs.'),
  dataset: z
    .string()
    .regex(/^[A-Za-z0-9_]{1,1024}$/)
    .default('calls')
    .describe('Dataset of the analysts’ tables; created if it does not exist.'),
  staging_dataset: z.string().optional().describe('Dataset of the staging tables; the same as `dataset` by default.'),
  location: z.string().default('EU').describe('Location of the dataset, such as EU, US or europe-west9.'),
  key_file: z
    .string()
    .optional()
    .describe(
      'Service-account key or workload-identity configuration file; application default credentials without it.',
    ),
  impersonate: z.string().optional().describe('Service account to act as.'),
  api_endpoint: z.string().optional().describe('Address of an emulator; requests to it carry no credentials.'),
  kms_key: z.string().optional().describe('Cloud KMS key name for the tables.'),
  labels: z.record(z.string(), z.string()).default({}).describe('Labels for dataset, tables and jobs.'),
  partition_expiration_days: z
    .number()
    .int()
    .positive()
    .optional()
    .describe('Partitions older than this are dropped by BigQuery.'),
  staging_expiration_hours: z
    .number()
    .positive()
    .default(24)
    .describe('After this, BigQuery drops a left-over staging table by itself.'),
  maximum_bytes_billed: z.number().int().positive().optional().describe('Limit on the bytes that one job may bill.'),
  commit_interval_s: z
    .number()
    .positive()
    .default(60)
    .describe('Least seconds between two commits of continuous sync.'),
  changes_interval_s: z
    .number()
    .min(0)
    .optional()
    .describe(
      'Least seconds between two commits that change calls which are there already: each reads, and bills, the whole days of these calls. New calls and erasures do not wait. 600 by default, 0 with an emulator.',
    ),
  max_calls_per_load: z.number().int().positive().max(20_000).default(2_000).describe('Most calls in one commit.'),
  quota: z
    .strictObject({
      jobs_per_day: z
        .number()
        .int()
        .positive()
        .default(1_400)
        .describe('Load jobs a day that callsync allows itself (documented limit 1,500 a table).'),
    })
    .prefault({})
    .describe('What callsync allows itself of the documented quotas.'),
  ...common,
});

export const warehouseConfigSchema = z.discriminatedUnion('type', [postgresWarehouseSchema, bigqueryWarehouseSchema]);
export const warehousesConfigSchema = z
  .record(z.string().regex(/^[a-z][a-z0-9_-]{0,40}$/), warehouseConfigSchema)
  .default({ postgres: { type: 'postgres', schema: 'calls', documents: false, marts: true } })
  .describe('Where call data is loaded, by a name of your choice; several at once.');

export type PostgresWarehouseConfig = z.infer<typeof postgresWarehouseSchema>;
export type BigqueryWarehouseConfig = z.infer<typeof bigqueryWarehouseSchema>;
export type WarehouseConfig = z.infer<typeof warehouseConfigSchema>;
