import { expect, test } from 'vitest';
import { bigqueryWarehouseSchema } from '../../../src/warehouse/bigquery/config.ts';
import { bigquery } from '../../../src/warehouse/bigquery/index.ts';
import { useBigQuery } from '../../support/bigquery.ts';
import { closedPort } from '../../support/closed-port.ts';
import { openBigquery } from '../../support/open-bigquery.ts';
import { refusal } from '../../support/refusal.ts';
import { makeBatch, makeCall } from '../batches.ts';

const storeUrl = () => Promise.reject(new Error('no store is asked'));

test('creates, writes and reads, and leaves nothing behind; an address without an answer is said', async () => {
  const { restUrl, project } = await useBigQuery();
  const settings = { type: 'bigquery', project, dataset: 'not_there_yet', api_endpoint: restUrl };
  const config = bigqueryWarehouseSchema.parse(settings);
  const message = await bigquery.checkAccess({ name: 'bq', config, storeUrl });
  expect(message).toContain('may create, write and read in not_there_yet');
  const datasets = await (await fetch(`${restUrl}/bigquery/v2/projects/${project}/datasets`)).text();
  expect(datasets).toContain('bigquery#datasetList');
  expect(datasets).not.toMatch(/doctor|not_there_yet/);

  const dead = { ...config, api_endpoint: `http://127.0.0.1:${closedPort}` };
  const checking = bigquery.checkAccess({ name: 'bq', config: dead, storeUrl });
  // Without the pauses of a network that is away.
  const pause = () => Promise.reject(new Error('no attempt follows'));
  const warehouse = openBigquery({ name: 'bq', config: dead, pause });
  const loading = warehouse.load(makeBatch({ calls: [makeCall({ callId: 'c' })] }));
  for (const said of await Promise.all([checking, warehouse.query('SELECT 1'), loading].map(refusal)))
    expect(said).toMatch(/^transient BIGQUERY_UNREACHABLE: .*bigquery-emulator/);
});
