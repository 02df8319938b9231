/** The kind `bigquery`. */

import { randomBytes } from 'node:crypto';
import { terminal } from '../../lib/errors.ts';
import { restrictedName } from '../grants.ts';
import type { WarehouseKind } from '../kind.ts';
import { createRest, type Rest } from './client.ts';
import { type BigqueryWarehouseConfig, bigqueryWarehouseSchema } from './config.ts';
import { bigqueryFragments } from './dialect.ts';
import { failTo, unless } from './retry.ts';
import { createBigqueryWarehouse } from './warehouse.ts';

export const bigquery: WarehouseKind<BigqueryWarehouseConfig> = {
  type: 'bigquery',
  config: bigqueryWarehouseSchema,
  create: ({ name, config, lease, memory }) => createBigqueryWarehouse({ name, config, lease, quotaMemory: memory() }),
  checkAccess: ({ name, config }) => checkBigqueryAccess(name, config),
  place: (config) => ({
    tables: config.dataset,
    marts: config.marts_schema ?? `${config.dataset}_marts`,
    restrictedMarts: restrictedName(config.dataset),
    // A string of JSON is one of GoogleSQL, too.
    literal: (text) => JSON.stringify(text),
    fragments: bigqueryFragments,
    relation: (dataset, name) => `\`${config.project}.${dataset}.${name}\``,
  }),
  questions: [{ key: 'project', message: 'Google Cloud project', required: true }],
};

// Whether the credentials have the rights for loading; removes its test objects.

const requestTimeoutMs = 30_000;

/**
 * One sentence. Creates, writes and reads a scratch table in each dataset of the warehouse; where a dataset does not exist, in a
 * scratch dataset. @throws CallsyncError BIGQUERY_…
 */
const checkBigqueryAccess = async (name: string, config: BigqueryWarehouseConfig) => {
  const rest = createRest(config, requestTimeoutMs);
  const datasets = [...new Set([config.dataset, config.staging_dataset ?? config.dataset])];
  for (const dataset of datasets) {
    const what = `use dataset ${dataset} of warehouse ${name}`;
    await checkDataset(rest, config, dataset, what).catch(failTo(what));
  }
  const where = config.api_endpoint === undefined ? `project ${config.project}` : 'an emulator';
  return `BigQuery (${where}): may create, write and read in ${datasets.join(' and ')}.`;
};

/** Makes an object, and removes it after the work, even after a failure. */
const during = async (
  rest: Rest,
  { path, name, json }: { readonly path: string; readonly name: string; readonly json: unknown },
  work: () => Promise<void>,
): Promise<void> => {
  await rest({ method: 'POST', path, json });
  try {
    await work();
  } finally {
    await rest({ method: 'DELETE', path: `${path}/${name}`, query: { deleteContents: true } });
  }
};

const checkDataset = async (rest: Rest, config: BigqueryWarehouseConfig, wanted: string, what: string) => {
  const { project: projectId, location } = config;
  const scratch = `callsync_doctor_${randomBytes(4).toString('hex')}`;
  const isPresent = (await rest({ path: `/datasets/${wanted}` }).catch(unless('missing', what))) !== undefined;
  const datasetId = isPresent ? wanted : scratch;
  const table = {
    path: `/datasets/${datasetId}/tables`,
    name: scratch,
    json: {
      tableReference: { projectId, datasetId, tableId: scratch },
      schema: { fields: [{ name: 'id', type: 'INT64' }] },
      // If callsync fails to remove the table, BigQuery removes it after an hour.
      expirationTime: String(Date.now() + 3_600_000),
    },
  };
  const check = () => during(rest, table, () => writeAndRead(rest, config, `${projectId}.${datasetId}.${scratch}`));
  if (isPresent) return await check();
  const json = { datasetReference: { projectId, datasetId }, location };
  await during(rest, { path: '/datasets', name: scratch, json }, check);
};

const writeAndRead = async (rest: Rest, { location }: BigqueryWarehouseConfig, table: string): Promise<void> => {
  for (const query of [`INSERT INTO \`${table}\` (id) VALUES (1)`, `SELECT id FROM \`${table}\``]) {
    const json = { query, useLegacySql: false, location, timeoutMs: 20_000 };
    const answer = await rest<{ jobComplete?: boolean; rows?: unknown[] }>({ method: 'POST', path: '/queries', json });
    if (answer.jobComplete === false || (query.startsWith('SELECT') && answer.rows?.length !== 1))
      throw terminal('BIGQUERY_SLOW', `BigQuery did not finish a query of one row in ${table} within 20 s.`);
  }
};
