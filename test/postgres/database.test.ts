import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import { expect, onTestFinished, test, vi } from 'vitest';
import { terminal } from '../../src/lib/errors.ts';
import { BinaryCopyWriter } from '../../src/postgres/binary-copy.ts';
import { type Database, openDatabase, repeatTransaction, sql } from '../../src/postgres/database.ts';
import { isStale, postgresError } from '../../src/postgres/errors.ts';
import { ownRoleUrl } from '../../src/postgres/own-role.ts';
import { streamRows } from '../../src/warehouse/postgres/reader.ts';
import { openLink } from '../support/link.ts';
import { useOpened } from '../support/opened.ts';
import { useDatabase } from '../support/postgres.ts';
import { refusal } from '../support/refusal.ts';
import { collect } from '../support/rows.ts';

const database = useDatabase();
const db = useOpened(async () => open());
const open = (over: Partial<Parameters<typeof openDatabase>[0]> = {}): Database =>
  openDatabase({ url: database.url, schema: 'public', application: 'test', purpose: 'test', ...over });
/** With one connection, until the end of the test. */
const openOne = (over = {}): Database => {
  const one = open({ max: 1, ...over });
  onTestFinished(one.close);
  return one;
};

/** Waits for its end, because a running server would answer. */
const cut = async (client: pg.PoolClient) => {
  const { rows } = await client.query('SELECT pg_backend_pid() AS pid');
  return () => db.pool.query('SELECT pg_terminate_backend($1, 30000)', [rows[0].pid]);
};
/** Rows to be sent. */
const copyOf = (rows: number, text: string, isWhole = true) => {
  const writer = new BinaryCopyWriter();
  for (let row = 0; row < rows; row += 1) {
    writer.row(isWhole ? 1 : 2);
    if (!isWhole) writer.null();
    writer.text(text);
  }
  return writer;
};

test('a connection that is cut in mid-transaction is a transient error, and the process lives', async () => {
  const work = db.transaction(async ({ client }) => {
    await (await cut(client))();
    // Nothing runs on the connection while it breaks: without a listener this ends the process.
    await delay(50);
    await client.query('SELECT 1');
  });
  await expect(work).rejects.toMatchObject({ kind: 'transient' });
  expect(await db.query('SELECT 1 AS one')).toEqual([{ one: 1 }]);
});

test('a statement is read once a connection, planned each time, and read anew for other columns', async () => {
  await db.pool.query('CREATE TABLE changing (a integer)');
  const small = openOne();
  const ask = () => small.transaction((tx) => tx.query`SELECT * FROM changing WHERE a > ${0}`);
  for (let time = 0; time < 7; time += 1) expect(await ask()).toEqual([]);
  const asked = sql`SELECT generic_plans::int AS generic, custom_plans::int AS custom FROM pg_prepared_statements WHERE statement LIKE ${'%changing%'}`;
  expect(await small.pool.query(asked.text, [...asked.values])).toMatchObject({ rows: [{ generic: 0, custom: 7 }] });
  await db.pool.query('ALTER TABLE changing ADD COLUMN b integer; INSERT INTO changing VALUES (1, 2)');
  await expect(ask()).rejects.toMatchObject({ kind: 'transient' });
  expect(await ask()).toEqual([{ a: 1, b: 2 }]);
});

test('a connection that a failover leaves at a standby goes: the next one may reach the primary', async () => {
  await db.pool.query('CREATE TABLE written (a integer)');
  const small = openOne();
  await small.query('SET default_transaction_read_only = on');
  const write = () => small.transaction((tx) => tx.query`INSERT INTO written VALUES (${1})`);
  await expect(write()).rejects.toMatchObject({ code: 'DATABASE_READ_ONLY', kind: 'transient' });
  await write();
});

test.each([
  ['changed columns in any language', '0A000', 'RevalidateCachedQuery', 'gecachter Plan', true],
  ['a database that is closed for a while', '55000', 'InitPostgres', 'database "d" is not currently accepting', false],
])('transient: %s', (_what, code, routine, message, stale) => {
  const error = postgresError('test', Object.assign(new Error(message), { code, routine }));
  expect([error.kind, isStale(error)]).toEqual(['transient', stale]);
});

test('a connection that is cut during a copy is a transient error', async () => {
  await db.pool.query(`CREATE TABLE slow (t text);
    CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(30); RETURN NEW; END $$;
    CREATE TRIGGER slow BEFORE INSERT ON slow FOR EACH ROW EXECUTE FUNCTION wait()`);
  const work = db.transaction(async ({ client }) => {
    const end = await cut(client);
    const copied = copyOf(1, 'x').send(client, 'slow (t)');
    copied.catch(() => undefined);
    await delay(50);
    await end();
    await copied;
  });
  await expect(work).rejects.toMatchObject({ kind: 'transient' });
});

