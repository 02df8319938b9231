import { createServer } from 'node:https';
import { afterAll, expect, onTestFinished, test, vi } from 'vitest';
import { openReceiver } from '../../src/app/open-receiver.ts';
import { createServices, openStoreService, type Services } from '../../src/app/services.ts';
import { ensureConfiguredSchedules } from '../../src/app/temporal.ts';
import { installationChecks, runChecks } from '../../src/cli/commands/doctor/check.ts';
import { sourceChecks, temporalChecks } from '../../src/cli/commands/doctor/check-services.ts';
import { checkPublicUrl, roundTrip, tryRoundTrip, webhookChecks } from '../../src/cli/commands/doctor/check-webhook.ts';
import { checkConfig } from '../../src/config/load.ts';
import { sourceOf } from '../../src/simulator/demo/simulator-process.ts';
import { startSimulator } from '../../src/simulator/start-simulator.ts';
import { createSampleStore, listAgents } from '../../src/store/delivery/delivery-statistics.ts';
import { settleDeliveries } from '../../src/store/delivery/inbox.ts';
import { readCounters } from '../../src/store/status/counters.ts';
import type { Store } from '../../src/store/store.ts';
import { connectClient } from '../../src/temporal/connect.ts';
import { makeCertificate, type TestCertificate } from '../support/certificate.ts';
import { closedPort } from '../support/closed-port.ts';
import { useFolder } from '../support/folder.ts';
import { deleteSchedules } from '../support/installation.ts';
import { listen, listenOn } from '../support/listen.ts';
import { createDatabase, roleForTest, useDatabase } from '../support/postgres.ts';
import { refusal } from '../support/refusal.ts';
import { openSimulator } from '../support/simulator.ts';
import { useTemporal } from '../support/temporal.ts';

const database = useDatabase();
const dataDir = useFolder('doctor');
const [simulator, temporal] = await Promise.all([startSimulator({ calls: { count: 30 } }), useTemporal()]);
afterAll(() => simulator.stop());

type Over = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

const silent = () => undefined;
/** Until the end of the test. */
const servicesOf = ({ source, webhook, store, temporal: server, operations, ...more }: Over = {}): Services => {
  const config = {
    source: { ...sourceOf(simulator), limits: { retries: 0 }, list: { records: 'data' }, ...source },
    webhook: { port: 0, secrets: [{ name: 'main', secret: 'a signing secret' }], ...webhook },
    store: { url: database.url, data_dir: dataDir, ...store },
    operations: { enabled: false, ...operations },
    temporal: { address: temporal.address, task_queue: temporal.taskQueue, ...server },
    ...more,
  };
  const services = createServices(checkConfig(config, 'test'), silent, silent);
  onTestFinished(services.close);
  return services;
};

/** A receiver of these services, and where it takes deliveries. */
const receive = async (services: Services, store: Store) => {
  const receiver = await openReceiver(services, { storeUrl: store.url, logLevel: 'silent' });
  return { ...receiver, url: `${receiver.address}/webhook` };
};
/** Services that receive into their store. */
const openReceiving = async (over: Over = {}) => {
  const services = servicesOf(over);
  const store = await openStoreService(services);
  return { services, store, ...(await receive(services, store)) };
};

const examine = async (over: Over = {}) => {
  const services = servicesOf(over);
  const store = openStoreService(services);
  store.catch(() => undefined);
  const ofReceiver = { ...webhookChecks(services, store), ...installationChecks(services, store) };
  const checks = { ...sourceChecks(services), ...ofReceiver, ...temporalChecks(services) };
  const findings = await runChecks(checks, { deadlineMs: 20_000 });
  return Object.fromEntries(findings.map((finding) => [finding.check, finding]));
};

const said = (outcome: string, message: string, hint?: string) => ({
  outcome,
  message: expect.stringContaining(message),
  ...(hint === undefined ? {} : { hint: expect.stringContaining(hint) }),
});

test('doctor finds nothing to repair where all is well, and warns of what is not started yet', async () => {
  const operations = { enabled: true, listen: '0.0.0.0', port: 0 };
  const found = await examine({ source: { websocket: { url: simulator.wsUrl } }, operations });
  for (const check of ['token', 'list', 'clock', 'websocket', 'webhook keys', 'warehouse postgres', 'temporal'])
    expect(found[check], check).toMatchObject({ outcome: 'ok' });
  // The server of the tests is made fast by not being durable, which is just what must be noticed.
  expect(found).toMatchObject({
    ...{ operations: said('warning', 'can read the metrics'), store: said('failed', 'fsync = off') },
    workers: said('warning', temporal.taskQueue),
    ...{ schedules: said('warning', '', 'callsync up'), 'webhook address': { outcome: 'warning' } },
  });
  const store = await openStoreService(servicesOf());
  await store.query(`INSERT INTO watermarks VALUES ('sync', 'call', now(), now(), now(), now(), 'E', now())`);
  expect((await examine()).health).toMatchObject(said('ok', 'The last read failed (E).'));
  await store.query('TRUNCATE watermarks');
});

