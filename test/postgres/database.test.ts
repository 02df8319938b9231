import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { terminal } from '../../src/lib/errors.ts';
import { BinaryCopyWriter } from '../../src/postgres/binary-copy.ts';
import { type Database, openDatabase } from '../../src/postgres/database.ts';
import { openLink } from '../support/link.ts';
import { useDatabase } from '../support/postgres.ts';

const database = useDatabase();
let db: Database;
let pool: pg.Pool;

beforeAll(async () => {
  db = open();
  ({ pool } = db);
});

afterAll(() => db.close());

const open = (over: { readonly url?: string; readonly statementMs?: number } = {}): Database =>
  openDatabase({ url: database.url, schema: 'public', application: 'test', purpose: 'test', ...over });

const backendOf = async (client: pg.PoolClient): Promise<number> =>
  (await client.query('SELECT pg_backend_pid() AS pid')).rows[0].pid;

test('a connection that is cut in mid-transaction is a transient error, and the process lives', async () => {
  const work = db.transaction(async ({ client }) => {
    const pid = await backendOf(client);
    // Waits for its end, because a running server would answer.
    await pool.query('SELECT pg_terminate_backend($1, 30000)', [pid]);
    // Nothing runs on the connection while it breaks: without a listener this ends the process.
    await delay(50);
    await client.query('SELECT 1');
  });
  await expect(work).rejects.toMatchObject({ kind: 'transient' });
  expect(await db.query('SELECT 1 AS one')).toEqual([{ one: 1 }]);
});

test('a connection that is cut during a copy is a transient error', async () => {
  await pool.query('CREATE TABLE slow (t text)');
  await pool.query(
    `CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(30); RETURN NEW; END $$`,
  );
  await pool.query('CREATE TRIGGER slow BEFORE INSERT ON slow FOR EACH ROW EXECUTE FUNCTION wait()');
  const work = db.transaction(async ({ client }) => {
    const pid = await backendOf(client);
    const writer = new BinaryCopyWriter();
    writer.row(1);
    writer.text('x');
    const copied = writer.send(client, 'slow (t)');
    copied.catch(() => undefined);
    await delay(50);
    await pool.query('SELECT pg_terminate_backend($1)', [pid]);
    await copied;
  });
  await expect(work).rejects.toMatchObject({ kind: 'transient' });
});

test('a copy that the server refuses in the middle of large rows rejects, and ends no process', async () => {
  await pool.query('CREATE TABLE refused (n integer NOT NULL, t text)');
  const faults: unknown[] = [];
  const note = (error: unknown): void => void faults.push(error);
  process.on('uncaughtException', note);
  try {
    for (let round = 0; round < 5; round += 1) {
      const work = db.transaction(({ client }) => {
        const writer = new BinaryCopyWriter();
        for (let row = 0; row < 200; row += 1) {
          writer.row(2);
          writer.null();
          writer.text('x'.repeat(100_000));
        }
        return writer.send(client, 'refused (n, t)');
      });
      await expect(work).rejects.toMatchObject({ kind: 'terminal' });
      expect(await db.query('SELECT * FROM refused')).toEqual([]);
    }
    await delay(100);
  } finally {
    process.removeListener('uncaughtException', note);
  }
  expect(faults).toEqual([]);
});

test('an error of ours leaves a transaction as it is; one of the database is told apart and names no value', async () => {
  await expect(db.transaction(() => Promise.reject(new TypeError('a fault')))).rejects.toBeInstanceOf(TypeError);
  const ours = terminal('CONFIG_INVALID', 'No.');
  await expect(db.transaction(() => Promise.reject(ours))).rejects.toBe(ours);
  const refused = db.transaction(({ client }) => client.query("SELECT 'secret-value'::integer"));
  await expect(refused).rejects.toMatchObject({ code: 'DATABASE_ERROR', kind: 'terminal' });
  await refused.catch((error: Error) => expect(error.message).not.toContain('secret-value'));
});

test('what is rolled back is gone', async () => {
  await pool.query('CREATE TABLE kept (n integer)');
  await expect(
    db.transaction(async ({ client }) => {
      await client.query('INSERT INTO kept VALUES (1)');
      throw new Error('no');
    }),
  ).rejects.toThrow('no');
  expect(await db.query('SELECT * FROM kept')).toEqual([]);
});

test('unreachable, refused and missing databases each say what to do', async () => {
  const tell = async (change: (url: URL) => void): Promise<unknown> => {
    const url = new URL(database.url);
    change(url);
    const other = open({ url: url.href });
    return await other
      .query('SELECT 1')
      .catch((error: unknown) => error)
      .finally(other.close);
  };
  expect(
    await tell((url) => {
      url.port = '1';
    }),
  ).toMatchObject({ code: 'DATABASE_UNREACHABLE', kind: 'transient' });
  expect(
    await tell((url) => {
      url.pathname = '/nowhere';
    }),
  ).toMatchObject({ code: 'DATABASE_MISSING', kind: 'terminal' });
});