test('bytes that a copy was lent arrive whole between its own, whatever their length, and stay as they are', async () => {
  await db.pool.query('CREATE TABLE lent (n integer, body bytea, t text)');
  const bodies = [0, 1, 8_191, 8_192, 131_072, 500_000, 40_000].map((length, n) => Buffer.alloc(length, 97 + n));
  const sent = bodies.flatMap((body) => [body, Buffer.from(body)]);
  for (let round = 0; round < 3; round += 1) {
    const writer = new BinaryCopyWriter();
    for (const [n, body] of sent.entries()) {
      writer.row(3);
      writer.int4(n);
      writer.lend(body);
      writer.text('x'.repeat(n * 10_000));
    }
    await db.transaction(({ client }) => writer.send(client, 'lent (n, body, t)'));
  }
  const rows = await db.query<{ n: number; body: Buffer; t: string }>`SELECT DISTINCT n, body, t FROM lent ORDER BY n`;
  const found = rows.map(({ n, body, t }) => [n, body.equals(sent[n] as Buffer), t.length]);
  expect(found).toEqual(sent.map((_, n) => [n, true, n * 10_000]));
  expect(sent.map(({ length }) => length)).toEqual(bodies.flatMap(({ length }) => [length, length]));
});

test('a copy that the server refuses in the middle of large rows rejects, and ends no process', async () => {
  await db.pool.query('CREATE TABLE refused (n integer NOT NULL, t text)');
  const faults: unknown[] = [];
  const note = (error: unknown): void => void faults.push(error);
  process.on('uncaughtException', note);
  onTestFinished(() => void process.off('uncaughtException', note));
  for (let round = 0; round < 5; round += 1) {
    const copy = copyOf(200, 'x'.repeat(100_000), false);
    const work = db.transaction(({ client }) => copy.send(client, 'refused (n, t)'));
    await expect(work).rejects.toMatchObject({ kind: 'terminal' });
    expect(await db.query('SELECT * FROM refused')).toEqual([]);
  }
  await delay(100);
  expect(faults).toEqual([]);
});

test('an error of ours rolls a transaction back as it is', async () => {
  await db.pool.query('CREATE TABLE kept (n integer)');
  const failing = db.transaction(async ({ client }) => {
    await client.query('INSERT INTO kept VALUES (1)');
    throw new TypeError('a fault');
  });
  await expect(failing).rejects.toBeInstanceOf(TypeError);
  expect(await db.query('SELECT * FROM kept')).toEqual([]);
  const ours = terminal('CONFIG_INVALID', 'No.');
  await expect(db.transaction(() => Promise.reject(ours))).rejects.toBe(ours);
});

// Unreachable and missing databases are in test/cli/failures.test.ts.
test.each([
  'postgres://[::1/calls',
  // The rest of the password would count as a host.
  ...['#', '/', '?'].map((sign) => `postgres://me:1${sign}secret@127.0.0.1/calls`),
])('a URL that is none is refused, and no part of it is printed: %s', async (url) => {
  const said = await refusal(openOne({ url }).query('SELECT 1'));
  expect(said).toMatch(/^terminal DATABASE_URL_INVALID: /);
  expect(said).not.toContain('secret');
});

test.each(['endpoint%3Dx', '-c%20endpoint%3Dx'])('refused options are those of the URL: %s', async (options) => {
  const { href } = new URL(`?options=${options}`, database.url);
  const refused = { code: 'DATABASE_URL_INVALID', hint: expect.stringContaining('options=') };
  await expect(open({ url: href }).query('SELECT 1')).rejects.toMatchObject(refused);
});

test.each(['a@b', 'a/b@c&connect_timeout=9'])('the sign @ may stand in a setting of a URL: %s', async (name) => {
  const { href } = new URL(database.url);
  const url = `${href}${href.includes('?') ? '&' : '?'}application_name=${name}`;
  expect(await openOne({ url }).query('SELECT 1 AS one')).toEqual([{ one: 1 }]);
});

