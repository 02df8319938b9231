/** Keycloak as the identity provider of a service that asks it about each token. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import type { SourceConfigInput } from '../../schemas/config/source.ts';
import { sourceOf } from '../../src/simulator/demo/simulator-process.ts';
import type { SimulatorAddresses } from '../../src/simulator/start-simulator.ts';
import { findTokenFormat } from '../../src/source/source.ts';
import { configFor, openSource, refusalOf } from '../source/local-server.ts';
import { useFolder } from '../support/folder.ts';
import { installForTest } from '../support/installation.ts';
import { clientId, keycloakVersion, startKeycloak } from '../support/keycloak.ts';
import { listen } from '../support/listen.ts';
import { recordCase } from '../support/neighbour-results.ts';
import { useOpened } from '../support/opened.ts';
import { startProgram } from '../support/program.ts';

const record = (): void => recordCase('Keycloak', keycloakVersion);

/** A service before the list of the simulator: it takes only tokens that Keycloak calls active. */
const openService = async (keycloak: Awaited<ReturnType<typeof startKeycloak>>) => {
  let list = '';
  let token = '';
  const counts = { requests: 0, refused: 0 };
  let event = async (): Promise<unknown> => undefined;
  const service = await listen(async (request, response) => {
    const sent = request.headers.authorization?.replace(/^Bearer /i, '') ?? '';
    if (counts.requests++ === 20) await event();
    // A service whose identity provider does not answer believes a token until its end.
    const { exp } = JSON.parse(Buffer.from(sent.split('.')[1] ?? '', 'base64url').toString() || '{}');
    const isActive = (await keycloak.isActive(sent)) ?? exp > Date.now() / 1000;
    if (!isActive) {
      counts.refused += 1;
      response.writeHead(401).end();
      return;
    }
    const answer = await fetch(new URL(request.url ?? '/', list), { headers: { authorization: `Bearer ${token}` } });
    response.writeHead(answer.status, { 'content-type': 'application/json' });
    response.end(Buffer.from(await answer.arrayBuffer()));
  });
  onTestFinished(service.close);
  return {
    url: service.url,
    counts,
    /** @param before what happens before its twentieth request */
    protect: async (simulator: SimulatorAddresses, before: typeof event) => {
      event = before;
      list = simulator.url;
      token = (await openSource(configFor(simulator.authUrl, sourceOf(simulator))).tokens.get()).value;
    },
  };
};

