import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { expect, onTestFinished, test } from 'vitest';
import { createAddressList, senderOf } from '../../src/webhook/server/senders.ts';
import { makeCertificate, writeCertificate } from '../support/certificate.ts';
import { useFolder } from '../support/folder.ts';
import { until } from '../support/until.ts';
import { useInboxDatabase } from './support/inbox-database.ts';
import { deliveryHeaders, exchange, head } from './support/raw-http.ts';
import type { StartedReceiver } from './support/receiver.ts';

const database = useInboxDatabase();

const limits = { connections: 60, connections_per_sender: 40, headers_timeout_s: 60, request_timeout_s: 60 };
const body = Buffer.from('{"unique_id":"a"}');
const deliver = (started: StartedReceiver, id: string) => started.statusOf(deliveryHeaders(body, id), body);
const dropped = async ({ registry }: StartedReceiver) =>
  Number(/^callsync_webhook_connections_dropped_total (\d+)/m.exec(await registry.metrics())?.[1]);

/** Connections from one address that send nothing, or what is given; in the order in which they were opened. */
const openMany = async (port: number, localAddress: string, count: number, first = ''): Promise<Socket[]> => {
  const sockets: Socket[] = [];
  for (let number = 0; number < count; number += 1) {
    sockets.push(await open(connect({ port, host: '127.0.0.1', localAddress }), 'connect'));
    sockets.at(-1)?.write(first);
  }
  return sockets;
};
const open = async <T extends Socket>(socket: T, event: 'connect' | 'secureConnect'): Promise<T> => {
  onTestFinished(() => void socket.destroy());
  await once(socket.on('error', () => {}).resume(), event);
  return socket;
};
const isGone = ({ destroyed }: Socket) => destroyed;

test('an address that opens more connections than its share loses its oldest idle ones; others are served', async () => {
  const started = await database.receive({ config: { limits } });
  const attackers = await openMany(started.port, '127.0.0.2', 300);
  await until('260 were closed', async () => (await dropped(started)) === 260);
  await until('the oldest are gone', () => attackers.slice(0, 260).every(isGone));
  expect(attackers.slice(260).filter(isGone)).toEqual([]);
  for (let id = 0; id < 10; id += 1) expect(await deliver(started, String(id))).toBe(200);
  // Two more fill the rest: who has most makes room, and never the sender whose signature was right.
  const known = await openMany(started.port, '127.0.0.1', 5);
  await openMany(started.port, '127.0.0.3', 40);
  await until('they made room', async () => (await dropped(started)) >= 285);
  expect(known.filter(isGone)).toEqual([]);
  expect(await deliver(started, 'after')).toBe(200);
  await started.stop();
  expect(started.logged.filter((line) => line.includes('since the last such line'))).toHaveLength(1);
});

test('a request under way is not cut off for a newer connection; the newer one is', async () => {
  const started = await database.receive({ config: { limits } });
  const slow = head({ ...deliveryHeaders('', 'slow'), 'Content-Length': '1000' });
  const busy = await openMany(started.port, '127.0.0.2', 40, `${slow}x`);
  await until('their bodies are being read', () => started.receiver.status().inflightBytes >= 40 * 1_024);
  const newer = await openMany(started.port, '127.0.0.2', 10);
  await until('the newer are closed', () => newer.every(isGone));
  expect(busy.filter(isGone)).toEqual([]);
  expect(await deliver(started, '1')).toBe(200);
});

test('a trusted proxy opens as many as it likes', async () => {
  const started = await database.receive({ config: { limits, trusted_proxies: ['127.0.0.2'] } });
  const proxied = await openMany(started.port, '127.0.0.2', 100);
  await sleep(200);
  expect(proxied.filter(isGone)).toEqual([]);
  expect(await dropped(started)).toBe(0);
});

