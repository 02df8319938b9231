/**
 * PostgreSQL and Temporal behind TLS; stunnel ends that of clients of Temporal where it is installed. A valid certificate is accepted; an expired or wrong one is refused with a clear
 * error.
 */
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, chown, writeFile } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';
import { dirname, join } from 'node:path';
import { TLSSocket } from 'node:tls';
import { describe, expect, onTestFinished, test } from 'vitest';
import { temporalConfigSchema } from '../../schemas/config/temporal.ts';
import { resolvePostgresAccount } from '../../src/local/embedded-postgres.ts';
import { findFreePort } from '../../src/local/local-process.ts';
import { openDatabase } from '../../src/postgres/database.ts';
import { openStore } from '../../src/store/store.ts';
import { connectClient } from '../../src/temporal/connect.ts';
import { connectWorker } from '../../src/temporal/worker.ts';
import { makeCertificate, type TestCertificate, writeCertificate } from '../support/certificate.ts';
import { useFolder } from '../support/folder.ts';
import { endProcess } from '../support/installation.ts';
import { listenOn } from '../support/listen.ts';
import { runOnServer, startPostgres, useDatabase } from '../support/postgres.ts';
import { refusal } from '../support/refusal.ts';
import { useTemporal } from '../support/temporal.ts';
import { startServer } from '../support/tools.ts';
import { succeeds } from '../support/until.ts';

const folder = useFolder('tls');
const database = useDatabase();

/** Ends TLS before `to`, as stunnel does; a client of PostgreSQL asks for TLS first. @returns its port */
const serveTls = async (certificate: TestCertificate, to: URL): Promise<number> => {
  const sockets = new Set<Socket>();
  const server = createServer(async (socket) => {
    sockets.add(socket.on('error', () => undefined));
    if (to.protocol === 'postgres:') {
      await once(socket, 'readable');
      socket.read(8);
      socket.write('S');
    }
    const open = new TLSSocket(socket, { isServer: true, ...certificate, ALPNProtocols: ['h2', 'postgresql'] });
    const target = connect(Number(to.port), to.hostname);
    sockets.add(target.on('error', () => undefined));
    open.on('error', () => target.destroy());
    open.pipe(target).pipe(open);
  });
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return await listenOn(server);
};

const stunnel = '/usr/bin/stunnel4';
const isStunnelInstalled = existsSync(stunnel);
if (!isStunnelInstalled)
  console.warn('Node ends TLS before Temporal: stunnel is not installed (apt-get install stunnel4).');

/** As `serveTls`, by stunnel. */
const startStunnel = async ({ cert, key }: TestCertificate, to: string): Promise<number> => {
  const port = await findFreePort();
  const [pair, file] = [join(folder, 'pair.pem'), join(folder, 'stunnel.conf')];
  await writeFile(pair, cert + key, { mode: 0o600 });
  const service = `[temporal]\naccept = 127.0.0.1:${port}\nconnect = ${to}\ncert = ${pair}\n`;
  await writeFile(file, `foreground = yes\npid =\n${service}`);
  const tunnel = await startServer(stunnel, [file], () => {
    const socket = connect(port, '127.0.0.1');
    return succeeds(once(socket, 'connect')).finally(() => socket.destroy());
  });
  onTestFinished(() => endProcess(tunnel, 'SIGTERM'));
  return port;
};

const [valid, other] = [makeCertificate(), makeCertificate()];
const [expired, wrongName] = [makeCertificate({ days: -1 }), makeCertificate({ name: 'elsewhere.test' })];
const refused = [
  ['an expired one', expired, expired, 'CERT_HAS_EXPIRED'],
  ['one of another name', wrongName, wrongName, 'ERR_TLS_CERT_ALTNAME_INVALID'],
  ['one of an unknown authority', other, valid, 'SELF_SIGNED'],
] as const;

const writeAuthority = async ({ cert }: TestCertificate): Promise<string> => {
  const file = join(folder, 'authority.pem');
  await writeFile(file, cert);
  return file;
};

const askPostgres = async (certificate: TestCertificate, ca: TestCertificate): Promise<unknown> => {
  const url = new URL(database.url);
  url.port = String(await serveTls(certificate, new URL(database.url)));
  url.hostname = 'localhost';
  url.search = new URLSearchParams({ sslmode: 'verify-full', sslrootcert: await writeAuthority(ca) }).toString();
  return await askAt(url.href);
};