export const describeIdentity = (): void => {
  const folder = useFolder('identity');
  const keycloak = useOpened(
    () => startKeycloak(join(folder, 'keycloak')),
    ({ close }) => close(),
  );
  const secret = 'a secret: + % & = é "';
  const usual = (): SourceConfigInput => ({
    ...{ base_url: keycloak.url, auth_url: keycloak.url, realm: keycloak.realm },
    ...{ client_id: clientId, client_secret: secret },
  });
  beforeAll(async () => {
    await keycloak.addClient(clientId, { secret });
    await keycloak.addClient('disabled', { secret, enabled: false });
    await keycloak.addClient('people', { secret, serviceAccountsEnabled: false, standardFlowEnabled: true });
    await keycloak.addClient('signed', { secret, clientAuthenticatorType: 'client-secret-jwt' });
  }, 600_000);

  test.each<[string, Partial<SourceConfigInput>, string, RegExp]>([
    ['a request as JSON', { token_format: 'json' }, 'TOKEN_FORM_REFUSED', /token_format/],
    ['a wrong secret', { client_secret: 'wrong' }, 'TOKEN_REFUSED', /client_secret/],
    ['an unknown client', { client_id: 'nobody' }, 'TOKEN_REFUSED', /client_id/],
    ['a disabled client', { client_id: 'disabled' }, 'TOKEN_REFUSED', /enabled/],
    ['a client without a service account', { client_id: 'people' }, 'TOKEN_REFUSED', /service accounts/],
    ['a client that signs', { client_id: 'signed' }, 'TOKEN_REFUSED', /client_secret_post|client_secret/],
    ['an unknown scope', { scope: 'openid nothing' }, 'TOKEN_REFUSED', /source\.scope/],
    ['an unknown realm', { realm: 'nowhere' }, 'TOKEN_ENDPOINT_MISSING', /source\.realm/],
  ])('%s is refused by its name, with a next step', async (_, over, code, hint) => {
    record();
    const source = openSource(configFor(keycloak.url, { ...usual(), ...over }));
    expect(await refusalOf(source.tokens.get())).toMatchObject({ code, hint: expect.stringMatching(hint) });
  });

  test('a secret with any characters is taken, and the form is found', async () => {
    record();
    const config = configFor(keycloak.url, usual());
    expect(await findTokenFormat({ ...config, token_format: 'json' })).toBe('form');
    const token = await openSource(config).tokens.get();
    expect(await keycloak.isActive(token.value)).toBe(true);
  });

  test('a realm that demands HTTPS is named', async () => {
    record();
    await keycloak.setRealm({ sslRequired: 'all' });
    onTestFinished(() => keycloak.setRealm({ sslRequired: 'none' }));
    const refused = await refusalOf(openSource(configFor(keycloak.url, usual())).tokens.get());
    expect(refused).toMatchObject({ code: 'TOKEN_REFUSED', hint: expect.stringContaining('https') });
  });

  test('a private authority is named, and taken by NODE_EXTRA_CA_CERTS', async () => {
    record();
    const config = configFor(keycloak.url, { ...usual(), auth_url: keycloak.secureUrl });
    const refused = await refusalOf(openSource(config).tokens.get());
    expect(`${refused.message} ${refused.hint}`).toContain('NODE_EXTRA_CA_CERTS');
    const path = join(folder, 'token.mjs');
    const built = new URL('../../dist/src/source/source.js', import.meta.url).href;
    const script = `import { createSource } from '${built}';
const source = createSource(JSON.parse(process.env.SOURCE));
console.log(JSON.stringify({ length: (await source.tokens.get()).value.length }));
await source.close();`;
    await writeFile(path, script);
    const env = { ...process.env, NODE_EXTRA_CA_CERTS: keycloak.ca, SOURCE: JSON.stringify(config) };
    const { first, ended } = startProgram([], { entry: path, env });
    expect(await first()).toMatchObject({ length: expect.any(Number) });
    expect(await ended).toBe(0);
  });

  /** A backfill of 50 pages, and what the service counted. @param accessTokenLifespan seconds that tokens live */
  const backfill = async (
    event: (secretFile: string) => Promise<unknown>,
    { accessTokenLifespan = 300, limits = { requests: 400, per_s: 1 } } = {},
  ) => {
    const service = await openService(keycloak);
    const secretFile = join(folder, 'secret');
    await keycloak.setRealm({ accessTokenLifespan });
    await writeFile(secretFile, await keycloak.rotate(clientId));
    const site = await installForTest({
      simulator: { seed: 5, calls: { count: 1_000, utterances: 2 } },
      source: {
        ...usual(),
        ...{ base_url: service.url, client_secret: undefined, client_secret_file: secretFile, limits },
        list: { preset: 'activate', pagination: { style: 'offset', size: 20 } },
      },
    });
    await service.protect(site.simulator, () => event(secretFile));
    await site.startWorker();
    await (await site.backfill('all', { force: true })).result;
    const truth = await site.checkTruth();
    expect(truth).toMatchObject({ lost: 0, duplicated: 0, stale: 0 });
    expect(service.counts.requests).toBeGreaterThan(50);
    return service.counts;
  };

  test('revocation: tokens that end at once are replaced, and every call is read', async () => {
    record();
    const { refused } = await backfill(keycloak.revoke);
    expect(refused).toBeGreaterThan(0);
    expect(refused).toBeLessThanOrEqual(10);
  });

  test('rotation: a new secret is read from its file while a backfill runs', async () => {
    record();
    const rotateAndRevoke = async (secretFile: string) => {
      await writeFile(secretFile, await keycloak.rotate(clientId));
      await keycloak.revoke();
    };
    expect((await backfill(rotateAndRevoke)).refused).toBeGreaterThan(0);
  });

  test('restart: a backfill waits for Keycloak when its token ends, and goes on when Keycloak is back', async () => {
    record();
    let back: Promise<unknown> | undefined;
    let isBack = false;
    const restart = async () => {
      await keycloak.close();
      back = sleep(10_000)
        .then(keycloak.start)
        .then(() => (isBack = true));
    };
    await backfill(restart, { accessTokenLifespan: 5, limits: { requests: 60, per_s: 12 } });
    // The token of before has ended, so that no page could be read without Keycloak.
    expect(isBack).toBe(true);
    await back;
  });

  test.each([
    [5, 12],
    [60, 60],
  ])('lifetime: tokens that live for %i s end on no request', async (accessTokenLifespan, seconds) => {
    record();
    const limits = { requests: 60, per_s: seconds };
    const { refused } = await backfill(async () => undefined, { accessTokenLifespan, limits });
    expect(refused).toBe(0);
  });
};
