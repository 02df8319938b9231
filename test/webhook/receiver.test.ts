import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { beforeAll, beforeEach, expect, test } from 'vitest';
import { sampleCall } from '../../src/cli/commands/webhook/sample-call.ts';
import { signBody } from '../../src/lib/send-webhook.ts';
import { signatureVerifier, type Verifier } from '../../src/webhook/server/signature.ts';
import { useOpened } from '../support/opened.ts';
import { until } from '../support/until.ts';
import { useInboxDatabase } from './support/inbox-database.ts';
import { deliveryHeaders, exchange, head } from './support/raw-http.ts';
import { startReceiver } from './support/receiver.ts';

const database = useInboxDatabase();
let wakes = 0;
const started = useOpened(
  () => {
    const config = { limits: { body_bytes: 200_000 }, rejected_per_minute: 1_000 };
    return startReceiver({ databaseUrl: database.url, config, wake: async () => void ++wakes });
  },
  ({ stop }) => stop(),
);
beforeAll(() => database.store.pool.query("INSERT INTO warehouses (name) VALUES ('main')"));
beforeEach(() => database.empty());

/** Rejections are recorded a little later, perhaps in the next test. */
const stored = async () => (await database.rows()).filter((row) => row.outcome !== 'rejected');
/** The only one, with this body. */
const storedAs = async (bytes: Buffer) => {
  const rows = await stored();
  const bodyHash = createHash('sha256').update(bytes).digest();
  expect(rows.map((row) => [row.body, row.body_hash])).toEqual([[bytes, bodyHash]]);
  return rows[0];
};

const body = Buffer.from(JSON.stringify(sampleCall('call-1')));
const answerTo = async (...parts: (string | Buffer)[]) => (await exchange(started.port, parts)).answers[0];
const post = (headers: Parameters<typeof head>[0], bytes = body) => answerTo(head(headers), bytes);
const chunked = { ...deliveryHeaders(body, '1'), 'Content-Length': undefined, 'Transfer-Encoding': 'chunked' };
const statusOf = (headers: Parameters<typeof head>[0], bytes = body) => started.statusOf(headers, bytes);

test('a valid delivery is in the inbox, whole and as it came, before it is answered', async () => {
  const before = Date.now();
  const woken = wakes;
  expect(await post(deliveryHeaders(body, '1701699087.8115606'))).toMatchObject({ status: 200, body: '' });
  const row = await storedAs(body);
  const sent = { delivery_id: '1701699087.8115606', hook_id: 'hook-1', agent: 'Service-Webhook/1.2.0' };
  expect(row).toMatchObject({ ...sent, signing_key: 'primary', spooled: false, outcome: 'pending', reason: null });
  expect(row?.received_at.getTime()).toBeGreaterThanOrEqual(before);
  expect(row?.received_at.getTime()).toBeLessThanOrEqual(Date.now());
  await until('the merge is woken', () => wakes > woken);
});

test("a valid delivery by GitHub's vector, over HTTP", async () => {
  const secrets = [{ name: 'github', secret: "It's a Secret to Everybody" }];
  const other = await database.receive({ config: { secrets, header_prefix: 'X-Hub-' } });
  const signature = 'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17';
  const send = (name: string) =>
    exchange(other.port, [head({ [name]: signature, 'Content-Length': '13' }), 'Hello, World!']);
  expect((await send('X-Hub-Signature')).answers[0]?.status).toBe(200);
  expect((await send('X-Service-Signature')).answers[0]?.status).toBe(403);
  expect((await stored())[0]).toMatchObject({ signing_key: 'github', delivery_id: null, hook_id: null });
});

test('a valid delivery in gzip is verified as it came, and stored as it would have come without', async () => {
  const packed = gzipSync(body);
  expect(await statusOf({ ...deliveryHeaders(packed, '1'), 'Content-Encoding': 'gzip' }, packed)).toBe(200);
  expect(await statusOf(deliveryHeaders(packed, '2', 'another'), packed)).toBe(403);
  await storedAs(body);
});

test('a valid delivery in another charset is stored in UTF-8; in an unknown charset, as it came', async () => {
  const latin = Buffer.from('{"unique_id":"é"}', 'latin1');
  const types = { klingon: latin, 'iso-8859-1': Buffer.from('{"unique_id":"é"}') };
  for (const [charset, expected] of Object.entries(types)) {
    const type = `application/json; Charset="${charset}"`;
    expect(await statusOf({ ...deliveryHeaders(latin, charset), 'Content-Type': type }, latin)).toBe(200);
    await storedAs(expected);
    await database.empty();
  }
});