const folder = useFolder('connections');
const trusting = { host: '127.0.0.1', rejectUnauthorized: false };
const openTls = (port: number) => open(connectTls({ port, ...trusting }), 'secureConnect');
test('connections under TLS are shared in the same way', async () => {
  const config = { tls: await writeCertificate(folder), limits: { ...limits, connections_per_sender: 3 } };
  const { port } = await database.receive({ config });
  const sockets: Socket[] = [];
  for (let number = 0; number < 5; number += 1) sockets.push(await openTls(port));
  await until('two are closed', () => sockets.filter(isGone).length === 2);
  expect(sockets.slice(0, 2).every(isGone)).toBe(true);
});

test('serves HTTPS, takes a new certificate without a restart, and leaves a broken one aside', async () => {
  const [first, second] = [makeCertificate(), makeCertificate()];
  const tls = await writeCertificate(folder, first);
  const started = await database.receive({ config: { tls } });
  expect(started.url).toMatch(/^https:/);
  const send = (ca: string) => started.send('1', { ca });
  const servedSerial = async () => (await openTls(started.port)).getPeerCertificate().serialNumber;
  expect((await send(first.cert)).delivered).toBe(true);
  expect((await send(second.cert)).attempts[0]?.failure).toBeDefined();
  const serial = await servedSerial();

  await writeFile(tls.cert_file, 'not a certificate');
  const isNoticed = () => started.logged.some((line) => line.includes('the earlier certificate stays in use'));
  await until('the broken file is noticed', isNoticed);
  expect(await servedSerial()).toBe(serial);

  await writeCertificate(folder, second);
  await until('the new certificate is served', async () => (await servedSerial()) !== serial);
  expect((await send(second.cert)).delivered).toBe(true);
});

test('refuses to start with a certificate and a key that do not belong together', async () => {
  const tls = await writeCertificate(folder, { cert: makeCertificate().cert, key: makeCertificate().key });
  const start = database.receive({ config: { tls } });
  await expect(start).rejects.toThrow('The certificate or key of the webhook receiver cannot be used.');
});

test('unsigned and malformed deliveries are answered before their body is read', async () => {
  const started = await database.receive();
  for (const signature of [undefined, '', 'sha256=', `sha256=${'0'.repeat(63)}`, `sha256=${'A'.repeat(64)}`]) {
    // Its body never comes.
    const headers = { ...deliveryHeaders('', '1'), 'X-Service-Signature': signature, 'Content-Length': '16000000' };
    const { answers } = await exchange(started.port, [head(headers)], { deadlineMs: 5_000 });
    expect(answers[0]).toMatchObject({ status: 403, headers: { connection: 'close' } });
  }
  expect(started.receiver.status().inflightBytes).toBe(0);
});

test('one sender is an IPv4 address, or an IPv6 network of 64 bits', () => {
  const senders = {
    ...{ '127.0.0.1': '127.0.0.1', '::ffff:127.0.0.1': '127.0.0.1', '::1': '0:0:0:0', 'fe80::': 'fe80:0:0:0' },
    ...{ '2001:db8:1:2:3:4:5:6': '2001:db8:1:2', '2001:db8:1:2::9': '2001:db8:1:2', '2001:db8::9': '2001:db8:0:0' },
    // As proxies write them, and with a zone.
    ...{ '203.0.113.7:52331': '203.0.113.7', '[2001:db8::9]:443': '2001:db8:0:0', '"[2001:DB8::9]"': '2001:db8:0:0' },
    ...{ 'fe80::1%eth0': 'fe80:0:0:0', '[::ffff:203.0.113.7]:1': '203.0.113.7' },
  };
  for (const [address, sender] of Object.entries(senders)) expect(senderOf(address)).toBe(sender);
  // A connection that has closed has no address.
  expect(senderOf(undefined)).toBe('');
  const list = createAddressList(['203.0.113.0/24', '2001:db8::/32', '198.51.100.7']);
  const listed = ['203.0.113.9', '::ffff:203.0.113.9', '2001:db8::1', '198.51.100.7', '198.51.100.7:80'];
  expect(listed.filter((one) => !list(one))).toEqual([]);
  expect(['203.0.114.1', '2001:db9::1', '198.51.100.8', 'unknown', '', ':80', '[]:80'].filter(list)).toEqual([]);
});
