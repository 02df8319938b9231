import { expect, test } from 'vitest';
import { bigqueryWarehouseSchema } from '../../../src/warehouse/bigquery/config.ts';
import { bigquery } from '../../../src/warehouse/bigquery/index.ts';
import { useBigQuery } from '../../support/bigquery.ts';
import { closedPort } from '../../support/closed-port.ts';

const storeUrl = () => Promise.reject(new Error('no store is asked'));

test('creates, writes and reads, and leaves nothing behind; an address without an answer is said', async () => {
  const { restUrl, project } = await useBigQuery();
  const settings = { type: 'bigquery', project, dataset: 'not_there_yet', api_endpoint: restUrl };
  const config = bigqueryWarehouseSchema.parse(settings);
  const message = await bigquery.checkAccess({ name: 'bq', config, storeUrl });
  expect(message).toContain('may create, write and read in not_there_yet');
  const datasets = (await (await fetch(`${restUrl}/bigquery/v2/projects/${project}/datasets`)).json()) as {
    datasets?: { datasetReference: { datasetId: string } }[];
  };
  const names = (datasets.datasets ?? []).map(({ datasetReference }) => datasetReference.datasetId);
  expect(names.filter((name) => /doctor|not_there_yet/.test(name))).toEqual([]);

  const dead = { ...config, api_endpoint: `http://127.0.0.1:${closedPort}` };
  const checking = bigquery.checkAccess({ name: 'bq', config: dead, storeUrl });
  await expect(checking).rejects.toMatchObject({ code: 'BIGQUERY_UNREACHABLE' });
});