test('a valid delivery with too much in its gzip is stored as it came, and its headers decide nothing', async () => {
  const bomb = gzipSync(Buffer.alloc(50_000_000));
  const held = process.memoryUsage().rss;
  expect(await statusOf({ ...deliveryHeaders(bomb, '1'), 'Content-Encoding': 'gzip' }, bomb)).toBe(200);
  expect((await stored())[0]?.body?.equals(bomb)).toBe(true);
  expect(process.memoryUsage().rss - held).toBeLessThan(30_000_000);
  expect(await statusOf({ ...deliveryHeaders(body, '2'), 'Content-Encoding': 'gzip, br, nonsense' })).toBe(200);
});

test('a valid delivery in chunks, slowly, and pipelined', async () => {
  const chunks = [...body].map((byte) => Buffer.from([0x31, 0x0d, 0x0a, byte, 0x0d, 0x0a]));
  expect((await answerTo(head(chunked), ...chunks, '0\r\n\r\n'))?.status).toBe(200);
  const pipelined = ['a', 'b', 'c'].flatMap((id) => [head(deliveryHeaders(body, id)), body]);
  const { answers: three } = await exchange(started.port, pipelined, { answers: 3 });
  expect(three.map((answer) => answer.status)).toEqual([200, 200, 200]);
  expect((await stored()).map((row) => row.body?.equals(body))).toEqual([true, true, true, true]);
});

const good = deliveryHeaders(body, '5.5');
const name = 'X-Service-Signature';
const digest = good[name] ?? '';
test.each<[string, string | readonly string[] | undefined, string]>([
  ['absent', undefined, 'signature_absent'],
  ['repeated', [digest, digest], 'signature_malformed'],
  ['wrong', signBody(body, 'another'), 'signature_wrong'],
])('%s: 403, the same answer to all, recorded without a body', async (_what, signature, reason) => {
  const answer = await post({ ...good, [name]: signature });
  const { date: _date, ...headers } = answer?.headers ?? {};
  expect({ ...answer, headers }).toEqual({
    status: 403,
    headers: { 'content-type': 'application/json; charset=utf-8', 'content-length': '21', connection: 'close' },
    body: '{"error":"forbidden"}',
  });
  const recorded = async () => (await database.rows()).filter((row) => row.delivery_id === '5.5');
  await until('it is recorded', async () => (await recorded()).length > 0);
  const kept = { body: null, body_hash: null, signing_key: null, delivery_id: '5.5' };
  expect(await recorded()).toMatchObject([{ ...kept, outcome: 'rejected', reason }]);
  const { rows } = await database.store.pool.query('SELECT warehouse, rejected FROM unloaded_deliveries');
  expect(rows).toContainEqual({ warehouse: 'main', rejected: true });
});

test.each(['GET', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND'])('%s: 405', async (method) => {
  const answer = await answerTo(head({ Connection: 'close' }, `${method} /webhook HTTP/1.1`));
  expect(answer).toMatchObject({ status: 405, headers: { allow: 'POST' } });
});

test.each([
  ...'/ /webhook/ //webhook /Webhook /webhook/../webhook /./webhook /webhook%00 /webhook;x'.split(' '),
  ...'/webhook%2f /healthz/webhook /%2e%2e/webhook'.split(' '),
  '/webhook\\',
])('path %s: 404, counted, and nothing is stored', async (path) => {
  const counted = async () => /refused_total\{reason="path"\} (\d+)/.exec(await started.registry.metrics())?.[1];
  const before = Number((await counted()) ?? 0);
  expect((await answerTo(head(deliveryHeaders(body, '1'), `POST ${path} HTTP/1.1`), body))?.status).toBe(404);
  expect(Number(await counted())).toBe(before + 1);
  expect(await stored()).toEqual([]);
});

// Another spelling may be no path of ours; a query changes nothing.
test.each([
  ['/webhook?x=1', [200]],
  ['/%77ebhook', [200, 404]],
  ['http://elsewhere/webhook', [200, 404]],
])('path %s is the webhook, verified', async (path, allowed) => {
  const send = async (more: object) =>
    (await answerTo(head({ ...deliveryHeaders(body, '1'), ...more }, `POST ${path} HTTP/1.1`), body))?.status;
  expect(allowed).toContain(await send({}));
  expect([403, 404]).toContain(await send({ 'X-Service-Signature': 'sha256=' }));
});