test('doctor finds the schedules once they are there', async () => {
  const services = servicesOf();
  const { client, connection } = await connectClient(services.config.temporal, temporal.address);
  onTestFinished(async () => {
    await deleteSchedules({ client, prefix: temporal.taskQueue });
    await connection.close();
  });
  await ensureConfiguredSchedules(services, { client, prefix: temporal.taskQueue });
  expect((await examine()).schedules).toMatchObject(said('ok', 'are on'));
});

test('doctor leaves nothing behind in a warehouse', async () => {
  await examine({ warehouses: { other: { type: 'postgres', schema: 'not_there_yet' } } });
  const { pool } = await openStoreService(servicesOf());
  const { rows } = await pool.query(
    `SELECT 1 FROM pg_namespace WHERE nspname = 'not_there_yet' UNION ALL SELECT 1 FROM pg_class WHERE relname LIKE 'callsync_doctor%'`,
  );
  expect(rows).toHaveLength(0);
});

test('doctor says what is wrong with each part, and goes on with the others', async () => {
  const found = await examine({
    source: { client_secret: 'wrong' },
    webhook: { secrets: [] },
    store: { url: `postgres://x:y@127.0.0.1:${closedPort}/z` },
    temporal: { namespace: 'no-such-namespace' },
  });
  const [failed, skipped] = [{ outcome: 'failed' }, { outcome: 'skipped' }];
  expect(found).toMatchObject({
    ...{ token: { ...failed, exitCode: 3 }, list: failed, clock: skipped, 'webhook keys': failed },
    store: { ...said('failed', 'does not answer'), exitCode: 4 },
    'warehouse postgres': skipped,
    temporal: { ...said('failed', 'no namespace'), exitCode: 6 },
  });
  expect(Object.values(found).filter(({ outcome, hint }) => outcome === 'failed' && !hint)).toEqual([]);
});

test('doctor names a key that is lost or is another one, before the next start of a worker refuses it', async () => {
  await (await openStoreService(servicesOf())).checkKeys();
  const found = await examine({ store: { data_dir: `${dataDir}/without` } });
  expect(found.store).toMatchObject({ ...said('failed', 'not the key of this store', 'Replace'), exitCode: 3 });
});

test('doctor names a wrong place of the records, and a clock that is off, but no sleep of the machine', async () => {
  const now = new Date(Date.now() + 600_000).toISOString();
  const off = await openSimulator({ calls: { count: 5 }, clock: { now } });
  const found = await examine({ source: { ...sourceOf(off), list: { records: 'items' } } });
  const clock = { outcome: 'failed', message: expect.stringMatching(/(59\d|60[01]) s ahead/) };
  expect(found).toMatchObject({ clock, list: said('failed', 'at “data”') });
  using _ = vi.spyOn(Date, 'now').mockImplementation(() => performance.timeOrigin + performance.now() + 600_000);
  expect((await examine({ source: sourceOf(off) })).clock).toMatchObject({ outcome: 'ok' });
});

test('doctor names a warehouse whose user may not create', async () => {
  const { url } = await roleForTest(database);
  const found = await examine({ warehouses: { lean: { type: 'postgres', url } } });
  expect(found['warehouse lean']).toMatchObject(said('failed', 'lacks a permission', 'Grant CREATE'));
});

test('the webhook round trip arrives, is refused when forged, and leaves no trace', async () => {
  const { services, store, address, url, close } = await openReceiving();
  expect(await roundTrip(services, store, url)).toMatchObject({ outcome: 'ok' });
  const inUse = new RegExp(` SPOOL_IN_USE: .*callsync already receives deliveries in ${dataDir}.* store\\.data_dir`);
  expect(await refusal(receive(servicesOf(), store))).toMatch(inUse);
  const stranger = servicesOf({ webhook: { secrets: [{ name: 'main', secret: 'another secret' }] } });
  const refused = await roundTrip(stranger, store, url);
  expect(refused).toMatchObject(said('failed', '403', 'signing secret'));
  for (const key of ['webhook.header_prefix', 'webhook.allow_from']) expect(refused.hint).toContain(key);
  const gone = await roundTrip(services, store, `http://127.0.0.1:${closedPort}/webhook`);
  expect(gone).toMatchObject(said('failed', 'ECONNREFUSED'));
  expect(await roundTrip(services, store, `${address}/elsewhere`)).toMatchObject({
    hint: expect.stringContaining('webhook.path'),
  });
  await close();
  for (const table of ['inbox', 'unloaded_deliveries', 'quarantine'])
    expect((await store.pool.query(`SELECT 1 FROM ${table}`)).rowCount).toBe(0);
  expect((await readCounters(store)).get('deliveries:rejected') ?? 0).toBe(0);
});

