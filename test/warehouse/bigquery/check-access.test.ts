import { expect, test } from 'vitest';
import { bigqueryWarehouseSchema } from '../../../src/warehouse/bigquery/config.ts';
import { checkBigqueryAccess } from '../../../src/warehouse/bigquery/index.ts';
import { useBigQuery } from '../../support/bigquery.ts';
import { closedPort } from '../../support/closed-port.ts';
import { bePatient } from '../patience.ts';

bePatient();

test('creates, writes and reads, and leaves nothing behind; an address without an answer is said', async () => {
  const { restUrl, project } = await useBigQuery();
  const config = bigqueryWarehouseSchema.parse({
    type: 'bigquery',
    project,
    dataset: 'not_there_yet',
    api_endpoint: restUrl,
  });
  const message = await checkBigqueryAccess({ name: 'bq', config });
  expect(message).toContain('may create, write and read in not_there_yet');
  const datasets = (await (await fetch(`${restUrl}/bigquery/v2/projects/${project}/datasets`)).json()) as {
    datasets?: { datasetReference: { datasetId: string } }[];
  };
  const names = (datasets.datasets ?? []).map(({ datasetReference }) => datasetReference.datasetId);
  expect(names.filter((name) => /doctor|not_there_yet/.test(name))).toEqual([]);

  const dead = { ...config, api_endpoint: `http://127.0.0.1:${closedPort}` };
  await expect(checkBigqueryAccess({ name: 'bq', config: dead })).rejects.toMatchObject({
    code: 'BIGQUERY_UNREACHABLE',
  });
});
