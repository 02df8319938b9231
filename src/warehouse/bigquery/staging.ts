/** The staging table of one attempt of one load: made with an expiry before anything is loaded into it. */
import type { BigqueryWarehouseConfig } from '../../../schemas/config/warehouses.ts';
import { backoffMs } from '../../backoff.ts';
import type { Rest } from './client.ts';
import { stagingFields } from './ddl.ts';
import { errorOf, faultOf, judge } from './errors.ts';
import { type Pause, retryPace } from './jobs.ts';

export interface Staging {
  nameOf(id: string, attempt: number): string;
  /** `project.dataset.table`. */
  fullName(table: string): string;
  /** True when it was made now, false when it was there. */
  create(table: string): Promise<boolean>;
  /** Never fails: what stays behind expires. */
  drop(table: string): Promise<void>;
  /** The one load job: into the table as it is, which must exist and be empty. */
  loadConfiguration(table: string): Record<string, unknown>;
}

const maxAttempts = 10;
const jobTimeoutMs = 10 * 60_000;

export const createStaging = (deps: {
  readonly config: BigqueryWarehouseConfig;
  readonly rest: Rest;
  readonly clock: () => number;
  readonly pause: Pause;
}): Staging => {
  const { config, rest, clock, pause } = deps;
  const dataset = config.staging_dataset ?? config.dataset;
  const reference = (table: string) => ({ projectId: config.project, datasetId: dataset, tableId: table });
  return {
    nameOf: (id, attempt) => `callsync_staging_${id}_${attempt}`,
    fullName: (table) => `${config.project}.${dataset}.${table}`,
    async create(table) {
      const json = {
        tableReference: reference(table),
        schema: { fields: stagingFields(config) },
        expirationTime: String(Math.round(clock() + config.staging_expiration_hours * 3_600_000)),
        labels: config.labels,
        ...(config.kms_key === undefined ? {} : { encryptionConfiguration: { kmsKeyName: config.kms_key } }),
      };
      for (let attempt = 1; ; attempt += 1) {
        try {
          await rest({ method: 'POST', path: `/datasets/${dataset}/tables`, json });
          return true;
        } catch (cause) {
          const fault = faultOf(cause);
          const { meaning } = judge(fault);
          // After a lost answer the table may be ours from a moment ago; to call it older is the safe side.
          if (meaning === 'duplicate') return false;
          if ((meaning !== 'lost' && meaning !== 'again') || attempt >= maxAttempts) {
            throw errorOf(fault, 'create a staging table');
          }
          await pause(backoffMs(attempt, retryPace));
        }
      }
    },
    async drop(table) {
      await rest({ method: 'DELETE', path: `/datasets/${dataset}/tables/${table}` }).catch(() => undefined);
    },
    loadConfiguration: (table) => ({
      jobTimeoutMs: String(jobTimeoutMs),
      labels: config.labels,
      load: {
        destinationTable: reference(table),
        schema: { fields: stagingFields(config) },
        sourceFormat: 'NEWLINE_DELIMITED_JSON',
        createDisposition: 'CREATE_NEVER',
        writeDisposition: 'WRITE_EMPTY',
        maxBadRecords: 0,
        ...(config.kms_key === undefined ? {} : { destinationEncryptionConfiguration: { kmsKeyName: config.kms_key } }),
      },
    }),
  };
};
