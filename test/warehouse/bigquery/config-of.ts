/** Settings of a BigQuery warehouse whose statements tests read. */
import { type BigqueryWarehouseConfig, bigqueryWarehouseSchema } from '../../../src/warehouse/bigquery/config.ts';

export const configOf = (over: Record<string, unknown>): BigqueryWarehouseConfig =>
  bigqueryWarehouseSchema.parse({
    ...{ type: 'bigquery', project: 'acme-prod', dataset: 'calls', staging_dataset: 'calls_staging' },
    ...{ labels: { app: 'callsync' }, ...over },
  });

/** Settings that show in DDL. */
export const expiring = { partition_expiration_days: 400, kms_key: 'projects/k/locations/eu/keyRings/r/cryptoKeys/c' };
