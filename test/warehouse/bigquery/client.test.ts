/** Credentials in each of their forms against a token service of our own, deadlines, and the requests on the wire. */
import { generateKeyPairSync } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import type { IncomingHttpHeaders } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { Impersonated } from 'google-auth-library';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { callTables } from '../../../schemas/tables.ts';
import { createClient, createRest } from '../../../src/warehouse/bigquery/client.ts';
import { bigqueryWarehouseSchema } from '../../../src/warehouse/bigquery/config.ts';
import { type Relation, relationsOf } from '../../../src/warehouse/bigquery/ddl.ts';
import { extendFields, tableResource } from '../../../src/warehouse/bigquery/migrate.ts';
import { useFolder } from '../../support/folder.ts';
import { listen } from '../../support/listen.ts';
import { openBigquery } from '../../support/open-bigquery.ts';

const configOf = (over: Record<string, unknown>) =>
  bigqueryWarehouseSchema.parse({ type: 'bigquery', project: 'acme', ...over });

const folder = useFolder('keys');
let requests: { method: string; path: string; body: string; headers: IncomingHttpHeaders }[];
let respond: (path: string, method: string) => { status: number; body: unknown } | undefined;
beforeEach(() => {
  requests = [];
  respond = () => ({ status: 200, body: { access_token: 'token-1', expires_in: 3600, token_type: 'Bearer' } });
});

const { url, close } = await listen(async (request, response) => {
  const { method = '', url: path = '', headers } = request;
  requests.push({ method, path, body: await text(request), headers });
  const answer = respond(path, method);
  if (answer === undefined) return;
  response.writeHead(answer.status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(answer.body));
});
afterAll(close);
const tokenOf = async (config: ReturnType<typeof configOf>): Promise<unknown> => {
  const { authClient } = await createClient(config);
  const client = 'getClient' in authClient ? await authClient.getClient() : authClient;
  return (await client.getAccessToken()).token;
};

test('a workload-identity file exchanges its subject token', async () => {
  const subject = join(folder, 'subject');
  await writeFile(subject, 'subject-token');
  const file = join(folder, 'identity.json');
  const identity = {
    type: 'external_account',
    audience: '//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/x',
    subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
    token_url: `${url}/exchange`,
    credential_source: { file: subject },
  };
  await writeFile(file, JSON.stringify(identity));
  expect(await tokenOf(configOf({ key_file: file }))).toBe('token-1');
  const body = expect.stringContaining('subject_token=subject-token');
  expect(requests[0]).toMatchObject({ path: '/exchange', body });
});

test('a key file is read by its path, and impersonation starts from it', async () => {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const private_key = privateKey.export({ type: 'pkcs8', format: 'pem' });
  const account = { client_email: 'loader@acme.example', token_uri: `${url}/token` };
  const key_file = join(folder, 'key.json');
  await writeFile(key_file, JSON.stringify({ type: 'service_account', project_id: 'acme', private_key, ...account }));
  const client = await createClient(configOf({ key_file, impersonate: 'other@acme.example' }));
  const inner = await client.authClient.getClient();
  expect(inner).toBeInstanceOf(Impersonated);
  expect((inner as Impersonated).getTargetPrincipal()).toBe('other@acme.example');
  const plain = await createClient(configOf({ key_file }));
  expect((await plain.authClient.getCredentials()).client_email).toBe('loader@acme.example');
});

const restOf = (deadlineMs = 5_000) => createRest(configOf({ api_endpoint: url }), deadlineMs);

test('requests to an emulator carry no credentials, and the client itself never repeats one', async () => {
  respond = () => ({ status: 200, body: { ok: true } });
  expect(await restOf()({ path: '/datasets/calls' })).toEqual({ ok: true });
  expect(requests[0]?.path).toMatch(/^\/bigquery\/v2\/projects\/acme\/datasets\/calls/);
  expect(requests[0]?.headers.authorization).toBeUndefined();
  respond = () => ({ status: 503, body: { error: { code: 503, message: 'try later', errors: [] } } });
  await expect(restOf()({ method: 'POST', path: '/jobs', json: {} })).rejects.toMatchObject({ status: 503 });
  expect(requests).toHaveLength(2);
});

test('a request without an answer ends at its deadline, as one whose outcome is unknown', async () => {
  respond = () => undefined;
  await expect(restOf(200)({ path: '/datasets/calls' })).rejects.toMatchObject({ lost: true });
});