const askAt = async (url: string): Promise<unknown> => {
  const db = openDatabase({ url, schema: 'public', application: 'test', purpose: 'store' });
  return await db.query('SELECT 1 AS one').finally(db.close);
};

test('a server that takes TLS only, as managed ones do, is named so, and works as the hint says', async () => {
  const server = await startPostgres();
  onTestFinished(server.stop);
  const [{ file }] = (await runOnServer(server.adminUrl, `SELECT current_setting('hba_file') AS file`)).rows;
  const paths = await writeCertificate(dirname(file), valid);
  const account = await resolvePostgresAccount();
  await chmod(paths.key_file, 0o600);
  if (account !== undefined) for (const path of Object.values(paths)) await chown(path, account.uid, account.gid);
  for (const setting of [`ssl = on`, `ssl_cert_file = '${paths.cert_file}'`, `ssl_key_file = '${paths.key_file}'`])
    await runOnServer(server.adminUrl, `ALTER SYSTEM SET ${setting}`);
  await writeFile(file, 'hostssl all all 127.0.0.1/32 scram-sha-256\n');
  await runOnServer(server.adminUrl, 'SELECT pg_reload_conf()');
  const said = / DATABASE_CREDENTIALS: .*SQLSTATE 28000, .*no encryption.*sslmode=verify-full/;
  await expect.poll(() => refusal(askAt(server.url))).toMatch(said);
  await expect(askAt(`${server.url}?sslmode=require`)).rejects.toMatchObject({ code: 'DATABASE_UNTRUSTED' });
  const store = await openStore({ url: `${server.url}?sslmode=verify-full&sslrootcert=${paths.cert_file}` });
  expect(await store.epoch().finally(store.close)).toBe(0);
});

test.each([
  ['TLS where the server has none', 'require', / DATABASE_UNTRUSTED: .*takes no TLS connections\./],
  ['a missing file', 'verify-full&sslrootcert=/no/ca.pem', / DATABASE_URL_INVALID: .*\(ENOENT, path \/no\/ca\.pem\)/],
])('%s is named', async (_, mode, said) => {
  expect(await refusal(askAt(`${database.url}?sslmode=${mode}`))).toMatch(said);
});

const serveNode = (certificate: TestCertificate, address: string) => serveTls(certificate, new URL(`tls://${address}`));
const connectAsClient = async (...to: Parameters<typeof connectClient>) => (await connectClient(...to)).connection;
const askTemporal =
  (connectBy: typeof connectAsClient | typeof connectWorker, serve: typeof serveNode) =>
  async (certificate: TestCertificate, ca: TestCertificate): Promise<unknown> => {
    const { address } = await useTemporal();
    const config = temporalConfigSchema.parse({ tls: { ca_file: await writeAuthority(ca) } });
    const connection = await connectBy(config, `localhost:${await serve(certificate, address)}`);
    const info = await connection.workflowService.getSystemInfo({});
    await connection.close();
    return info.serverVersion;
  };
const askAsWorker = askTemporal(connectWorker, serveNode);
const askAsClient = askTemporal(connectAsClient, isStunnelInstalled ? startStunnel : serveNode);

describe.each([
  ['PostgreSQL', 'DATABASE_UNTRUSTED', askPostgres],
  ['a client of Temporal', 'TEMPORAL_UNTRUSTED', askAsClient],
  ['a worker of Temporal', 'TEMPORAL_UNTRUSTED', askAsWorker],
] as const)('%s', (_, code, ask) => {
  test('accepts a valid certificate', async () => {
    expect(await ask(valid, valid)).toBeTruthy();
  });

  test.each(refused)('refuses %s', async (_name, certificate, ca, reason) => {
    expect(await refusal(ask(certificate, ca))).toMatch(new RegExp(`^terminal ${code}: .*${reason}`));
  });
});

test.skipIf(!isStunnelInstalled)('a worker refuses a proxy that does not offer HTTP/2, and says so', async () => {
  const asked = askTemporal(connectWorker, startStunnel)(valid, valid);
  expect(await refusal(asked)).toMatch(/ TEMPORAL_UNTRUSTED: .*HTTP\/2.*ALPN h2/);
});

test('a worker refuses the certificate of a CA as that of the server, and says so', async () => {
  const authority = makeCertificate({ isAuthority: true });
  expect(await refusal(askAsWorker(authority, authority))).toMatch(/ TEMPORAL_UNTRUSTED: .*CaUsedAsEndEntity/);
});
