import { expect, test } from 'vitest';
import { bigqueryWarehouseSchema } from '../../../src/warehouse/bigquery/config.ts';
import { bigquery } from '../../../src/warehouse/bigquery/index.ts';
import { useBigQuery } from '../../support/bigquery.ts';
import { closedPort } from '../../support/closed-port.ts';
import { openBigquery } from '../../support/open-bigquery.ts';
import { makeBatch, makeCall } from '../batches.ts';

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
  const refusal = {
    code: 'BIGQUERY_UNREACHABLE',
    kind: 'transient',
    hint: expect.stringContaining('bigquery-emulator'),
  };
  await expect(checking).rejects.toMatchObject(refusal);
  // Without the pauses of a network that is away.
  const pause = () => Promise.reject(new Error('no attempt follows'));
  const warehouse = openBigquery({ name: 'bq', config: dead, pause });
  await expect(warehouse.query('SELECT 1')).rejects.toMatchObject(refusal);
  await expect(warehouse.load(makeBatch({ calls: [makeCall({ callId: 'c' })] }))).rejects.toMatchObject(refusal);
});
