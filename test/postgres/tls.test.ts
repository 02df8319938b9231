/**
 * PostgreSQL and Temporal behind TLS. A valid certificate is accepted; an expired or wrong one is refused with a clear
 * error.
 */
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { TLSSocket } from 'node:tls';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { temporalConfigSchema } from '../../schemas/config/temporal.ts';
import { openDatabase } from '../../src/postgres/database.ts';
import { connectClient } from '../../src/temporal/connect.ts';
import { makeCertificate, type TestCertificate } from '../support/certificate.ts';
import { useFolder } from '../support/folder.ts';
import { createDatabase, type TestDatabase } from '../support/postgres.ts';
import { useTemporal } from '../support/temporal.ts';

const folder = useFolder('tls');
let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase();
});
afterAll(() => database.drop());

let server: Server | undefined;
const sockets = new Set<Socket>();
afterEach(() => {
  for (const socket of sockets) socket.destroy();
  server?.close();
});

/** Ends TLS before `to`, as stunnel does; a client of PostgreSQL asks for TLS first. @returns its port */
const serveTls = async (certificate: TestCertificate, to: URL): Promise<number> => {
  server = createServer(async (socket) => {
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
  await once(server.listen(0), 'listening');
  return (server.address() as AddressInfo).port;
};

const [valid, expired, wrongName, other] = [
  makeCertificate(),
  makeCertificate({ days: -1 }),
  makeCertificate({ name: 'elsewhere.test' }),
  makeCertificate(),
];
const refused = [
  ['an expired one', expired, expired, 'CERT_HAS_EXPIRED'],
  ['one of another name', wrongName, wrongName, 'ERR_TLS_CERT_ALTNAME_INVALID'],
  ['one of an unknown authority', other, valid, 'SELF_SIGNED'],
] as const;

describe('PostgreSQL', () => {
  const ask = async (certificate: TestCertificate, ca: TestCertificate) => {
    const file = join(folder, 'postgres.pem');
    await writeFile(file, ca.cert);
    const url = new URL(database.url);
    url.port = String(await serveTls(certificate, new URL(database.url)));
    url.hostname = 'localhost';
    url.search = new URLSearchParams({ sslmode: 'verify-full', sslrootcert: file }).toString();
    const db = openDatabase({ url: url.href, schema: 'public', application: 'test', purpose: 'operational store' });
    return await db.query('SELECT 1 AS one').finally(db.close);
  };

  test('a valid certificate is accepted', async () => {
    expect(await ask(valid, valid)).toEqual([{ one: 1 }]);
  });

  test.each(refused)('%s is refused', async (_, certificate, ca, reason) => {
    await expect(ask(certificate, ca)).rejects.toMatchObject({
      code: 'DATABASE_UNTRUSTED',
      kind: 'terminal',
      message: expect.stringContaining(reason),
    });
  });
});

describe('Temporal', () => {
  const ask = async (certificate: TestCertificate, ca: TestCertificate) => {
    const file = join(folder, 'temporal.pem');
    await writeFile(file, ca.cert);
    const { address } = await useTemporal();
    const port = await serveTls(certificate, new URL(`tls://${address}`));
    const config = temporalConfigSchema.parse({ tls: { ca_file: file } });
    const { connection } = await connectClient(config, `localhost:${port}`);
    const info = await connection.workflowService.getSystemInfo({});
    await connection.close();
    return info.serverVersion;
  };

  test('a valid certificate is accepted', async () => {
    expect(await ask(valid, valid)).toMatch(/^1\./);
  });

  test.each(refused)('%s is refused', async (_, certificate, ca, reason) => {
    await expect(ask(certificate, ca)).rejects.toMatchObject({
      code: 'TEMPORAL_UNTRUSTED',
      kind: 'terminal',
      message: expect.stringContaining(reason),
    });
  });
});