test('the webhook round trip has the size of a long call, and names the limit of a proxy that refuses it', async () => {
  const { services, store, url, close } = await openReceiving();
  const proxy = await listen(async (request, response) => {
    const body = Buffer.concat(await request.toArray());
    if (body.length > 1_048_576) return response.writeHead(413).end();
    const headers = Object.entries(request.headers).filter(([name]) => name.startsWith('x-service-'));
    const answer = await fetch(url, { method: 'POST', body, headers: headers as [string, string][] });
    return response.writeHead(answer.status).end();
  });
  onTestFinished(proxy.close);
  const trip = () => roundTrip(services, store, `${proxy.url}/webhook`);
  const tooLarge = said('failed', 'answers 413 to a delivery of 2.0 MB', 'webhook.limits.body_bytes');
  expect(await trip()).toMatchObject(tooLarge);
  expect((await store.pool.query("SELECT 1 FROM inbox WHERE outcome <> 'rejected'")).rowCount).toBe(0);
  // No larger than the receiver itself takes.
  const small = servicesOf({ webhook: { limits: { body_bytes: 1_000_000 } } });
  expect(await roundTrip(small, store, `${proxy.url}/webhook`)).toMatchObject(said('ok', 'of 1.0 MB'));
  await store.query(
    `INSERT INTO inbox (received_at, outcome, body) VALUES (now(), 'accepted', repeat('x', 3000000)::bytea)`,
  );
  expect(await trip()).toMatchObject(said('failed', 'of 3.0 MB'));
  await store.query('TRUNCATE inbox');
  await close();
});

test('the webhook round trip finds its sample under privacy rules too', async () => {
  const { services, store, url } = await openReceiving({ privacy: { profile: 'pseudonymous', unreadable: 'drop' } });
  expect(await roundTrip(services, store, url)).toMatchObject({ outcome: 'ok' });
  await services.close();
});

test('a sample that a worker merged before its removal is no new agent', async () => {
  const store = await openStoreService(servicesOf());
  await store.query('TRUNCATE inbox, delivery_senders');
  const deliver = async (id: string, agent: string): Promise<void> => {
    const seq = await store.value<number>`INSERT INTO inbox (received_at, outcome, delivery_id, agent, body)
      VALUES (clock_timestamp(), 'pending', ${id}, ${agent}, 'x') RETURNING seq`;
    const settled = { seq, outcome: 'quarantined', callId: null, reason: 'no call' } as const;
    await store.transaction((tx) => settleDeliveries(tx, [settled], [], store.keyOf));
  };
  await deliver('1', 'Service/1');
  await deliver('2', 'Sample/1');
  await deliver('3', 'Service/2');
  expect(await createSampleStore(store).take('2')).toBe(true);
  const agents = (await listAgents(store)).map(({ agent, isNew }) => `${agent} ${isNew}`);
  expect(agents).toEqual(['Service/2 true', 'Service/1 false']);
  await store.query('TRUNCATE inbox, delivery_senders');
});

test('the webhook round trip notices a receiver that writes elsewhere, or takes forged deliveries', async () => {
  const store = await openStoreService(servicesOf());
  const other = await createDatabase();
  const { services: elsewhere, url } = await openReceiving({ store: { url: other.url } });
  const key = { name: 'main', secret: Buffer.from('a signing secret'), hookIds: undefined };
  const sample = { headerPrefix: 'X-Service-', store: createSampleStore(store) };
  const finding = await tryRoundTrip({ ...sample, url, key, storedWithinMs: 300 });
  expect(finding).toMatchObject(said('failed', 'did not arrive in this inbox'));
  await elsewhere.close();
  await other.drop();

  const open = servicesOf({ webhook: { secrets: [], allow_unsigned: true } });
  const options = { ...sample, url: (await receive(open, store)).url };
  expect(await tryRoundTrip({ ...options, key })).toMatchObject(said('failed', 'wrong signature'));
  expect(await tryRoundTrip({ ...options, key: undefined })).toMatchObject({ outcome: 'warning' });
  expect((await store.pool.query("SELECT 1 FROM inbox WHERE outcome <> 'rejected'")).rowCount).toBe(0);
});

test('the check of the public address tells private networks and unknown names from public ones', async () => {
  const first = async (url: string) => (await checkPublicUrl(new URL(url)))[0];
  for (const host of ['127.0.0.1', '10.1.2.3', '192.168.0.9', '100.64.1.1', '[::1]', '[fd00::1]', '[fe80::1]'])
    expect(await first(`http://${host}/webhook`), host).toMatchObject(said('failed', 'private network'));
  expect(await first('http://8.8.8.8/')).toMatchObject({ outcome: 'ok' });
  expect((await first('https://no-such-host.invalid/'))?.message).toContain('resolved');
});

test('the check of the public address explains certificates', async () => {
  const certificateOf = async (pair: TestCertificate, ca?: string) => {
    const server = createServer(pair);
    const url = new URL(`https://localhost:${await listenOn(server)}/`);
    const [, finding] = await checkPublicUrl(url, ca === undefined ? {} : { ca });
    server.close();
    return finding;
  };
  const [good, other] = [makeCertificate({ days: 90 }), makeCertificate({ days: 90, name: 'example.com' })];
  expect(await certificateOf(good)).toMatchObject(said('failed', 'self-signed'));
  expect(await certificateOf(good, good.cert)).toMatchObject({ outcome: 'ok' });
  expect(await certificateOf(other, other.cert)).toMatchObject(said('failed', 'not for localhost'));
});
