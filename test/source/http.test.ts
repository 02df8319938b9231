import dns from 'node:dns';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { SourceConfigInput } from '../../schemas/config/source.ts';
import { terminal } from '../../src/lib/errors.ts';
import { backoffMs } from '../../src/lib/timing.ts';
import { createRefusals, retryAfterOf } from '../../src/source/http/errors.ts';
import { createHttp, untrusted } from '../../src/source/http/http.ts';
import { createLocalRequestLimiter } from '../../src/source/http/limiter.ts';
import { createSource, requestLimitRules } from '../../src/source/source.ts';
import { openProxy } from '../support/proxy.ts';
import { always, configFor, json, openSource, readAll, refusalOf, serve, withTokens } from './local-server.ts';

type Handler = Parameters<typeof serve>[0];

const start = async (handler: Handler, config: Partial<SourceConfigInput> = {}, atEnd = onTestFinished) => {
  const { server, source } = await serve(withTokens(handler), config, atEnd);
  return { server, source, lists: () => server.requests.filter(({ path }) => !path.startsWith('/realms/')).length };
};

const list = [{ unique_id: 'a', text: 'é'.repeat(500) }, { unique_id: 'b' }];
const bytes = Buffer.from(JSON.stringify(list));

type Response = Parameters<Handler>[1];
type Spoil = (response: Response) => void;
const encoded = (response: Response, encoding: string, body: Buffer) =>
  void response.writeHead(200, { 'content-encoding': encoding }).end(body);
const typed = (response: Response, charset: string, body: Buffer) =>
  void response.setHeader('content-type', `application/json; charset=${charset}`).end(body);
const cutOff = (response: Response) => void response.write(bytes.subarray(0, 100), () => response.destroy());
const trickle = (response: Response): void => {
  response.writeHead(200);
  const timer = setInterval(() => response.write(' '), 20);
  response.on('close', () => clearInterval(timer));
};
/** Its first answer is spoilt, the others are good; with the times at which it was asked. */
const startSpoilt = async (spoil: Spoil, atEnd: typeof onTestFinished, config: Partial<SourceConfigInput> = {}) => {
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
  // A charset, which some services put here.
  ['UTF-8', bytes],
])('bodies are decoded from %s', async (encoding, body) => {
  const { source } = await start((_, response) => encoded(response, encoding, body));
  expect(await readAll(source)).toEqual(list);
});