test.each([
  ['a key file that is not there', { key_file: '/nowhere/key.json' }],
  ['a key file that is not a key', { key_file: new URL(import.meta.url).pathname }],
])('%s is one clear sentence with what to do', async (_name, over) => {
  const refusal = { kind: 'terminal', code: 'BIGQUERY_CREDENTIALS', hint: expect.stringContaining('key_file') };
  await expect(openBigquery({ name: 'x', config: configOf(over) }).migrate()).rejects.toMatchObject(refusal);
});

test('a query that nobody waits for any more is cancelled, and not sent again', async () => {
  const leave = new AbortController();
  const sent = (part: RegExp) => requests.filter(({ path, body }) => part.test(`${path} ${body}`)).length;
  respond = (path) => {
    if (requests.at(-1)?.body.includes('dryRun'))
      return { status: 200, body: { statistics: { query: { statementType: 'SELECT' } } } };
    if (path.includes('/cancel')) return { status: 200, body: {} };
    const isCancelled = sent(/\/jobs\/[^ /]+\/cancel/) > 0;
    const status = isCancelled ? { state: 'DONE', errorResult: { reason: 'stopped' } } : { state: 'RUNNING' };
    // Once the job is looked at, it runs.
    if (/\/jobs\/\w/.test(path)) leave.abort();
    return { status: 200, body: { status } };
  };
  const pause = (): Promise<void> => new Promise((done) => setTimeout(done, 2));
  const warehouse = openBigquery({ name: 'bq', config: configOf({ api_endpoint: url }), pause });
  await expect(warehouse.query('SELECT 1', leave.signal)).rejects.toMatchObject({ name: 'AbortError' });
  expect(sent(/cancel/)).toBe(1);
  expect(sent(/SELECT 1/) - sent(/dryRun/)).toBe(1);
});

/** Requests to BigQuery for datasets, tables and views, and the refused ones. */
const withDocuments = (over: Record<string, unknown> = {}) => configOf({ documents: true, ...over });

const relation = (name: string) => relationsOf(withDocuments()).find((one) => one.name === name) as Relation;

test('tables of calls are partitioned by the day of the call and clustered by its id', () => {
  const layout = { timePartitioning: { type: 'DAY', field: 'call_timestamp' }, clustering: { fields: ['call_id'] } };
  for (const name of [...callTables.map((table) => table.name), 'changes'])
    expect(tableResource(withDocuments(), relation(name)), name).toMatchObject(layout);
});

const own = { name: 'own', type: 'RECORD', mode: 'REPEATED' };

test('missing columns are added as nullable, descriptions follow, other columns are left alone', () => {
  const wanted = relation('tags');
  const present = wanted.fields
    .filter(({ name }) => name !== 'tag_index' && name !== 'confidence')
    .map(({ name, type, description }) => ({ name, type, ...(name === 'type' ? {} : { description }) }));
  const extended = extendFields(wanted, [...present, own]);
  expect(extended?.slice(-3)).toMatchObject([own, { name: 'tag_index', mode: 'NULLABLE' }, { name: 'confidence' }]);
  expect(extended?.find(({ name }) => name === 'type')).toMatchObject({ description: expect.stringMatching(/\w/) });
  expect(extendFields(wanted, wanted.fields)).toBeUndefined();
});

test.each([
  ['tag_index', { type: 'STRING' }, 'STRING REQUIRED, not INT64 REQUIRED'],
  ['display_name', { mode: 'REQUIRED' }, 'STRING REQUIRED, not STRING NULLABLE'],
  ['display_name', { mode: 'REPEATED' }, 'STRING REPEATED, not STRING NULLABLE'],
  ['own', { type: 'INTEGER', mode: 'REQUIRED' }, 'INT64 REQUIRED, not INT64 NULLABLE'],
])('a column that no load can fill is refused: %s %o', (name, change, why) => {
  const fields = [...relation('tags').fields, own].map((one) => (one.name === name ? { ...one, ...change } : one));
  expect(() => extendFields(relation('tags'), fields)).toThrow(`Column tags.${name} is of type ${why}.`);
});

