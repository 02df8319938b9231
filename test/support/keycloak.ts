/** Keycloak of its package in Maven, as the identity provider of a realm with one machine client. */
import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { findFreePort } from '../../src/local/local-process.ts';
import { cacheFolderOf } from '../../src/local/locate-program.ts';
import { writeCertificate } from './certificate.ts';
import { endProcess } from './installation.ts';
import { copyMaven, run, startServer } from './tools.ts';
import { succeeds } from './until.ts';

export const keycloakVersion = '26.7.3';

/** @returns its folder; the first time, Keycloak prepares itself for minutes */
const installKeycloak = async (): Promise<string> => {
  const folder = cacheFolderOf(`keycloak-${keycloakVersion}`, process.env);
  const home = join(folder, `keycloak-${keycloakVersion}`);
  if (existsSync(join(folder, 'ready'))) return home;
  const zip = await copyMaven(`org.keycloak:keycloak-quarkus-dist:${keycloakVersion}:zip`, folder);
  await run(`cd "${folder}" && unzip -q -o "${zip}" && "${home}/bin/kc.sh" build --db=dev-file && touch ready`);
  return home;
};

const realm = 'calls';
const admin = 'admin';

/** The machine client of callsync. */
export const clientId = 'callsync';
/** The client of the service, which asks whether tokens are good: Keycloak calls others inactive. */
const asking = { clientId: 'service', secret: 'secret of the service' };

const audience = {
  name: 'service',
  protocol: 'openid-connect',
  protocolMapper: 'oidc-audience-mapper',
  config: { 'included.client.audience': asking.clientId, 'access.token.claim': 'true' },
};
const machine = { serviceAccountsEnabled: true, standardFlowEnabled: false, protocolMappers: [audience] };

/** @param folder of its database and certificate */
export const startKeycloak = async (folder: string) => {
  const home = await installKeycloak();
  await mkdir(folder, { recursive: true });
  const certificate = await writeCertificate(folder);
  const [port, securePort, management] = [await findFreePort(), await findFreePort(), await findFreePort()];
  const url = `http://127.0.0.1:${port}`;
  const options = {
    ...{ 'http-enabled': 'true', 'http-host': '127.0.0.1', 'http-port': port, 'https-port': securePort },
    ...{ 'https-certificate-file': certificate.cert_file, 'https-certificate-key-file': certificate.key_file },
    ...{ 'hostname-strict': 'false', cache: 'local', 'http-management-port': management, 'log-level': 'warn' },
    'db-url': `jdbc:h2:file:${join(folder, 'db')};NON_KEYWORDS=VALUE`,
  };
  const args = ['start', '--optimized', ...Object.entries(options).map(([name, value]) => `--${name}=${value}`)];
  const env = {
    ...{ PATH: process.env.PATH, HOME: folder, KC_BOOTSTRAP_ADMIN_USERNAME: admin, KC_BOOTSTRAP_ADMIN_PASSWORD: admin },
    JAVA_OPTS_APPEND: '-XX:TieredStopAtLevel=1',
  };
  const answers = () => succeeds(fetch(`${url}/realms/master`).then(({ ok }) => ok || Promise.reject(Error())));
  const launch = () => startServer(join(home, 'bin/kc.sh'), args, answers, { env, deadlineMs: 400_000 });
  let child = await launch();

  const post = (path: string, form: Record<string, string>) =>
    fetch(`${url}/realms/${path}`, { method: 'POST', body: new URLSearchParams(form) });
  /** A request of its administrator. @returns the answer, read as JSON if it has a body */
  const administer = async (method: string, path: string, body?: unknown) => {
    const form = { grant_type: 'password', client_id: 'admin-cli', username: admin, password: admin };
    const granted = await post('master/protocol/openid-connect/token', form);
    const { access_token } = (await granted.json()) as { readonly access_token: string };
    const headers = { authorization: `Bearer ${access_token}`, 'content-type': 'application/json' };
    const answer = await fetch(`${url}/admin/realms${path}`, { method, headers, body: JSON.stringify(body) ?? null });
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
    const text = await answer.text();
    return text === '' ? undefined : JSON.parse(text);
  };
  await administer('POST', '', { realm, enabled: true, sslRequired: 'none', clients: [asking] });
  const idOf = async (name: string) => (await administer('GET', `/${realm}/clients?clientId=${name}`))[0].id as string;

  return {
    url,
    secureUrl: `https://localhost:${securePort}`,
    ca: certificate.cert_file,
    realm,
    setRealm: (settings: Record<string, unknown>) => administer('PUT', `/${realm}`, settings),
    /** Makes a client that may ask for tokens, unless it is told otherwise. */
    addClient: (name: string, settings: Record<string, unknown>) =>
      administer('POST', `/${realm}/clients`, { ...machine, clientId: name, ...settings }),
    /** A new secret; the old one ends at once. */
    rotate: async (name: string) =>
      (await administer('POST', `/${realm}/clients/${await idOf(name)}/client-secret`)).value as string,
    /** Tokens of before are good no more. */
    revoke: async () => {
      await administer('PUT', `/${realm}`, { notBefore: Math.floor(Date.now() / 1000) + 1 });
      await administer('POST', `/${realm}/logout-all`);
    },
    /** As the service asks; undefined where Keycloak does not answer. */
    isActive: (token: string): Promise<boolean | undefined> =>
      post(`${realm}/protocol/openid-connect/token/introspect`, {
        token,
        client_id: asking.clientId,
        client_secret: asking.secret,
      }).then(
        async (answer) => ((await answer.json()) as { readonly active?: boolean }).active,
        () => undefined,
      ),
    start: async () => {
      child = await launch();
    },
    close: () => endProcess(child, 'SIGTERM'),
  };
};
