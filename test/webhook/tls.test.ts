import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { expect, test } from 'vitest';
import { sendWebhook } from '../../src/cli/commands/webhook/send.ts';
import { makeCertificate, type TestCertificate } from '../support/certificate.ts';
import { useFolder } from '../support/folder.ts';
import { until } from '../support/until.ts';
import { useInboxDatabase } from './support/inbox-database.ts';
import { startReceiver, testSecret } from './support/receiver.ts';

const database = useInboxDatabase();
const folder = useFolder('tls');

const files = () => ({ cert_file: join(folder, 'cert.pem'), key_file: join(folder, 'key.pem') });
const write = async ({ cert, key }: TestCertificate) => {
  await writeFile(files().cert_file, cert);
  await writeFile(files().key_file, key);
};
const servedSerial = (port: number) =>
  new Promise<string>((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false }, () => {
      resolve(socket.getPeerCertificate().serialNumber);
      socket.destroy();
    });
    socket.on('error', reject);
  });

test('serves HTTPS, takes a new certificate without a restart, and leaves a broken one aside', async () => {
  const [first, second] = [makeCertificate(), makeCertificate()];
  await write(first);
  const started = await startReceiver({ databaseUrl: database.url, config: { tls: files() } });
  expect(started.url).toMatch(/^https:/);
  const send = (ca: string) => sendWebhook({ url: started.url, body: '{}', secret: testSecret, retry: false, ca });
  expect((await send(first.cert)).delivered).toBe(true);
  expect((await send(second.cert)).attempts[0]?.failure).toBeDefined();
  const serial = await servedSerial(started.port);

  await writeFile(files().cert_file, 'not a certificate');
  await until('the broken file is noticed', () =>
    started.logged.some((line) => line.includes('the earlier certificate stays in use')),
  );
  expect(await servedSerial(started.port)).toBe(serial);

  await write(second);
  await until('the new certificate is served', async () => (await servedSerial(started.port)) !== serial);
  expect((await send(second.cert)).delivered).toBe(true);
  await started.stop();
});

test('refuses to start with a certificate and a key that do not belong together', async () => {
  await write({ cert: makeCertificate().cert, key: makeCertificate().key });
  const start = startReceiver({ databaseUrl: database.url, config: { tls: files() } });
  await expect(start).rejects.toThrow('The certificate or key of the webhook receiver cannot be used.');
});
