/** Whether the credentials may do in the warehouse what loading needs; removes what it made. */
import { randomBytes } from 'node:crypto';
import { terminal } from '../../lib/errors.ts';
import { createClient, createRest, type Rest } from './client.ts';
import type { BigqueryWarehouseConfig } from './config.ts';
import { errorOf, type Fault } from './errors.ts';

export interface AccessCheck {
  /** One sentence. */
  readonly message: string;
}

const requestTimeoutMs = 30_000;

/**
 * Creates, writes and reads a scratch table in each dataset of the warehouse; where a dataset does not exist, in a
 * scratch dataset. @throws CallsyncError BIGQUERY_…
 */
export const checkBigqueryAccess = async (options: {
  readonly name: string;
  readonly config: BigqueryWarehouseConfig;
}): Promise<AccessCheck> => {
  const { name, config } = options;
  const rest = createRest(() => createClient(config), config.project, requestTimeoutMs);
  const datasets = [...new Set([config.dataset, config.staging_dataset ?? config.dataset])];
  for (const dataset of datasets) {
    try {
      await checkDataset(rest, config, dataset);
    } catch (error) {
      if (error instanceof Error) throw error;
      throw errorOf(error as Fault, `use dataset ${dataset} of warehouse ${name}`);
    }
  }
  const where = config.api_endpoint === undefined ? `project ${config.project}` : 'an emulator';
  return { message: `BigQuery (${where}): may create, write and read in ${datasets.join(' and ')}.` };
};

const checkDataset = async (rest: Rest, config: BigqueryWarehouseConfig, wanted: string): Promise<void> => {
  const scratch = `callsync_doctor_${randomBytes(4).toString('hex')}`;
  const present = await isPresent(rest, wanted);
  const dataset = present ? wanted : scratch;
  const { project: projectId, location } = config;
  if (!present) {
    await rest({
      method: 'POST',
      path: '/datasets',
      json: { datasetReference: { projectId, datasetId: dataset }, location },
    });
  }
  try {
    await checkTable(rest, config, { dataset, table: scratch });
  } finally {
    if (!present) await rest({ method: 'DELETE', path: `/datasets/${dataset}`, query: { deleteContents: true } });
  }
};

const isPresent = (rest: Rest, dataset: string): Promise<boolean> =>
  rest({ path: `/datasets/${dataset}` }).then(
    () => true,
    (fault: Fault) => {
      if (fault.status === 404) return false;
      throw fault;
    },
  );

const checkTable = async (
  rest: Rest,
  config: BigqueryWarehouseConfig,
  { dataset, table }: { readonly dataset: string; readonly table: string },
): Promise<void> => {
  const { project: projectId, location } = config;
  await rest({
    method: 'POST',
    path: `/datasets/${dataset}/tables`,
    json: {
      tableReference: { projectId, datasetId: dataset, tableId: table },
      schema: { fields: [{ name: 'id', type: 'INT64' }] },
      // Should the removal fail, BigQuery does it.
      expirationTime: String(Date.now() + 3_600_000),
    },
  });
  try {
    const name = `\`${projectId}.${dataset}.${table}\``;
    for (const query of [`INSERT INTO ${name} (id) VALUES (1)`, `SELECT id FROM ${name}`]) {
      const answer = await rest<{ jobComplete?: boolean; rows?: unknown[] }>({
        method: 'POST',
        path: '/queries',
        json: { query, useLegacySql: false, location, timeoutMs: 20_000 },
      });
      if (answer.jobComplete === false || (query.startsWith('SELECT') && answer.rows?.length !== 1)) {
        throw terminal(
          'BIGQUERY_SLOW',
          `BigQuery did not finish a query of one row in dataset ${dataset} within 20 s.`,
          {
            hint: 'Check the job in the console: slots of the project may be used up.',
          },
        );
      }
    }
  } finally {
    await rest({ method: 'DELETE', path: `/datasets/${dataset}/tables/${table}` });
  }
};
