import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay, setImmediate as settle } from 'node:timers/promises';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { transient } from '../../src/lib/errors.ts';
import { createTokenSource } from '../../src/source/http/tokens.ts';
import { findTokenFormat } from '../../src/source/source.ts';
import { useFolder } from '../support/folder.ts';
import { always, configFor, json, openSource, readAll, refusalOf, serve, withTokens } from './local-server.ts';

type Handler = Parameters<typeof serve>[0];

const file = join(useFolder('secret'), 'secret');

const tokenRequests = ({ requests }: Awaited<ReturnType<typeof serve>>['server']): number =>
  requests.filter(({ path }) => path.startsWith('/realms/')).length;
/** A token that was taken just now is no longer young, until the end of the test. */
const letTokensAge = (): void => {
  const clock = vi.spyOn(performance, 'now').mockReturnValue(performance.now() + 61_000);
  onTestFinished(() => clock.mockRestore());
};
/** Asks for the list once. */
const askOnce = ({ api }: Awaited<ReturnType<typeof serve>>['source']) =>
  refusalOf(api.get(api.address('/calls', []), () => undefined, { retries: 0 }));
const unsignedToken = (claims: object): string =>
  [{ alg: 'none' }, claims].map((part) => `${Buffer.from(JSON.stringify(part)).toString('base64url')}.`).join('');

test.each([
  ['form', 'application/x-www-form-urlencoded', (body: string) => Object.fromEntries(new URLSearchParams(body))],
  ['json', 'application/json', (body: string) => JSON.parse(body)],
] as const)('the token request is that of the interface, as %s', async (token_format, type, read) => {
  const { server, source } = await serve(always(200, { access_token: 'a' }), { token_format });
  expect((await source.tokens.get()).value).toBe('a');
  const [request] = server.requests;
  expect(request?.path).toBe('/realms/demo/protocol/openid-connect/token');
  expect(request?.headers['content-type']).toContain(type);
  expect(request?.headers.authorization).toBeUndefined();
  const credentials = { client_id: 'id', client_secret: 'not-a-secret' };
  expect(read(request?.body ?? '')).toEqual({ grant_type: 'client_credentials', ...credentials, scope: 'openid' });
});

test.each([400, 415])('the token request is tried in the other form when one is refused with %i', async (status) => {
  const { server, source } = await serve((request, response) =>
    request.headers['content-type'] === 'application/json'
      ? json(response, 200, { access_token: 'a' })
      : json(response, status, { error: 'invalid_request' }),
  );
  expect(await findTokenFormat(configFor(server.url))).toBe('json');
  expect(await findTokenFormat(configFor(server.url, { token_format: 'json' }))).toBe('json');
  const expected = { code: 'TOKEN_FORM_REFUSED', hint: expect.stringContaining('token_format') };
  expect(await refusalOf(source.tokens.get())).toMatchObject(expected);
});

test('the token request is not tried in the other form with credentials that are refused', async () => {
  const { server } = await serve(always(401, { error: 'invalid_client' }));
  expect(await refusalOf(findTokenFormat(configFor(server.url)))).toMatchObject({ code: 'TOKEN_REFUSED' });
  expect(server.requests.length).toBe(1);
});

test('the token request is made once for 500 callers at once', async () => {
  const { server, source } = await serve((_, response) => {
    setTimeout(() => json(response, 200, { access_token: 'a', expires_in: 60 }), 30);
  });
  const tokens = await Promise.all(Array.from({ length: 500 }, () => source.tokens.get()));
  expect(new Set(tokens.map((token) => token.value))).toEqual(new Set(['a']));
  expect(server.requests.length).toBe(1);
});

test.each([
  ['text', '"300"', 300_000],
  ['zero', '0', 3_600_000],
  ['a date', '"2030-01-01T00:00:00Z"', 3_600_000],
  ['seconds since 1970', '1893456000', 3_600_000],
  ['null', 'null', 3_600_000],
])('the token request takes expires_in as %s', async (_, sent, lifetime) => {
  const { source } = await serve(always(200, `{"access_token":"a","expires_in":${sent}}`));
  const token = await source.tokens.get();
  expect(token.expiresAt - token.requestedAt).toBe(lifetime);
});

test.each([
  ['an id_token that is no token', { id_token: 'garbage' }],
  ['an id_token of another issuer', { id_token: unsignedToken({ iss: 'https://other.example', exp: 1 }) }],
  ['an id_token that is not text', { id_token: 17 }],
  ['another token_type', { token_type: 'mac' }],
  ['a line feed behind it', { access_token: 'a\n' }],
])('the token request is not troubled by %s', async (_, surprise) => {
  const { source } = await serve(always(200, { access_token: 'a', token_type: 'Bearer', ...surprise }));
  expect((await source.tokens.get()).value).toBe('a');
});

