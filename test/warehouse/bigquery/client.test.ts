/** Credentials in each of their forms against a token service of our own, deadlines, and the requests on the wire. */
import { generateKeyPairSync } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Impersonated } from 'google-auth-library';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createClient, createRest } from '../../../src/warehouse/bigquery/client.ts';
import { bigqueryWarehouseSchema } from '../../../src/warehouse/bigquery/config.ts';
import { useFolder } from '../../support/folder.ts';
import { openBigquery } from '../../support/open-bigquery.ts';

const configOf = (over: Record<string, unknown>) =>
  bigqueryWarehouseSchema.parse({ type: 'bigquery', project: 'acme', ...over });

const folder = useFolder('keys');
let server: Server;
let url: string;
let requests: { readonly path: string; readonly body: string; readonly headers: IncomingMessage['headers'] }[];
let respond: (path: string) => { status: number; body: unknown } | undefined;

beforeEach(async () => {
  requests = [];
  respond = () => ({ status: 200, body: { access_token: 'token-1', expires_in: 3600, token_type: 'Bearer' } });
  server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const path = request.url ?? '';
    requests.push({ path, body, headers: request.headers });
    const answer = respond(path);
    if (answer === undefined) return;
    response.writeHead(answer.status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(answer.body));
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(async () => {
  server.closeAllConnections();
  await new Promise((done) => server.close(done));
});

const writeKey = async (): Promise<string> => {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const file = join(folder, 'key.json');
  const key = {
    type: 'service_account',
    project_id: 'acme',
    private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
    client_email: 'loader@acme.example',
    token_uri: `${url}/token`,
  };
  await writeFile(file, JSON.stringify(key));
  return file;
};

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
  expect(requests[0]?.path).toBe('/exchange');
  expect(requests[0]?.body).toContain('subject_token=subject-token');
});

test('a key file is read by its path, and impersonation starts from it', async () => {
  const key_file = await writeKey();
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
  const warehouse = openBigquery({ name: 'x', config: configOf(over) });
  const refusal = { kind: 'terminal', code: 'BIGQUERY_CREDENTIALS', hint: expect.stringContaining('key_file') };
  await expect(warehouse.migrate()).rejects.toMatchObject(refusal);
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