const large = Buffer.alloc(200_001, 'x');
test.each<[string, number, Parameters<typeof head>[0], (string | Buffer)[]]>([
  ['a body beyond the limit', 413, deliveryHeaders(large, '1'), [large]],
  ['a body beyond the limit, not announced', 413, chunked, [`${large.length.toString(16)}\r\n`, large]],
  ['two lengths', 400, { 'Content-Length': [String(body.length), '5'] }, [body]],
  ['length and chunks', 400, { 'Content-Length': String(body.length), 'Transfer-Encoding': 'chunked' }, [body]],
  ['a length that is no number', 400, { 'Content-Length': '0x10' }, [body]],
  ['a negative length', 400, { 'Content-Length': '-1' }, [body]],
  ['an unknown transfer encoding', 400, { ...chunked, 'Transfer-Encoding': 'chunked, gzip' }, [body]],
  ['a chunk whose size is no number', 400, chunked, ['zz\r\nabc\r\n0\r\n\r\n']],
  ['a chunk that is longer than it says', 400, chunked, ['2\r\nabcdef\r\n0\r\n\r\n']],
  ['a chunk of a negative size', 400, chunked, ['-5\r\nabc\r\n0\r\n\r\n']],
  ['a head beyond the limit', 431, { Padding: 'x'.repeat(20_000) }, []],
])('%s: %i, and nothing is stored', async (_what, status, headers, parts) => {
  expect((await answerTo(head({ ...deliveryHeaders(body, '1'), ...headers }), ...parts))?.status).toBe(status);
  expect(await stored()).toEqual([]);
});

test('a body of just the limit is taken', async () => {
  const just = Buffer.alloc(200_000, 'x');
  expect(await statusOf(deliveryHeaders(just, '1'), just)).toBe(200);
});

test('a length that lies: too long waits and is cut off by the sender, too short is another body', async () => {
  const long = { ...deliveryHeaders(body, '1'), 'Content-Length': String(body.length + 10) };
  await expect(exchange(started.port, [head(long), body], { deadlineMs: 300 })).rejects.toThrow('no end');
  const short = { ...deliveryHeaders(body, '1'), 'Content-Length': '10' };
  expect([400, 403]).toContain((await answerTo(head(short), body))?.status);
  expect(await stored()).toEqual([]);
});

test('its state and its metrics are not on this port', async () => {
  for (const path of ['/healthz', '/readyz', '/metrics'])
    expect((await fetch(`${started.receiver.address}${path}`)).status).toBe(404);
  expect(started.receiver.ready()).toBe(true);
  await statusOf(deliveryHeaders(body, '1'));
  // Those of the tests before that were cut off, too.
  await until('nothing is held', () => started.receiver.status().inflightBytes === 0);
  const metrics = await started.registry.metrics();
  expect(metrics).toMatch(/callsync_webhook_accepted_total\{stored_in="inbox",key="primary"\} \d+/);
  expect(metrics).toMatch(/callsync_webhook_rejected_total\{reason="signature_absent"\} \d+/);
  expect(metrics).toMatch(/callsync_webhook_refused_total\{reason="too_large"\} \d+/);
  expect(metrics).toMatch(/callsync_webhook_request_duration_seconds_count \d+/);
  expect(metrics).toMatch(/callsync_webhook_inflight_bytes 0\n/);
});

test('believes X-Forwarded-For of trusted proxies only, for the allow list', async () => {
  const send = (port: number, forwarded: string) =>
    exchange(port, [head({ ...deliveryHeaders(body, '1'), 'X-Forwarded-For': forwarded }), body]);
  const config = { allow_from: ['203.0.113.0/24', '2001:db8::/32'] };
  const direct = await database.receive({ config });
  const forbidden = { status: 403, body: '{"error":"forbidden"}' };
  expect((await send(direct.port, '203.0.113.9')).answers[0]).toMatchObject(forbidden);
  const proxied = await database.receive({ config: { ...config, trusted_proxies: ['127.0.0.1'] } });
  const allowed = ['203.0.113.9', '2001:db8::1', '203.0.113.7:52331', '[2001:DB8::1]:443', '  "[2001:db8::1]"  '];
  const others = ['203.0.114.9', '203.0.113.9, 198.51.100.1', '203.0.114.9:203', 'unknown', 'fe80::1%eth0'];
  // A trusted proxy in the middle, as it writes itself.
  const behind = ['203.0.113.7:1, 127.0.0.1:8080', '203.0.113.7:1,[::ffff:127.0.0.1]:80'];
  for (const sender of [...allowed, ...behind, ...others])
    expect((await send(proxied.port, sender)).answers[0]?.status, sender).toBe(others.includes(sender) ? 403 : 200);
});

