import { brotliCompressSync, gzipSync } from 'node:zlib';
import { expect, onTestFinished, test } from 'vitest';
import type { SourceConfigInput } from '../../schemas/config/source.ts';
import { terminal } from '../../src/lib/errors.ts';
import { createRefusals, readRetryAfter, retryAfterOf } from '../../src/source/http/http.ts';
import {
  always,
  configFor,
  type Handler,
  json,
  openSource,
  readAll,
  refusalOf,
  serve,
  startServer,
  withTokens,
} from './local-server.ts';

const start = async (handler: Handler, config: Partial<SourceConfigInput> = {}, atEnd = onTestFinished) => {
  const { server, source } = await serve(withTokens(handler), config, atEnd);
  return { server, source, lists: () => server.requests.filter(({ path }) => !path.startsWith('/realms/')).length };
};

const list = [{ unique_id: 'a', text: 'é'.repeat(500) }, { unique_id: 'b' }];
const bytes = Buffer.from(JSON.stringify(list));

type Response = Parameters<Handler>[1];
const encoded = (response: Response, encoding: string, body: Buffer) =>
  void response.writeHead(200, { 'content-encoding': encoding }).end(body);
const cutOff = (response: Response) => void response.write(bytes.subarray(0, 100), () => response.destroy());
const trickle = (response: Response): void => {
  response.writeHead(200);
  const timer = setInterval(() => response.write(' '), 20);
  response.on('close', () => clearInterval(timer));
};
/** Its first answer is spoilt, the others are good; with the times at which it was asked. */
const startSpoilt = async (
  spoil: (response: Response) => void,
  atEnd: typeof onTestFinished,
  config: Partial<SourceConfigInput> = {},
) => {
  const times: number[] = [];
  const answer: Handler = (_, response) =>
    times.push(performance.now()) === 1 ? spoil(response) : json(response, 200, list);
  return { times, ...(await start(answer, config, atEnd)) };
};
/** Sends on to another place. */
const redirect = (status: number, location: string): Handler => always(status, '', { location });

test.each([
  ['identity', bytes],
  ['gzip', gzipSync(bytes)],
  ['x-gzip', gzipSync(bytes)],
  ['br', brotliCompressSync(bytes)],
])('bodies are decoded from %s', async (encoding, body) => {
  const { source } = await start((_, response) => encoded(response, encoding, body));
  expect(await readAll(source)).toEqual(list);
});

// At once, as they wait for time to pass.
test.concurrent.for<[string, (response: Response) => void]>([
  ['cut off before their length', (response) => cutOff(response.writeHead(200, { 'content-length': bytes.length }))],
  ['cut off in the middle of gzip', (response) => encoded(response, 'gzip', gzipSync(bytes).subarray(0, 60))],
  ['cut off in the middle of chunks', (response) => cutOff(response.writeHead(200))],
  ['that end in the middle of JSON', (response) => void response.end(bytes.subarray(0, 100))],
  ['that are not JSON', (response) => void response.end('<html>')],
  ['of another encoding than they say', (response) => encoded(response, 'br', bytes)],
  ['that fall silent', (response) => void response.write('[')],
  ['that trickle for ever', trickle],
  ['that never start', () => undefined],
])('bodies %s are noticed and asked for again', async ([, spoil], { expect, onTestFinished }) => {
  const limits = { headers_timeout_s: 0.5, idle_timeout_s: 0.5, total_timeout_s: 1 };
  const { source, times } = await startSpoilt(spoil, onTestFinished, { limits });
  expect(await readAll(source)).toEqual(list);
  expect(times).toHaveLength(2);
});

test('a whole body in an encoding that was not asked for is refused, and the process goes on', async () => {
  const answer: Handler = (_, response) => void response.setHeader('content-encoding', 'deflate').end(bytes);
  const { source, lists } = await start(answer, { list: { single_path: '/calls/{unique_id}' } });
  expect(await refusalOf(source.list.fetchCall('a'))).toMatchObject({ code: 'RESPONSE_ENCODING', kind: 'terminal' });
  // An error of the stream would end the process on a later turn.
  await new Promise(setImmediate);
  expect(lists()).toBe(1);
});