const invalidClient = '{"error":"invalid_client","error_description":"not-a-secret is wrong"}';
test.each([
  [400, invalidClient, 'TOKEN_REFUSED', 'terminal', /client_secret_post/],
  [401, '{"error":"unauthorized_client"}', 'TOKEN_REFUSED', 'terminal', /service accounts/],
  [401, '{"error":"invalid_client"}', 'TOKEN_REFUSED', 'terminal', /is enabled/],
  [400, '{"error":"invalid_scope"}', 'TOKEN_REFUSED', 'terminal', /^Correct source\.scope/],
  [400, '{"error":"unsupported_grant_type"}', 'TOKEN_REFUSED', 'terminal', /source\.token_url/],
  [403, '{"error":"access_denied"}', 'TOKEN_REFUSED', 'terminal', /https/],
  [403, '<html>not-a-secret</html>', 'TOKEN_REFUSED', 'terminal', /https/],
  [404, '{"error":"Realm does not exist"}', 'TOKEN_ENDPOINT_MISSING', 'terminal', /source\.token_url/],
  [200, '{"error":"invalid_client"}', 'TOKEN_REFUSED', 'terminal', /is enabled/],
  [200, '<html>Sign in</html>', 'TOKEN_MALFORMED', 'transient', /proxy/],
  [200, '{"access_token":17}', 'TOKEN_MALFORMED', 'transient', /proxy/],
  [500, 'oops', 'TOKEN_UNAVAILABLE', 'transient', /source\.auth_url/],
  [400, '{"error":"temporarily_unavailable"}', 'TOKEN_UNAVAILABLE', 'transient', /source\.auth_url/],
  [429, '{"errors":[{"id":1}]}', 'TOKEN_UNAVAILABLE', 'transient', /source\.auth_url/],
])('the token request explains %d %s', async (status, body, code, kind, step) => {
  const { source } = await serve(always(status, body));
  const error = await refusalOf(source.tokens.get());
  expect(error).toMatchObject({ code, kind, hint: expect.stringMatching(step) });
  expect(JSON.stringify([error.message, error.hint, String(error.cause), error.stack])).not.toContain('not-a-secret');
});

test('the token request sends no secret over plain http beyond this machine, unless that is allowed', () => {
  const url = 'http://service.example';
  const urls = [{ auth_url: url }, { base_url: url }, { token_url: url }, { token: 'a', base_url: url }];
  for (const more of [...urls, { version: { by: 'host', value: 'service.example' } as const }]) {
    const open = (allow_http: boolean) => openSource(configFor('http://127.0.0.1:1', { ...more, allow_http }));
    expect(() => open(false)).toThrowError(expect.objectContaining({ code: 'TOKEN_INSECURE' }));
    open(true);
  }
});

test('the token request reads the secret file again for each request', async () => {
  await writeFile(file, 'first\n');
  const config = { client_secret: undefined, client_secret_file: file };
  const { server, source } = await serve(always(200, { access_token: 'a' }), config);
  const first = await source.tokens.get();
  await writeFile(file, 'second\n');
  source.tokens.invalidate(first.value);
  await source.tokens.get();
  const secrets = server.requests.map(({ body }) => new URLSearchParams(body).get('client_secret'));
  expect(secrets).toEqual(['first', 'second']);
});

describe('renewal', () => {
  const clockwork = (lifetimeSeconds: number) => {
    const state = { now: 0, requests: 0, down: false };
    const source = createTokenSource(
      async () => {
        state.requests++;
        if (state.down) throw new Error('down');
        return { accessToken: `t${state.requests}`, expiresIn: lifetimeSeconds };
      },
      { assumedLifetimeMs: 3_600_000, now: () => state.now, attempts: 1 },
    );
    return { state, source };
  };

  test('starts before the end, while the old token still serves', async () => {
    const { state, source } = clockwork(300);
    const look = async () => [(await source.get()).value, state.requests];
    expect(await look()).toEqual(['t1', 1]);
    state.now = 239_000;
    expect(await look()).toEqual(['t1', 1]);
    state.now = 241_000;
    expect(await look()).toEqual(['t1', 2]);
    await settle();
    expect(await look()).toEqual(['t2', 2]);
  });

  test('bridges a minute without identity provider', async () => {
    const { state, source } = clockwork(300);
    await source.get();
    state.down = true;
    for (state.now = 235_000; state.now < 294_000; state.now += 500) {
      expect((await source.get()).value).toBe('t1');
      await settle();
    }
    // It was asked again with growing pauses, not with every call.
    expect(state.requests).toBeLessThan(60);
    state.down = false;
    state.now = 296_000;
    expect((await source.get()).value).not.toBe('t1');
  });
});

