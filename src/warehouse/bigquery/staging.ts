/** The staging table of one load job: created with an expiry before anything is loaded into it. */

import type { Connection } from './client.ts';
import type { BigqueryWarehouseConfig } from './config.ts';
import { stagingFields } from './ddl.ts';
import { type Fault, judge } from './errors.ts';
import { failTo, retry } from './retry.ts';

export type Staging = ReturnType<typeof createStaging>;

interface TableList {
  readonly tables?: readonly { readonly tableReference: { readonly tableId: string } }[];
  readonly nextPageToken?: string;
}

/** Beginning of the staging tables of one warehouse: several may share a staging dataset. */
export const stagingPrefix = ({ dataset }: Pick<BigqueryWarehouseConfig, 'dataset'>): string =>
  `callsync_staging_${dataset}__`;

const jobTimeoutMs = 10 * 60_000;

/** Works in `staging_dataset`, or in the dataset of the warehouse where none is configured. */
export const createStaging = ({ config, rest, clock, pause }: Connection) => {
  const dataset = config.staging_dataset ?? config.dataset;
  const reference = (table: string) => ({ projectId: config.project, datasetId: dataset, tableId: table });
  const drop = async (table: string): Promise<void> => {
    await rest({ method: 'DELETE', path: `/datasets/${dataset}/tables/${table}` }).catch(() => undefined);
  };
  return {
    /** `project.dataset.table`. */
    fullName: (table: string) => `${config.project}.${dataset}.${table}`,
    /** `table` is a name that was never used: an existing table comes from a request whose answer was lost. */
    async create(table: string) {
      const json = {
        tableReference: reference(table),
        schema: { fields: stagingFields(config) },
        expirationTime: String(Math.round(clock() + config.staging_expiration_hours * 3_600_000)),
        labels: config.labels,
        encryptionConfiguration: config.kms_key && { kmsKeyName: config.kms_key },
      };
      await retry(pause, () => rest({ method: 'POST', path: `/datasets/${dataset}/tables`, json })).catch(
        (fault: Fault) => {
          if (judge(fault).meaning !== 'duplicate') failTo('create a staging table')(fault);
        },
      );
    },
    /** Never fails: a table that stays behind expires. */
    drop,
    /**
     * Drops tables that loads left behind, under the warehouse's lease: they hold rows of calls that have been erased
     * since. Never fails.
     */
    async dropLeftovers() {
      for (let pageToken: string | undefined, more = true; more; more = pageToken !== undefined) {
        const page: TableList = await rest<TableList>({
          path: `/datasets/${dataset}/tables`,
          query: { maxResults: 1_000, pageToken },
        }).catch(() => ({}));
        const names = (page.tables ?? []).map(({ tableReference: { tableId } }) => tableId);
        for (const name of names) if (name.startsWith(stagingPrefix(config))) await drop(name);
        pageToken = page.nextPageToken;
      }
    },
    /** Configuration of the load job; the table must exist and be empty. */
    loadConfiguration: (table: string) => ({
      jobTimeoutMs: String(jobTimeoutMs),
      labels: config.labels,
      load: {
        destinationTable: reference(table),
        schema: { fields: stagingFields(config) },
        sourceFormat: 'NEWLINE_DELIMITED_JSON',
        createDisposition: 'CREATE_NEVER',
        writeDisposition: 'WRITE_EMPTY',
        maxBadRecords: 0,
        destinationEncryptionConfiguration: config.kms_key && { kmsKeyName: config.kms_key },
      },
    }),
  };
};