test.each([
  ['on the wire', 'identity', Buffer.alloc(300_000, 32)],
  ['once decoded', 'gzip', gzipSync(Buffer.alloc(50_000_000, 32))],
])('bodies too large %s are refused without reading on', async (_, encoding, body) => {
  const limits = { max_response_bytes: 200_000 };
  const { source, lists } = await start((_request, response) => encoded(response, encoding, body), { limits });
  expect(await refusalOf(readAll(source))).toMatchObject({ code: 'RESPONSE_TOO_LARGE', kind: 'terminal' });
  expect(lists()).toBe(1);
});

// At once, as they wait for time to pass.
test.concurrent.for<[string, () => Record<string, string>, number]>([
  ['seconds', () => ({ 'retry-after': '1' }), 950],
  ['a date', () => ({ 'retry-after': new Date(Date.now() + 2_000).toUTCString() }), 900],
])('the source waits as 503 says with %s', async ([, headers, least], { expect, onTestFinished }) => {
  const { source } = await startSpoilt((response) => json(response, 503, {}, headers()), onTestFinished);
  const started = performance.now();
  expect(await readAll(source)).toEqual(list);
  expect(performance.now() - started).toBeGreaterThanOrEqual(least);
});

test.concurrent('the source holds every request back after a 429', async ({ expect, onTestFinished }) => {
  const refuse = (response: Response) => json(response, 429, {}, { 'retry-after': '1' });
  const { source, times } = await startSpoilt(refuse, onTestFinished);
  const first = readAll(source);
  while (source.list.counts.rateLimited === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  await Promise.all([first, readAll(source), readAll(source)]);
  const [refused = 0, ...later] = times;
  expect(later.every((at) => at - refused > 950)).toBe(true);
});

test('the source gives up after the configured retries and says so as transient', async () => {
  const { source, lists } = await start(always(502, 'bad'), { limits: { retries: 3 } });
  expect(await refusalOf(readAll(source))).toMatchObject({ code: 'SERVICE_UNAVAILABLE', kind: 'transient' });
  expect(lists()).toBe(4);
});

test.each([
  [400, 'LIST_REFUSED'],
  [403, 'ACCESS_DENIED'],
  [404, 'LIST_MISSING'],
  [410, 'SERVICE_REFUSED'],
  [501, 'SERVICE_REFUSED'],
])('the source does not repeat what %d refuses', async (status, code) => {
  const { source, lists } = await start(always(status, { detail: 'limit +33 6 12 34 56 78 of jo@example.org' }));
  const error = await refusalOf(readAll(source));
  expect(error).toMatchObject({ code, kind: 'terminal' });
  expect(lists()).toBe(1);
  expect(error.message).not.toMatch(/12 34|example\.org/);
});

test('the source stops at once when it is told to', async () => {
  const { source } = await start(always(503, {}, { 'retry-after': '600' }));
  const stop = new AbortController();
  const reading = (async () => {
    for await (const page of source.list.readPages({ signal: stop.signal })) expect(page).toBeUndefined();
  })();
  setTimeout(() => stop.abort(new Error('enough')), 50);
  await expect(reading).rejects.toThrow('enough');
});

const linked = { list: { pagination: { style: 'link' } } } as const;
// A service that has answered before gets another try.
test.each<[string, string, (url: string) => Handler, Partial<SourceConfigInput>]>([
  ['to another host', 'terminal', (url) => redirect(302, `${url}/calls`), {}],
  ['in a Link header', 'transient', (url) => always(200, list, { link: `<${url}/calls>; rel="next"` }), linked],
])('redirects %s never carry the token', async (_, kind, answerWith, config) => {
  const other = await startServer(always(200, list));
  const { source } = await start(answerWith(other.url), config);
  expect(await refusalOf(readAll(source))).toMatchObject({ code: 'REDIRECT_REFUSED', kind });
  expect(other.requests).toEqual([]);
});

test('redirects within the host are followed, but not for ever', async () => {
  const { source } = await start((request, response, url) =>
    (url.pathname === '/v2/calls' ? always(200, list) : redirect(307, '/v2/calls'))(request, response, url),
  );
  expect(await readAll(source)).toEqual(list);
  const round = await start(redirect(302, '/calls'));
  expect(await refusalOf(readAll(round.source))).toMatchObject({ code: 'REDIRECT_LOOP' });
});

test.each<[SourceConfigInput['version'], string, string | undefined]>([
  [{ by: 'path', value: 'v3' }, '/api/v3/calls', undefined],
  [{ by: 'query', name: 'version', value: '3' }, '/api/calls?version=3', undefined],
  [{ by: 'header', name: 'X-Version', value: '3' }, '/api/calls', '3'],
  [{ by: 'none' }, '/api/calls', undefined],
])('versions are selected by %j', async (version, path, header) => {
  const { server } = await start(always(200, list));
  await readAll(openSource({ ...configFor(server.url, { version }), base_url: `${server.url}/api/` }));
  const request = server.requests.at(-1);
  expect(request?.path).toBe(path);
  expect(request?.headers['x-version']).toBe(header);
});

test('a version by host replaces the host of base_url', async () => {
  const { server } = await start(always(200, list));
  const config = configFor(server.url, { version: { by: 'host', value: new URL(server.url).host } });
  expect(await readAll(openSource({ ...config, base_url: 'http://127.0.0.1:1' }))).toEqual(list);
});

test.each([
  [403, 'ACCESS_DENIED'],
  [404, 'LIST_MISSING'],
  [400, 'LIST_REFUSED'],
])('a service that answered and then refuses with a single %i does not end a reading', async (status, code) => {
  let asked = 0;
  const { server, source } = await start((_, response) =>
    ++asked === 2 ? json(response, status, {}) : json(response, 200, list),
  );
  await readAll(source);
  expect(await readAll(source)).toEqual(list);
  expect(asked).toBe(3);

  asked = 1;
  expect(await refusalOf(readAll(openSource(configFor(server.url))))).toMatchObject({ code, kind: 'terminal' });
});

test('a service that answered and then refuses for minutes is told with its history; an answer to another query does not excuse a refused one', () => {
  let now = 0;
  const refusals = createRefusals(() => now);
  const denied = terminal('ACCESS_DENIED', 'It answers 403.');
  const refused = terminal('LIST_REFUSED', 'It refuses the query with 400.');
  expect(refusals.judge(denied, 'a')).toBe(denied);
  refusals.answered('a');
  expect(refusals.judge(denied, 'a').kind).toBe('transient');
  expect(refusals.judge(refused, 'b').kind).toBe('transient');
  now = 299_000;
  expect(refusals.judge(denied, 'c').kind).toBe('transient');
  refusals.answered('a');
  now = 300_000;
  expect(refusals.judge(denied, 'a').kind).toBe('transient');
  expect(refusals.judge(refused, 'b')).toMatchObject({
    kind: 'terminal',
    message: 'It refuses the query with 400. It had answered before, and has refused 2 times over 5 minutes.',
  });
});

test('a wait for a date is counted on the service’s clock', () => {
  const headers = { date: 'Sat, 01 Jan 2000 00:00:00 GMT', 'retry-after': 'Sat, 01 Jan 2000 00:00:07 GMT' };
  expect(retryAfterOf({ headers })).toBe(7_000);
});

test.each([
  ['5', 5_000],
  ['0', 0],
  ['99999999', 900_000],
  ['-5', undefined],
  ['Sat, 01 Jan 2000 00:00:00 GMT', 0],
  ['x', undefined],
  [undefined, undefined],
])('Retry-After %s is read', (header, ms) => expect(readRetryAfter(header, Date.UTC(2024, 0, 1))).toBe(ms));
