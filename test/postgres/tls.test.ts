/**
 * PostgreSQL and Temporal behind TLS; stunnel ends that of clients of Temporal where it is installed. A valid certificate is accepted; an expired or wrong one is refused with a clear
 * error.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, chown, writeFile } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';
import { dirname, join } from 'node:path';
import { TLSSocket } from 'node:tls';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type TemporalConfig, temporalConfigSchema } from '../../schemas/config/temporal.ts';
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
import { useTemporal } from '../support/temporal.ts';
import { until } from '../support/until.ts';

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
  await writeFile(
    file,
    `foreground = yes\npid =\n[temporal]\naccept = 127.0.0.1:${port}\nconnect = ${to}\ncert = ${pair}\n`,
  );
  const tunnel = spawn(stunnel, [file], { stdio: 'ignore' });
  onTestFinished(() => endProcess(tunnel, 'SIGTERM'));
  await until('stunnel listens', async () => {
    const socket = connect(port, '127.0.0.1');
    const answers = await once(socket, 'connect').then(Boolean, () => false);
    socket.destroy();
    return answers;
  });
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
  const db = openDatabase({ url: url.href, schema: 'public', application: 'test', purpose: 'store' });
  return await db.query('SELECT 1 AS one').finally(db.close);
};

const askAt = async (url: string): Promise<unknown> => {
  const db = openDatabase({ url, schema: 'public', application: 'test', purpose: 'store' });
  return await db.query('SELECT 1 AS one').finally(db.close);
};

test('a server that takes TLS only, as managed ones do, is named so, and works as the hint says', async () => {
  const server = await startPostgres();
  onTestFinished(server.stop);
  const [{ file }] = (await runOnServer(server.adminUrl, `SELECT current_setting('hba_file') AS file`)).rows;
  const home = dirname(file);
  const paths = await writeCertificate(home, valid);
  const account = await resolvePostgresAccount();
  await chmod(paths.key_file, 0o600);
  if (account !== undefined) for (const path of Object.values(paths)) await chown(path, account.uid, account.gid);
  for (const setting of [`ssl = on`, `ssl_cert_file = '${paths.cert_file}'`, `ssl_key_file = '${paths.key_file}'`])
    await runOnServer(server.adminUrl, `ALTER SYSTEM SET ${setting}`);
  await writeFile(file, 'hostssl all all 127.0.0.1/32 scram-sha-256\n');
  await runOnServer(server.adminUrl, 'SELECT pg_reload_conf()');
  const refusal = { code: 'DATABASE_CREDENTIALS', hint: expect.stringContaining('sslmode=verify-full') };
  await expect.poll(() => askAt(server.url).catch((error: unknown) => error)).toMatchObject(refusal);
  await expect(askAt(server.url)).rejects.toThrow(/SQLSTATE 28000, .*no encryption/);
  await expect(askAt(`${server.url}?sslmode=require`)).rejects.toMatchObject({ code: 'DATABASE_UNTRUSTED' });
  const store = await openStore({ url: `${server.url}?sslmode=verify-full&sslrootcert=${paths.cert_file}` });
  expect(await store.epoch().finally(store.close)).toBe(0);
});

test.each([
  ['TLS where the server has none', '?sslmode=require', 'DATABASE_UNTRUSTED', /takes no TLS connections\./],
  [
    'a missing file',
    '?sslmode=verify-full&sslrootcert=/no/ca.pem',
    'DATABASE_URL_INVALID',
    /\(ENOENT, path \/no\/ca\.pem\)/,
  ],
])('%s is named', async (_, search, code, message) => {
  await expect(askAt(database.url + search)).rejects.toMatchObject({ code, message: expect.stringMatching(message) });
});

const serveNode = (certificate: TestCertificate, address: string) => serveTls(certificate, new URL(`tls://${address}`));
const connectAsClient = async (config: TemporalConfig, address: string) =>
  (await connectClient(config, address)).connection;
const connectAsWorker = (config: TemporalConfig, address: string) => connectWorker(config, address);
const askTemporal =
  (connectBy: typeof connectAsClient | typeof connectAsWorker, serve: typeof serveNode) =>
  async (certificate: TestCertificate, ca: TestCertificate): Promise<unknown> => {
    const { address } = await useTemporal();
    const config = temporalConfigSchema.parse({ tls: { ca_file: await writeAuthority(ca) } });
    const connection = await connectBy(config, `localhost:${await serve(certificate, address)}`);
    const info = await connection.workflowService.getSystemInfo({});
    await connection.close();
    return info.serverVersion;
  };
const askAsWorker = askTemporal(connectAsWorker, serveNode);
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
    const refusal = { code, kind: 'terminal', message: expect.stringContaining(reason) };
    await expect(ask(certificate, ca)).rejects.toMatchObject(refusal);
  });
});

test.skipIf(!isStunnelInstalled)('a worker refuses a proxy that does not offer HTTP/2, and says so', async () => {
  const refusal = { code: 'TEMPORAL_UNTRUSTED', message: expect.stringContaining('HTTP/2') };
  const asked = askTemporal(connectAsWorker, startStunnel)(valid, valid);
  await expect(asked).rejects.toMatchObject({ ...refusal, hint: expect.stringContaining('ALPN h2') });
});

test('a worker refuses the certificate of a CA as that of the server, and says so', async () => {
  const authority = makeCertificate({ isAuthority: true });
  const refusal = { code: 'TEMPORAL_UNTRUSTED', message: expect.stringContaining('CaUsedAsEndEntity') };
  await expect(askAsWorker(authority, authority)).rejects.toMatchObject(refusal);
});
