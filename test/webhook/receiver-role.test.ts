import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openSecret } from '../../src/lib/secret.ts';
import { receiverGrants, setUpReceiverRole } from '../../src/store/delivery/inbox-writer.ts';
import { migrations } from '../../src/store/migrations.ts';
import { useFolder } from '../support/folder.ts';
import { connect, urlAs } from '../support/postgres.ts';
import { column } from '../support/rows.ts';
import { until } from '../support/until.ts';
import { useInboxDatabase } from './support/inbox-database.ts';
import { testSecret } from './support/receiver.ts';

const role = `receiver "${process.pid}"`;
const password = "it's secret";
const database = useInboxDatabase();
const folder = useFolder('store-url');
let url: string;
/** The store as this role sees it. */
const urlOf = (username: string, word: string): string =>
  urlAs(database.url, encodeURIComponent(username), encodeURIComponent(word));
beforeAll(async () => {
  await setUpReceiverRole(database.store, role, 'the first');
  await setUpReceiverRole(database.store, role, password);
  url = urlOf(role, password);
});
afterAll(async () => {
  const grantee = pg.escapeIdentifier(role);
  await database.store.pool.query(`DROP OWNED BY ${grantee}; DROP ROLE ${grantee}`);
});

test('a receiver with a role that only adds deliveries does all of its work', async () => {
  const started = await database.receive({ databaseUrl: url });
  const send = (secret: string) => started.send('1', { secret });
  expect((await send(testSecret)).delivered).toBe(true);
  expect((await send('wrong')).attempts).toMatchObject([{ status: 403 }]);
  await until('both are recorded', async () => (await database.rows()).length === 2);
  expect((await database.rows()).map((row) => row.outcome)).toEqual(['pending', 'rejected']);
  expect(started.receiver.status().storeUsable).toBe(true);
  await started.inbox.ping();
  const { pool } = database.store;
  // A receiver's clock may be wrong by hours.
  await pool.query(`UPDATE callsync.inbox SET received_at = received_at - interval '5 hours'`);
  const { pending, oldestAge } = await started.inbox.depth();
  expect(pending).toBe(1);
  expect(oldestAge).toBeGreaterThan(0);
  expect(oldestAge).toBeLessThan(300);
  const again = await pool.query(`SELECT * FROM callsync.inbox WHERE outcome = 'pending'`);
  const { arrival_id: arrivalId, body, body_hash: bodyHash } = again.rows[0];
  const known = { deliveryId: '1', hookId: null, agent: null, receivedAt: new Date(), signingKey: null };
  await started.inbox.insertSpooled([{ arrivalId, ...known, body, bodyHash }], 5_000);
  expect(await database.rows()).toHaveLength(2);
});

test('its temporary tables hide none of the store from the store’s own functions', async () => {
  const client = await connect(url);
  await client.query('CREATE TEMPORARY TABLE counters (LIKE callsync.counters INCLUDING ALL)');
  await client.query('GRANT ALL ON counters TO PUBLIC');
  await client.query(`INSERT INTO callsync.inbox (received_at, body, body_hash) VALUES (now(), '{}', '\\x01')`);
  expect((await client.query('SELECT * FROM counters')).rows).toEqual([]);
  await client.end();
});

test('its role reads no call and changes nothing', async () => {
  const client = await connect(url);
  const names = "SELECT tablename FROM pg_tables WHERE schemaname = 'callsync' ORDER BY 1";
  const tables = await column<string>(database.store, names);
  expect(tables).toEqual(expect.arrayContaining(['inbox', 'ledger', 'meta', 'quarantine']));
  const closed = tables.filter((name) => !['counters', 'token_keys'].includes(name));
  const forbidden = [
    ...closed.map((name) => `SELECT * FROM callsync.${name}`),
    "INSERT INTO callsync.token_keys VALUES ('privacy.key:k1', 'mine')",
    "INSERT INTO callsync.counters VALUES ('calls', 1)",
    'SELECT body FROM callsync.inbox',
    "UPDATE callsync.inbox SET outcome = 'pending'",
    'DELETE FROM callsync.inbox',
    'TRUNCATE callsync.inbox',
    'INSERT INTO callsync.ledger (call_id) VALUES (1)',
    'CREATE TABLE callsync.mine (id int)',
  ];
  for (const statement of forbidden)
    await expect(client.query(statement), statement).rejects.toMatchObject({ code: '42501' });
  await client.end();
  expect(receiverGrants('callsync', 'a"b').join()).toContain('TO "a""b"');
});

test('a role of the version before may read the age of the inbox after the migration', async () => {
  const { pool } = database.store;
  const earlier = `earlier_${process.pid}`;
  const columns = '(seq, arrival_id, outcome, received_at)';
  await pool.query(`CREATE ROLE ${earlier}; GRANT SELECT ${columns} ON callsync.inbox TO ${earlier}`);
  await pool.query(`SET search_path TO callsync; ${migrations['7-expand-inbox-age']}; RESET search_path`);
  const may = `SELECT has_column_privilege('${earlier}', 'callsync.inbox', 'stored_at', 'SELECT') AS may`;
  expect((await pool.query(may)).rows).toEqual([{ may: true }]);
  await pool.query(`DROP OWNED BY ${earlier}; DROP ROLE ${earlier}`);
});

test('a password that is changed in store.url_file takes effect while the receiver runs', async () => {
  await database.empty();
  const { pool } = database.store;
  const rotating = `rotating_${process.pid}`;
  await setUpReceiverRole(database.store, rotating, 'before');
  const file = join(folder, 'url');
  const write = (word: string) => writeFile(file, urlOf(rotating, word));
  await write('before');
  const secret = openSecret({ key: 'store.url', file }) ?? expect.fail('no secret');
  const started = await database.receive({ databaseUrl: secret.read });
  expect((await started.send('before')).delivered).toBe(true);

  await pool.query(`ALTER ROLE ${rotating} PASSWORD 'after'`);
  // Until they have ended: one that still ran would take the next delivery.
  await pool.query('SELECT pg_terminate_backend(pid, 30000) FROM pg_stat_activity WHERE usename = $1', [rotating]);
  expect((await started.send('meanwhile')).delivered).toBe(true);
  expect(started.receiver.status().storeUsable).toBe(false);
  await write('after');
  await until('the store is used again', () => started.receiver.status().storeUsable);
  await until('the spool is drained', () => started.spool.status().records === 0);
  expect((await database.rows()).map((row) => row.delivery_id).sort()).toEqual(['before', 'meanwhile']);
  await started.stop();
  await pool.query(`DROP OWNED BY ${rotating}; DROP ROLE ${rotating}`);
});
