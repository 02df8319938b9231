/** Settings of a BigQuery warehouse. */
import { optional, z } from 'zod';
import { a, everyWarehouse, withDefault } from '../../../schemas/config/values.ts';

const { count, matching, positive, text } = withDefault;

export const bigqueryWarehouseSchema = z.strictObject({
  type: z.literal('bigquery'),
  project: z.string().describe('Google Cloud project that holds the dataset and runs the jobs.'),
  dataset: matching(/^[A-Za-z0-9_]{1,1024}$/, 'calls').describe('Dataset of the analysts’ tables; created if missing.'),
  staging_dataset: a.text.describe('Dataset of the staging tables; the same as `dataset` by default.'),
  location: text('EU').describe('Location of the dataset, such as EU, US or europe-west9.'),
  key_file: a.text.describe('Service-account key or workload-identity file. Default: application default credentials.'),
  impersonate: a.text.describe('Service account to act as.'),
  api_endpoint: a.text.describe('Address of an emulator; requests to it carry no credentials.'),
  kms_key: a.text.describe('Cloud KMS key name for the tables.'),
  labels: z.record(z.string(), z.string()).default({}).describe('Labels for dataset, tables and jobs.'),
  partition_expiration_days: optional(a.count).describe('Age in days at which BigQuery drops a partition.'),
  staging_expiration_hours: positive(24).describe('Hours after which BigQuery drops an abandoned staging table.'),
  maximum_bytes_billed: optional(a.count).describe('Limit on the bytes that one job may bill.'),
  commit_interval_s: positive(60).describe('Shortest time between two commits of continuous sync, in seconds.'),
  changes_interval_s: optional(a.notNegative).describe(
    'Shortest time between two commits that update existing calls, in seconds. Each reads and bills the whole days of these calls. New calls and erasures do not wait. 600 by default, 0 with an emulator.',
  ),
  max_calls_per_load: count(2_000, 20_000).describe('Most calls in one commit.'),
  quota: z
    .strictObject({
      jobs_per_day: count(1_400).describe('Most load jobs of callsync a day (documented limit 1,500 a table).'),
    })
    .prefault({})
    .describe('Share of the documented quotas that callsync uses.'),
  ...everyWarehouse,
});

export type BigqueryWarehouseConfig = z.infer<typeof bigqueryWarehouseSchema>;