test.each([
  ['INSERT INTO own (id) VALUES (1)', 'REFUSED', '23502, schema public, table own, column needed', 'DEFAULT'],
  ["INSERT INTO sub VALUES (1, 'secret')", 'REFUSED', '23503, schema public, table sub, constraint sub_id', 'CASCADE'],
  ['DROP VIEW theirs', 'REFUSED', '2BP01, view mine depends on view theirs', 'create your views again'],
  ["SELECT 'secret'::integer", 'REFUSED', '22P02', 'report the message'],
  ["DO $$ BEGIN RAISE 'no user: x' USING ERRCODE = '08P01'; END $$", 'POOLING', '08P01, no user: x', 'reader_url_file'],
  ["DO $$ BEGIN RAISE 'mine'; END $$", 'REFUSED', 'P0001', 'trigger'],
  ["DO $$ BEGIN RAISE 'max clients reached' USING ERRCODE = 'XX000'; END $$", 'FULL', 'XX000', 'pool size'],
  ["DO $$ BEGIN RAISE 'compute node' USING ERRCODE = 'XX000'; END $$", 'UNREACHABLE', 'XX000', 'status page'],
  ['CREATE TABLE own ()', 'CONFLICT', '42P07, relation "own" already exists', 'Rename'],
  ['SELECT * FROM pg_authid', 'PERMISSION', '42501, permission denied for table pg_authid', 'Grant'],
  ['SELECT * FROM hidden', 'PERMISSION', '42501, query would be affected by row-level security policy', 'BYPASSRLS'],
  ["SET statement_timeout = 1; SELECT pg_sleep(5), 'secret'", 'TIMEOUT', '57014, canceling', 'pg_stat_activity'],
  ['SET transaction_read_only = on; CREATE TABLE new ()', 'READ_ONLY', '25006, cannot execute CREATE', 'primary'],
])('an error of the database keeps its state and objects, and has a next step: %s', async (sql, code, reason, hint) => {
  await db.pool.query(`CREATE TABLE IF NOT EXISTS own (id integer PRIMARY KEY, needed text NOT NULL);
    CREATE TABLE IF NOT EXISTS hidden (); ALTER TABLE hidden ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
    CREATE TABLE IF NOT EXISTS sub (id integer CONSTRAINT sub_id REFERENCES own, t text);
    CREATE OR REPLACE VIEW theirs AS SELECT 1 AS one; CREATE OR REPLACE VIEW mine AS SELECT one FROM theirs`);
  const said = await refusal(openOne().query(sql));
  for (const part of [`DATABASE_${code}: `, `(SQLSTATE ${reason}`, hint]) expect(said).toContain(part);
  expect(said).not.toContain('secret');
});

test('a full pool is told apart from a server that is gone', async () => {
  const one = openOne();
  const slow = one.query('SELECT pg_sleep(11)');
  await expect(one.query('SELECT 1')).rejects.toMatchObject({ code: 'DATABASE_BUSY', kind: 'transient' });
  await slow;
}, 30_000);

test('a server that stops answering ends a statement and a copy in time, and the next connection works', async () => {
  const silent = await openLink(database.url);
  const mute = open({ url: silent.url, statementMs: 200 });
  onTestFinished(async () => {
    await mute.close();
    await silent.close();
  });
  await db.pool.query('CREATE TABLE muted (t text)');
  for (const work of [
    (client: pg.PoolClient) => client.query('SELECT 1'),
    (client: pg.PoolClient) => copyOf(1, 'x').send(client, 'muted (t)'),
  ]) {
    const asked = mute.transaction(async ({ client }) => {
      silent.silence();
      await work(client);
    });
    await expect(asked).rejects.toMatchObject({ code: 'DATABASE_UNREACHABLE', kind: 'transient' });
    // On a busy machine a statement needs longer than this pool has, now and then.
    await expect.poll(() => mute.query('SELECT * FROM muted').catch(() => 'too late')).toEqual([]);
  }
});

test('a statement that takes too long is ended by the server', async () => {
  const slow = openOne({ statementMs: 100 }).query('SELECT pg_sleep(30)');
  expect(await refusal(slow)).toMatch(/^transient DATABASE_TIMEOUT: /);
});

test('a lock that somebody holds is waited for 30 s, and once', async () => {
  const locked = vi.fn(() => Promise.reject(Object.assign(new Error(), { code: '55P03' })));
  expect(await refusal(repeatTransaction(db, locked, 'byKeys'))).toMatch(/^transient DATABASE_TIMEOUT: /);
  expect(locked).toHaveBeenCalledOnce();
  const asked = streamRows(db, "SELECT current_setting('lock_timeout') AS longest");
  expect(await collect(asked)).toEqual([{ longest: '30s' }]);
});

test('roles of an owner with a long name keep names of their own', () => {
  const urls = ['reader', 'assistant'].map((purpose) => ownRoleUrl(`postgres://${'é'.repeat(29)}@h/d`, purpose));
  const names = urls.map((url) => Buffer.from(decodeURIComponent(new URL(url).username)).toString('utf8', 0, 63));
  expect(names).toEqual([
    expect.stringMatching(/^é+_\w{8}_callsync_reader$/),
    expect.stringMatching(/é_\w+_assistant$/),
  ]);
});