const known: Record<string, unknown> = {
  '/datasets/elsewhere': { location: 'US' },
  '/datasets/rows': { location: 'EU' },
  '/datasets/rows/tables/words': { type: 'TABLE' },
  '/datasets/calls/tables/fence': { schema: { fields: [] } },
  '/datasets/calls/tables/fence/data': {},
};
const pathOf = (path: string): string => path.split('?')[0]?.replace('/bigquery/v2/projects/acme', '') ?? '';
/** As a project that has nothing more yet, and accepts everything. */
const respondAsProject: typeof respond = (path, method) => {
  const done = { jobReference: {}, status: { state: 'DONE' } };
  const found = method === 'GET' ? (path.includes('/queries/') ? {} : known[pathOf(path)]) : done;
  const absent = { error: { code: 404, errors: [{ reason: 'notFound', message: 'no' }] } };
  return { status: found === undefined ? 404 : 200, body: found ?? absent };
};

test('dataset, staging dataset and tables are asked for with location, labels, key and expiry', async () => {
  respond = respondAsProject;
  const [labels, kmsKeyName] = [{ team: 'voice' }, 'projects/k'];
  const config = withDocuments({
    ...{ api_endpoint: url, location: 'europe-west9', staging_dataset: 'spare', labels, kms_key: kmsKeyName },
    ...{ staging_expiration_hours: 6, partition_expiration_days: 30 },
  });
  await openBigquery({ name: 'x', config: { ...config, dataset: 'fresh' } }).migrate();
  /** Bodies of the requests that made something at paths that end so. */
  const madeAt = (end: string): Record<string, unknown>[] =>
    requests
      .filter(({ method, path }) => method === 'POST' && pathOf(path).endsWith(end))
      .map(({ body }) => JSON.parse(body));
  expect(madeAt('/datasets')).toEqual([
    expect.objectContaining({ location: 'europe-west9', labels, defaultEncryptionConfiguration: { kmsKeyName } }),
    expect.objectContaining({ defaultTableExpirationMs: String(6 * 3_600_000) }),
  ]);
  const names = madeAt('/tables').map((body) => (body.tableReference as { tableId: string }).tableId);
  expect(names).toEqual(relationsOf(config).map(({ name }) => name));
  const [{ configuration } = {}] = madeAt('/jobs');
  expect(configuration).toMatchObject({ labels, query: { query: expect.stringContaining('VIEW `acme.fresh.words`') } });
  const tables = madeAt('/tables').filter(({ schema }) => schema !== undefined);
  expect(tables.length).toBeGreaterThan(10);
  for (const table of tables) expect(table).toMatchObject({ labels, encryptionConfiguration: { kmsKeyName } });
  const expiries = tables.flatMap(({ timePartitioning }) => timePartitioning ?? []);
  expect(expiries.length).toBeGreaterThan(0);
  for (const expiry of expiries) expect(expiry).toMatchObject({ expirationMs: String(30 * 86_400_000) });
});

test('tables keep their rows, and views stay, whatever end the dataset hands down to new ones', async () => {
  const made = new Map<string | undefined, { readonly timePartitioning?: object }>();
  respond = (path, method) => {
    if (method === 'POST' && pathOf(path).endsWith('/tables')) {
      const table = JSON.parse(requests.at(-1)?.body ?? '');
      const timePartitioning = table.timePartitioning && { ...table.timePartitioning, expirationMs: '5184000000' };
      made.set(table.tableReference.tableId, { ...table, timePartitioning, expirationTime: '1900000000000' });
    }
    const body = made.get(pathOf(path).split('/').at(-1));
    return body === undefined ? respondAsProject(path, method) : { status: 200, body };
  };
  await openBigquery({ name: 'x', config: configOf({ api_endpoint: url, dataset: 'fresh' }) }).migrate();
  const patched = new Map(
    requests.filter(({ method }) => method === 'PATCH').map(({ path, body }) => [pathOf(path).split('/').at(-1), body]),
  );
  expect(made.size).toBeGreaterThan(10);
  expect(JSON.parse(patched.get('words') ?? '')).toMatchObject({ expirationTime: null });
  for (const [name, { timePartitioning: own }] of made)
    expect(JSON.parse(patched.get(name) ?? '')).toEqual({
      expirationTime: null,
      ...(own && { timePartitioning: { ...own, expirationMs: null } }),
    });
});

test.each([
  ['a dataset elsewhere', 'elsewhere', { code: 'BIGQUERY_LOCATION', hint: expect.stringContaining('location: US') }],
  ['a table in the place of the view of words', 'rows', { code: 'BIGQUERY_SCHEMA' }],
])('%s is refused', async (_, dataset, error) => {
  respond = respondAsProject;
  const warehouse = openBigquery({ name: 'x', config: withDocuments({ api_endpoint: url, dataset }) });
  await expect(warehouse.migrate()).rejects.toMatchObject(error);
});