test('withdraws before it stops: not ready, but it still accepts, and ends connections', async () => {
  const other = await database.receive({ config: { shutdown_delay_s: 0 } });
  const send = async (id: string) => (await exchange(other.port, [head(deliveryHeaders(body, id)), body])).answers[0];
  expect(await send('1')).toMatchObject({ status: 200, headers: { connection: 'keep-alive' } });
  expect(other.receiver.ready()).toBe(true);
  await other.receiver.withdraw();
  expect(other.receiver.ready()).toBe(false);
  expect(await send('2')).toMatchObject({ status: 200, headers: { connection: 'close' } });
  expect(await stored()).toHaveLength(2);
});

test('answers what it accepted before it stops, and takes nothing more', async () => {
  const other = await database.receive({ config: { group_commit: { deadline_s: 20 } } });
  const release = await database.hold();
  const late = Array.from({ length: 40 }, (_, index) => deliveryHeaders(body, `late-${index}`));
  const answers = Promise.all(late.map((headers) => other.statusOf(headers, body)));
  await until('they are under way', () => other.receiver.status().inflightBytes > 0);
  const stopped = other.stop();
  await release();
  await stopped;
  const taken = (await answers).filter((status) => status === 200).length;
  expect(taken).toBeGreaterThan(0);
  expect(await stored()).toHaveLength(taken);
  await expect(fetch(other.url)).rejects.toThrow();
});

/** A verifier, and the bodies that it has seen. */
const watchBodies = () => {
  const bodies: Buffer[] = [];
  const verify: Verifier['verify'] = (input) => {
    bodies.push(input.body);
    return signatureVerifier.verify(input);
  };
  return { bodies, verifier: { ...signatureVerifier, verify } };
};

test('gives the memory of a body back once it is written, and no earlier even if it was refused', async () => {
  const { bodies, verifier } = watchBodies();
  const config = { limits: { answer_within_s: 0.2 }, group_commit: { deadline_s: 20 } };
  const other = await database.receive({ config, verifier });
  const busy = await Promise.all(Array.from({ length: 5 }, () => other.pool.connect()));
  expect(await other.statusOf(deliveryHeaders(body, 'late'), body)).toBe(503);
  for (const client of busy) client.release();
  await until('it is written', async () => (await stored()).length === 1);
  expect((await stored())[0]?.body?.equals(body)).toBe(true);
  await until('its memory is free', () => bodies[0]?.length === 0);
});

test('keeps a body whose write failed, because the connection may still send it; a spooled one goes', async () => {
  const { bodies, verifier } = watchBodies();
  const other = await database.receive({ config: { group_commit: { deadline_s: 0.2 } }, verifier });
  const release = await database.hold();
  for (const id of ['failed', 'spooled']) expect(await other.statusOf(deliveryHeaders(body, id), body)).toBe(200);
  expect(bodies.map((one) => one.equals(body))).toEqual([true, false]);
  await release();
  await until('both are stored', async () => (await stored()).length === 2);
});

test('gives the memory of a body back once privacy rules made another of it', async () => {
  const sent: Buffer[] = [];
  const admit = async (bytes: Buffer) => {
    sent.push(bytes);
    return { body: Buffer.from('{}'), bodyHash: Buffer.alloc(32) };
  };
  const other = await database.receive({ admit });
  expect(await other.statusOf(deliveryHeaders(body, 'ruled'), body)).toBe(200);
  expect(sent.map(({ length }) => length)).toEqual([0]);
});

test('survives a wake that fails', async () => {
  let calls = 0;
  const wake = () => (++calls === 1 ? Promise.reject(new Error('away')) : Promise.resolve());
  const other = await database.receive({ config: { wake_interval_ms: 1 }, wake });
  for (const id of ['1', '2']) {
    expect(await other.statusOf(deliveryHeaders(body, id), body)).toBe(200);
    await until('it was woken', () => calls >= Number(id));
  }
  expect(other.logged).toContain('warn callsync could not wake the inbox merge; the sweep merges the deliveries.');
});

test('refuses to start on an address that is taken', async () => {
  await expect(database.receive({ config: { port: started.port } })).rejects.toThrow(/cannot listen on/);
});