test('a server that stops answering ends a statement and a copy in time, and the next connection works', async () => {
  const silent = await openLink(database.url);
  const mute = open({ url: silent.url, statementMs: 200 });
  onTestFinished(async () => {
    await mute.close();
    await silent.close();
  });
  await pool.query('CREATE TABLE muted (t text)');
  for (const work of [
    (client: pg.PoolClient) => client.query('SELECT 1'),
    (client: pg.PoolClient) => {
      const writer = new BinaryCopyWriter();
      writer.row(1);
      writer.text('x');
      return writer.send(client, 'muted (t)');
    },
  ]) {
    const asked = mute.transaction(async ({ client }) => {
      silent.silence();
      await work(client);
    });
    await expect(asked).rejects.toMatchObject({ code: 'DATABASE_UNREACHABLE', kind: 'transient' });
    // On a busy machine a statement needs longer than this pool has, now and then.
    const ask = () => mute.query('SELECT * FROM muted').catch(() => 'too late');
    await expect.poll(ask).toEqual([]);
  }
});

test('a statement that takes too long is ended by the server', async () => {
  const quick = open({ statementMs: 100 });
  await expect(quick.query('SELECT pg_sleep(30)')).rejects.toMatchObject({ kind: 'transient' });
  await quick.close();
});

/**
 * By column of `all_types`: the written form of a value, and values that come back unchanged. Each column takes null
 * too.
 */
const digits = '12345678901234567890123456789012345678';
const times = ['1684-01-01T00:00:00.000000', '1969-12-31T23:59:59.999999', '1999-12-31T23:59:59.999999'];
const numerics = '0 1 -1 10000 100000000 0.0001 0.00001 -0.1 12.5 10000.0001 100000000.00000001 9999.9999'.split(' ');
const longest = [
  digits,
  `-${digits}`,
  `0.${digits}`,
  `${digits}.${digits}`,
  `1${'0'.repeat(37)}`,
  `0.${'0'.repeat(37)}1`,
];
const texts = ['', 'tab\tnewline\n\\N \\. "quote"', 'é漢字', '😀👩‍👩‍👧', 'x'.repeat(200_000), 'ﷺ'.repeat(50_000)];
const floats = [0, 0.1, 1 / 3, Number.MAX_VALUE, -Number.MAX_VALUE, 5e-324, 123456789.12345679];
const many = Array.from({ length: 5_000 }, (_, n) => n);
type Write = (writer: BinaryCopyWriter, value: never) => void;
const roundTrips: readonly [column: string, write: Write, values: readonly unknown[]][] = [
  ['t', (writer, value) => writer.text(value), texts],
  ['b', (writer, value) => writer.bytes(value), [Buffer.alloc(0), Buffer.from([0, 255, 10]), Buffer.alloc(100_000, 7)]],
  [
    'j',
    (writer, value) => writer.jsonb(JSON.stringify(value)),
    [{}, [], 'é😀', -1.5e300, true, { a: [1, { b: null }] }],
  ],
  ['i', (writer, value) => writer.int4(value), [0, -1, 2 ** 31 - 1, -(2 ** 31)]],
  ['l', (writer, value) => writer.int8(value), [0, -1, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER]],
  ['o', (writer, value) => writer.bool(value), [true, false]],
  ['f', (writer, value) => writer.float8(value), floats],
  ['n', (writer, value) => writer.numeric(value), [...numerics, ...longest]],
  [
    'ta',
    (writer, value) => writer.textArray(value),
    [[], [null], ['a', null, '', '😀', 'NULL', '{}'], many.map(String)],
  ],
  ['fa', (writer, value) => writer.float8Array(value), [[], [null], [0.1, null, -2, Number.MAX_VALUE], many]],
  ['at', (writer, value) => writer.timestamptz(micros(value)), [...times, '2255-06-01T00:00:00.000001']],
];

const micros = (iso: string): number => Date.parse(`${iso.slice(0, 19)}Z`) * 1000 + Number(iso.slice(20));

test.each(roundTrips)('a binary copy brings every value of a column as it is: %s', async (column, write, values) => {
  await pool.query(`CREATE TABLE IF NOT EXISTS all_types (id integer, t text, b bytea, j jsonb, i integer, l bigint, f double precision,
    o boolean, at timestamptz, n numeric, ta text[], fa double precision[])`);
  await pool.query('TRUNCATE all_types');
  // Small, so that every value makes the buffer grow.
  const writer = new BinaryCopyWriter(32);
  const written = [...values, null];
  written.forEach((value, index) => {
    writer.row(2);
    writer.int4(index);
    if (value === null) writer.null();
    else write(writer, value as never);
  });
  await db.transaction(({ client }) => writer.send(client, `all_types (id, ${column})`));
  const shown = column === 'at' ? `to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US')` : column;
  const { rows } = await pool.query(`SELECT ${shown} AS value FROM all_types ORDER BY id`);
  expect(rows.map((row) => row.value)).toEqual(written);
});
