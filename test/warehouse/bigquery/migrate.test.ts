/** Requests to BigQuery for datasets, tables and views, and the refused ones. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { callTables } from '../../../schemas/tables.ts';
import { bigqueryWarehouseSchema } from '../../../src/warehouse/bigquery/config.ts';
import { relationsOf } from '../../../src/warehouse/bigquery/ddl.ts';
import { extendFields, tableResource } from '../../../src/warehouse/bigquery/migrate.ts';
import { openBigquery } from '../../support/open-bigquery.ts';

const configOf = (over: Record<string, unknown> = {}) =>
  bigqueryWarehouseSchema.parse({ type: 'bigquery', project: 'acme', documents: true, ...over });
const relation = (name: string, over: Record<string, unknown> = {}) => {
  const found = relationsOf(configOf(over)).find((candidate) => candidate.name === name);
  if (found === undefined) throw new Error(name);
  return found;
};

test('tables of calls are partitioned by the day of the call and clustered by its id', () => {
  for (const name of [...callTables.map((table) => table.name), 'changes'])
    expect(tableResource(configOf(), relation(name)), name).toMatchObject({
      timePartitioning: { type: 'DAY', field: 'call_timestamp' },
      clustering: { fields: ['call_id'] },
    });
});

test('missing columns are added as nullable, descriptions follow, other columns are left alone', () => {
  const wanted = relation('tags');
  const present = wanted.fields
    .filter(({ name }) => name !== 'tag_index' && name !== 'confidence')
    .map(({ name, type, description }) => ({ name, type, ...(name === 'type' ? {} : { description }) }));
  const extended = extendFields(wanted, [...present, { name: 'added_by_analyst', type: 'STRING' }]);
  expect(extended?.map(({ name }) => name).slice(-3)).toEqual(['added_by_analyst', 'tag_index', 'confidence']);
  expect(extended?.at(-2)).toMatchObject({ mode: 'NULLABLE' });
  expect(extended?.find(({ name }) => name === 'type')).toMatchObject({ description: expect.stringMatching(/\w/) });
  expect(extendFields(wanted, wanted.fields)).toBeUndefined();
});

test('a column of another type is refused with what to do', () => {
  const wanted = relation('tags');
  const present = wanted.fields.map((field) => (field.name === 'tag_index' ? { ...field, type: 'STRING' } : field));
  expect(() => extendFields(wanted, present)).toThrow(/Column tags\.tag_index is of type STRING, not INT64/);
});

/** A service that has nothing yet and accepts everything; it remembers what it was asked. */
let url: string;
const asked: { method: string; path: string; body: Record<string, unknown> }[] = [];
const server = createServer(async (request, response) => {
  let body = '';
  for await (const chunk of request) body += chunk;
  const path = (request.url ?? '').split('?')[0]?.replace('/bigquery/v2/projects/acme', '') ?? '';
  asked.push({ method: request.method ?? '', path, body: body.startsWith('{') ? JSON.parse(body) : {} });
  const known: Record<string, unknown> = {
    '/datasets/elsewhere': { location: 'US' },
    '/datasets/rows': { location: 'EU' },
    '/datasets/rows/tables/words': { type: 'TABLE' },
    '/datasets/calls/tables/fence': { schema: { fields: [] } },
    '/datasets/calls/tables/fence/data': {},
  };
  const found = request.method === 'GET' ? known[path] : {};
  response.writeHead(found === undefined ? 404 : 200, { 'content-type': 'application/json' });
  response.end(JSON.stringify(found ?? { error: { code: 404, errors: [{ reason: 'notFound', message: 'no' }] } }));
});
beforeAll(async () => {
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => new Promise((done) => server.close(done)));

test('dataset, staging dataset and tables are asked for with location, labels, key and expiry', async () => {
  asked.length = 0;
  const [labels, kmsKeyName] = [{ team: 'voice' }, 'projects/k'];
  const config = configOf({
    ...{ api_endpoint: url, location: 'europe-west9', staging_dataset: 'spare', labels, kms_key: kmsKeyName },
    ...{ staging_expiration_hours: 6, partition_expiration_days: 30 },
  });
  await openBigquery({ name: 'x', config: { ...config, dataset: 'fresh' } }).migrate();
  const datasets = asked.filter(({ method, path }) => method === 'POST' && path === '/datasets');
  expect(datasets.map(({ body }) => body)).toEqual([
    expect.objectContaining({ location: 'europe-west9', labels, defaultEncryptionConfiguration: { kmsKeyName } }),
    expect.objectContaining({ defaultTableExpirationMs: String(6 * 3_600_000) }),
  ]);
  const made = asked.filter(({ method, path }) => method === 'POST' && path.endsWith('/tables'));
  expect(made.map(({ body }) => (body.tableReference as { tableId: string }).tableId)).toEqual([
    ...relationsOf(config).map(({ name }) => name),
    'words',
  ]);
  const tables = made.filter(({ body }) => body.schema !== undefined);
  expect(tables.length).toBeGreaterThan(10);
  for (const { body } of tables)
    expect(body).toMatchObject({
      ...{ labels, encryptionConfiguration: { kmsKeyName } },
      ...(body.timePartitioning === undefined ? {} : { timePartitioning: { expirationMs: String(30 * 86_400_000) } }),
    });
  expect(tables.some(({ body }) => body.timePartitioning !== undefined)).toBe(true);
});

test.each([
  [
    'a dataset in another place',
    'elsewhere',
    { code: 'BIGQUERY_LOCATION', hint: expect.stringContaining('location: US') },
  ],
  ['a table in the place of the view of words', 'rows', { code: 'BIGQUERY_SCHEMA' }],
])('%s is refused', async (_, dataset, error) => {
  const warehouse = openBigquery({ name: 'x', config: configOf({ api_endpoint: url, dataset }) });
  await expect(warehouse.migrate()).rejects.toMatchObject(error);
});