test('a rejected token makes one renewal in a storm of 401s', async () => {
  let issued = 0;
  const list: Handler = async ({ headers }, response) => {
    await delay(Math.random() * 60);
    json(response, headers.authorization === 'bearer t1' ? 401 : 200, [{}]);
  };
  const issue = () => delay(5, { access_token: `t${++issued}` });
  const { server, source } = await serve(withTokens(list, issue), { limits: { concurrency: 100 } });
  const read = await Promise.all(Array.from({ length: 300 }, () => readAll(source)));
  expect(read.every(({ length }) => length === 1)).toBe(true);
  expect(tokenRequests(server)).toBe(2);
});

test('a rejected token is terminal when fresh ones are never taken, and the list is asked just twice', async () => {
  const issue = () => ({ access_token: `t${Math.random()}` });
  const { server, source } = await serve(withTokens(always(401, {}), issue));
  expect(await refusalOf(readAll(source))).toMatchObject({ code: 'TOKEN_REJECTED', kind: 'terminal' });
  expect(server.requests.filter(({ path }) => path.startsWith('/calls')).length).toBe(2);
  expect(tokenRequests(server)).toBe(2);
});

test('a service that answers 403 to an ended token gets a new one; a young token is not replaced', async () => {
  let ended = 0;
  let issued = 0;
  const list: Handler = ({ headers }, response) =>
    json(response, Number(headers.authorization?.split(' ')[1]) > ended ? 200 : 403, [{}]);
  const { server, source } = await serve(withTokens(list, () => ({ access_token: `${++issued}` })));
  expect(await readAll(source)).toHaveLength(1);
  ended = 1;
  expect(await askOnce(source)).toMatchObject({ code: 'ACCESS_DENIED' });
  expect(tokenRequests(server)).toBe(1);
  letTokensAge();
  expect(await readAll(source)).toHaveLength(1);
  expect(tokenRequests(server)).toBe(2);
});

test('a service that answers 403 for a used-up quota is not asked again with another token', async () => {
  let refused = 0;
  const list: Handler = (_, response) =>
    ++refused > 1 ? json(response, 403, { detail: 'quota exceeded' }) : json(response, 200, [{}]);
  const { server, source } = await serve(withTokens(list));
  expect(await readAll(source)).toHaveLength(1);
  letTokensAge();
  expect(await askOnce(source)).toMatchObject({ code: 'SERVICE_QUOTA' });
  expect([refused, tokenRequests(server)]).toEqual([2, 1]);
});

test('a token is taken behind the wait for a slot: none that has expired is sent', async () => {
  const issued = new Map<string, number>();
  let expired = 0;
  const list: Handler = ({ headers }, response) => {
    const isOver = performance.now() - (issued.get(headers.authorization ?? '') ?? 0) > 1_700;
    if (isOver) expired++;
    json(response, isOver ? 401 : 200, [{}]);
  };
  const issue = () => {
    issued.set(`bearer t${issued.size}`, performance.now());
    return { access_token: `t${issued.size - 1}`, expires_in: 1 };
  };
  const { source } = await serve(withTokens(list, issue), { limits: { requests: 4, per_s: 0.4 } });
  await Promise.all(Array.from({ length: 26 }, () => readAll(source)));
  expect(issued.size).toBeGreaterThan(1);
  expect(expired).toBe(0);
});

test('an identity provider that refuses is asked ever more rarely, by all callers together', async () => {
  const waits: number[] = [];
  const random = vi.spyOn(Math, 'random').mockReturnValue(1);
  onTestFinished(() => random.mockRestore());
  const refuse = () => Promise.reject(transient('TOKEN_REFUSED', 'It is disabled.'));
  const rules = { assumedLifetimeMs: 1, attempts: 3, backoff: { baseMs: 15, maxMs: 60_000 }, now: () => 0 };
  const source = createTokenSource(refuse, { ...rules, pause: async (ms) => void waits.push(ms) });
  for (const _ of [1, 2]) await Promise.all([refusalOf(source.get()), refusalOf(source.get())]);
  expect([waits, source.counts.requests]).toEqual([[15, 30, 60, 120, 240], 6]);
});

test('a fixed token is sent with its scheme, and no token is requested', async () => {
  const config = { token: 'fixed', auth_scheme: 'Token', auth_url: undefined };
  const { server, source } = await serve(always(200, [{}]), config);
  await readAll(source);
  expect(server.requests.map(({ headers }) => headers.authorization)).toEqual(['Token fixed']);
});