// At once, as they wait for time to pass.
test.concurrent.for<[string, Spoil]>([
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

test.each<[string, Handler]>([
  ['encoding that was not asked for', (_, response) => encoded(response, 'deflate', deflateSync(bytes))],
  ['unknown charset', (_, response) => typed(response, 'klingon', Buffer.from(JSON.stringify(list), 'latin1'))],
])('a whole body in an %s is refused, and the process goes on', async (_, answer) => {
  const { source, lists } = await start(answer, { list: { single_path: '/calls/{unique_id}' } });
  expect(await refusalOf(source.list.fetchCall('a'))).toMatchObject({ code: 'RESPONSE_ENCODING', kind: 'terminal' });
  // An error of the stream would end the process on a later turn.
  await new Promise(setImmediate);
  expect(lists()).toBe(1);
});

test('an answer out of a cache is as old as its age, whatever its date', async () => {
  const single = { list: { single_path: '/calls/{unique_id}' } };
  const { source } = await start((_, response) => json(response, 200, { unique_id: 'a' }, { age: '600' }), single);
  const call = await source.list.fetchCall('a');
  expect(call?.observedAt).toBeLessThan((Date.now() - 590_000) * 1000);
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

test.concurrent('the source waits for the date that a 503 says', async ({ expect, onTestFinished }) => {
  const headers = () => ({ 'retry-after': new Date(Date.now() + 2_000).toUTCString() });
  const { source } = await startSpoilt((response) => json(response, 503, {}, headers()), onTestFinished);
  const started = performance.now();
  expect(await readAll(source)).toEqual(list);
  expect(performance.now() - started).toBeGreaterThanOrEqual(900);
});

// Without a word of the service, for a tenth of the limit's window.
test.concurrent.for<[string, Spoil]>([
  ['a 429', (response) => json(response, 429, {}, { 'retry-after': '1' })],
  ['a 429 without Retry-After', (response) => json(response, 429, {})],
  ['a 503', (response) => json(response, 503, {}, { 'retry-after': '1' })],
  ['a 503 without Retry-After', (response) => json(response, 503, {})],
  ['a reset', (response) => response.socket?.resetAndDestroy()],
])('the source holds every request back after %s', async ([, refuse], { expect, onTestFinished }) => {
  const { source: spoilt, times } = await startSpoilt(refuse, onTestFinished, { limits: { per_s: 10 } });
  const limiter = createLocalRequestLimiter(requestLimitRules(spoilt.config));
  const source = createSource(spoilt.config, { limiter });
  onTestFinished(source.close);
  const held = new Promise<void>((resolve) => {
    const { penalize } = limiter;
    limiter.penalize = (...of) => penalize(...of).then(resolve);
  });
  const first = readAll(source);
  await held;
  await Promise.all([first, readAll(source), readAll(source)]);
  const [refused = 0, ...later] = times;
  expect(later.every((at) => at - refused > 950)).toBe(true);
});

test.each([
  [400, 'LIST_REFUSED', 'terminal', 1],
  [403, 'ACCESS_DENIED', 'terminal', 1],
  [404, 'LIST_MISSING', 'terminal', 1],
  [410, 'SERVICE_REFUSED', 'terminal', 1],
  [501, 'SERVICE_REFUSED', 'terminal', 1],
  [502, 'SERVICE_UNAVAILABLE', 'transient', 4],
])('what %d refuses is %s, %s after %i requests of at most 4', async (status, code, kind, asked) => {
  const answer = always(status, { detail: 'limit +33 6 12 34 56 78 of jo@example.org' });
  const { source, lists } = await start(answer, { limits: { retries: 3 } });
  const error = await refusalOf(readAll(source));
  expect(error).toMatchObject({ code, kind });
  expect(lists()).toBe(asked);
  expect(error.message).not.toMatch(/12 34|example\.org/);
});

test.each<[string, Record<string, string>, string[]]>([
  ['http://service.example', { HTTP_PROXY: 'PROXY' }, ['service.example:80']],
  ['http://service.example', { http_proxy: 'PROXY', NO_PROXY: 'other.example' }, ['service.example:80']],
  // A tunnel; the server behind it speaks no TLS.
  ['https://service.example', { HTTPS_PROXY: 'PROXY' }, ['service.example:443']],
  ['https://service.example', { https_proxy: 'PROXY' }, ['service.example:443']],
  ['http://service.example', { HTTP_PROXY: 'PROXY', NO_PROXY: 'service.example' }, []],
  ['http://service.example', { HTTP_PROXY: 'PROXY', no_proxy: '*' }, []],
  ['LOCAL', { HTTP_PROXY: 'PROXY' }, []],
])('list and tokens of %s under %j go through the proxy to %j', async (base, environment, hosts) => {
  const { server } = await serve(withTokens(always(200, list)));
  const proxy = await openProxy(server.url);
  for (const name of ['HTTPS_PROXY', 'HTTP_PROXY', 'NO_PROXY', 'https_proxy', 'http_proxy', 'no_proxy'])
    vi.stubEnv(name, environment[name]?.replace('PROXY', proxy.url));
  // No name server is asked: where none answers, that takes seconds.
  vi.spyOn(dns, 'lookup').mockImplementation(() => expect.fail('not found'));
  onTestFinished(() => void vi.unstubAllEnvs().restoreAllMocks());
  const source = openSource({ ...configFor(base.replace('LOCAL', server.url)), allow_http: true });
  const read = await readAll(source).catch(() => undefined);
  expect([...new Set(proxy.hosts)]).toEqual(hosts);
  if (hosts[0] === 'service.example:80') expect([read, server.requests.length]).toEqual([list, 2]);
});

test.each(['proxy.example:3128', 'user:pass-word@proxy'])('no address of an unusable proxy is said: %s', (address) => {
  vi.stubEnv('HTTPS_PROXY', address);
  onTestFinished(() => void vi.unstubAllEnvs());
  const refused = { code: 'CONFIG_PROXY', message: expect.not.stringContaining(address) };
  expect(() => openSource(configFor('https://service.example'))).toThrowError(expect.objectContaining(refused));
});

test('the source stops at once when it is told to', async () => {
  const { source } = await start(always(503, {}, { 'retry-after': '600' }));
  const signal = AbortSignal.timeout(50);
  expect(await refusalOf(source.list.readPages({ signal }).next())).toBe(signal.reason);
});

test('redirects to another host never carry token or secret, and say which of them', async () => {
  const { server: other } = await serve(always(200, list));
  const { source } = await start(redirect(302, `${other.url}/calls`));
  const refused = (what: RegExp) => ({
    ...{ code: 'REDIRECT_REFUSED', kind: 'terminal', message: expect.stringMatching(what) },
  });
  expect(await refusalOf(readAll(source))).toMatchObject(refused(/; the token was/));
  const { source: moved } = await serve(redirect(307, `${other.url}/token`));
  expect(await refusalOf(moved.tokens.get())).toMatchObject(refused(/; the client secret was/));
  expect(other.requests).toEqual([]);
});

/** A list under /api whose first page links on as `linkTo` says; with the requests to other hosts. */
const startLinked = async (pagination: object, linkTo: (url: string) => string) => {
  const { server: other } = await serve(always(200, list));
  const { server } = await start((_, response, url) => {
    const isFirst = url.searchParams.get('page') === null;
    const next = linkTo(other.url);
    const header: Record<string, string> = isFirst ? { link: `<${next}>; rel="next"` } : {};
    json(response, 200, { next: isFirst ? next : null, data: isFirst ? list : [{ unique_id: 'c' }] }, header);
  });
  const config = { list: { records: 'data', pagination } } as Partial<SourceConfigInput>;
  const source = openSource(configFor(server.url, { ...config, base_url: `${server.url}/api` }));
  return { source, other, paths: () => server.requests.map(({ path }) => path) };
};
const linkStyles = [{ style: 'link' }, { style: 'cursor', next_path: 'next' }];

// As a service behind a TLS proxy writes them, which knows neither its scheme nor its host.
test.each(linkStyles)('links to another scheme or host below base_url are followed by path: %j', async (pagination) => {
  for (const from of ['https://internal.example:8443', 'http://internal.example']) {
    const { source, paths } = await startLinked(pagination, () => `${from}/api/calls?page=2`);
    expect(await readAll(source)).toEqual([...list, { unique_id: 'c' }]);
    expect(paths().at(-1)).toBe('/api/calls?page=2');
  }
});

test('links whose path begins with another host lead to no other host', async () => {
  const linkTo = (url: string) => `https://a.example//${url.slice(7)}/?page=2`;
  const { source, other, paths } = await startLinked({ style: 'link' }, linkTo);
  const { list: client } = openSource({ ...source.config, base_url: source.config.base_url.replace('/api', '') });
  await readAll({ list: client } as typeof source);
  expect(paths().at(-1)).toBe(`//${other.url.slice(7)}/?page=2`);
  expect(other.requests).toEqual([]);
});

test.each(linkStyles)('links to another place are refused for good, without the token: %j', async (pagination) => {
  const { source, other } = await startLinked(pagination, (url) => `${url}/apix/calls?page=2`);
  expect(await refusalOf(readAll(source))).toMatchObject({ code: 'LINK_REFUSED', kind: 'terminal' });
  expect(other.requests).toEqual([]);
});

const withBytes = (charset: string): [string, Buffer] => [charset, bytes];
test.each<[string, Buffer, object[]?]>([
  ['iso-8859-1', Buffer.from(JSON.stringify(list), 'latin1')],
  ['utf-16le', Buffer.from(JSON.stringify(list), 'utf16le')],
  ['iso-2022-jp', Buffer.from('[{"unique_id":"\u001b$BF|\u001b(B"}]'), [{ unique_id: '日' }]],
  ...['"ISO-8859-1"', 'UTF-8', 'iso-8859-15', 'windows-1250', 'utf-16'].map(withBytes),
  // Two header lines, which are joined; a name of MySQL.
  ...['utf-8, application/json; charset=utf-8', 'utf8mb4'].map(withBytes),
])('bodies in charset %s are read as text, and never damaged', async (charset, body, read = list) => {
  const { source } = await start((_, response) => typed(response, charset, body));
  expect(await readAll(source)).toEqual(read);
});

test.each(['CERT_HAS_EXPIRED', 'CERT_NOT_YET_VALID', 'ERR_TLS_CERT_ALTNAME_INVALID', 'DEPTH_ZERO_SELF_SIGNED_CERT'])(
  'NODE_EXTRA_CA_CERTS is advised for an unknown authority alone: %s',
  (code) => {
    const { hint } = untrusted(new URL('https://service.example'), code, undefined);
    expect(hint?.includes('NODE_EXTRA_CA_CERTS')).toBe(code.startsWith('DEPTH'));
  },
);

test.each<[number, unknown, Record<string, string>]>([
  [402, {}, {}],
  [403, { error: { message: 'Daily quota exceeded' } }, {}],
  [403, { detail: 'API rate limit exceeded' }, {}],
  [403, {}, { 'retry-after': '0' }],
])('a used-up quota (%i %j %j) is waited for, longer and longer', async (...answer) => {
  const waits: number[] = [];
  let left = 3;
  const { source } = await start((...of) => (left-- > 0 ? always(...answer) : always(200, list))(...of));
  const penalize = async (ms: number) => void waits.push(ms);
  const { list: client } = createSource(source.config, { limiter: { acquire: async () => 0, penalize } });
  const ask = () => readAll({ list: client } as typeof source);
  for (const _ of [1, 2, 3]) expect(await refusalOf(ask())).toMatchObject({ code: 'SERVICE_QUOTA', kind: 'transient' });
  expect(await ask()).toEqual(list);
  left = 1;
  await refusalOf(ask());
  expect(waits).toEqual([2_000, 4_000, 8_000, 2_000]);
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

test.each<[Partial<SourceConfigInput>, object]>([
  [{}, { accept: 'application/json', 'cache-control': 'no-cache' }],
  [{ headers: { 'Cache-Control': 'max-age=0', Accept: '*/*' } }, { accept: '*/*', 'cache-control': 'max-age=0' }],
  [{ version: { by: 'header', name: 'Accept', value: 'text/x.v2' } }, { accept: 'text/x.v2' }],
])('no proxy answers from what it keeps, unless configured headers say otherwise: %j', async (section, sent) => {
  const { server, source } = await start(always(200, list), section);
  await readAll(source);
  expect(server.requests.at(-1)?.headers).toMatchObject(sent);
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

test('a service that refuses for minutes is told with its history; other answers excuse no refusal', () => {
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
  const message = 'It refuses the query with 400. It had answered before, and has refused 2 times over 5 minutes.';
  expect(refusals.judge(refused, 'b')).toMatchObject({ kind: 'terminal', message });
});

test.each<[string | undefined, number | undefined, object?, number?]>([
  ['5', 5_000, { 'x-ratelimit-reset': '9' }],
  [undefined, 9_000, { 'x-ratelimit-reset': '9' }],
  [undefined, undefined, { 'x-ratelimit-reset': '9' }, 403],
  [undefined, 7_000, { 'x-ratelimit-reset': '1704067207', date: 'Mon, 01 Jan 2024 00:00:00 GMT' }],
  ['0', 0],
  ['99999999', 900_000],
  ['-5', undefined],
  ['Sat, 01 Jan 2000 00:00:00 GMT', 0],
  // A date is counted on the service’s clock.
  ['Sat, 01 Jan 2000 00:00:07 GMT', 7_000, { date: 'Sat, 01 Jan 2000 00:00:00 GMT' }],
  ['x', undefined],
])('Retry-After %s is read', (header, ms, more, status = 429) =>
  expect(retryAfterOf({ status, headers: { ...more, ...(header !== undefined && { 'retry-after': header }) } })).toBe(
    ms,
  ),
);

test.each([0, undefined])('after Retry-After %s, waits grow', (asked) =>
  expect(backoffMs(3, { baseMs: 100, maxMs: 5_000 }, asked, () => 0.5)).toBe(400),
);

test('a request ends with its signal, also while it waits for a connection', async () => {
  const { limits } = configFor('http://127.0.0.1', { limits: { concurrency: 1 } });
  const { server } = await serve((_, response) => void response.writeHead(200));
  const http = createHttp(limits);
  const url = new URL(server.url);
  const holder = new AbortController();
  // The only connection is busy with it.
  const holding = refusalOf(http.send({ url, signal: holder.signal }));
  const signal = AbortSignal.timeout(50);
  expect(await refusalOf(http.send({ url, signal }))).toBe(signal.reason);
  holder.abort();
  expect(await holding).toBe(holder.signal.reason);
});

test('the memory of a page that was freed serves a body of about its size', async () => {
  const { server } = await serve(({ url }, response) => void response.end('ab'.repeat(Number(url?.slice(1)) / 2)));
  const { send, spare } = createHttp(configFor('http://127.0.0.1').limits);
  const read = async (size: number) => (await send({ url: new URL(String(size), server.url) })).body;
  spare.memory = (await read(1_000_000)).buffer as ArrayBuffer;
  const bodies = [await read(70_000), await read(900_000), await read(800_000)];
  expect(bodies.map(({ buffer }) => buffer.byteLength)).toEqual([87_500, 1_250_000, 1_000_000]);
  expect(bodies[1]?.toString()).toBe('ab'.repeat(450_000));
});
