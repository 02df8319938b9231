import type pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { BinaryCopyWriter } from '../../src/postgres/binary-copy.ts';
import { inTransaction, openPool } from '../../src/postgres/database.ts';
import { createDatabase, type TestDatabase } from '../support/postgres.ts';

let database: TestDatabase;
let pool: pg.Pool;

beforeAll(async () => {
  database = await createDatabase();
  pool = openPool({ url: database.url, schema: 'public', application: 'test', purpose: 'test' });
  await pool.query(`CREATE TABLE all_types (id integer, t text, b bytea, j jsonb, i integer, l bigint, f double precision,
    o boolean, at timestamptz, n numeric, ta text[], fa double precision[])`);
});

afterAll(async () => {
  await pool.end();
  await database.drop();
});

const roundTrip = async (type: string, write: (writer: BinaryCopyWriter, value: never) => void, values: unknown[]) => {
  await pool.query('TRUNCATE all_types');
  // Small, so that every value makes the buffer grow.
  const writer = new BinaryCopyWriter(32);
  values.forEach((value, index) => {
    writer.row(2);
    writer.int4(index);
    if (value === null) writer.null();
    else write(writer, value as never);
  });
  await inTransaction(pool, 'test', (client) => writer.send(client, `all_types (id, ${type})`));
  const { rows } = await pool.query(`SELECT ${type} AS value FROM all_types ORDER BY id`);
  return rows.map((row) => row.value);
};

const text = [
  '',
  'plain',
  'tab\tnewline\n\\N \\. "quote"',
  'é漢字',
  '😀👩‍👩‍👧',
  'x'.repeat(200_000),
  'ﷺ'.repeat(50_000),
  null,
];

test('text, also empty, long, with emoji and with what the text format would have to escape', async () => {
  expect(await roundTrip('t', (writer, value) => writer.text(value), text)).toEqual(text);
});

test('bytes', async () => {
  const values = [Buffer.alloc(0), Buffer.from([0, 255, 10, 92]), Buffer.alloc(100_000, 7), null];
  expect(await roundTrip('b', (writer, value) => writer.bytes(value), values)).toEqual(values);
});

test('jsonb of every kind', async () => {
  const values = [
    '{}',
    '[]',
    'null',
    '"é😀"',
    '-1.5e300',
    'true',
    '{"a":[1,{"b":null}]}',
    JSON.stringify('y'.repeat(90_000)),
  ];
  const back = await roundTrip('j', (writer, value) => writer.jsonb(value), [...values, null]);
  expect(back).toEqual([...values.map((value) => JSON.parse(value)), null]);
});

test('integers and booleans to their limits', async () => {
  const ints = [0, -1, 2 ** 31 - 1, -(2 ** 31), null];
  expect(await roundTrip('i', (writer, value) => writer.int4(value), ints)).toEqual(ints);
  const longs = [0, -1, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER, null];
  expect(await roundTrip('l', (writer, value) => writer.int8(value), longs)).toEqual(longs);
  expect(await roundTrip('o', (writer, value) => writer.bool(value), [true, false, null])).toEqual([true, false, null]);
});

test('floats to the last bit', async () => {
  const floats = [
    0,
    -0,
    0.1,
    1 / 3,
    Number.MAX_VALUE,
    Number.MIN_VALUE,
    -Number.MAX_VALUE,
    5e-324,
    123456789.12345679,
    null,
  ];
  const back = await roundTrip('f', (writer, value) => writer.float8(value), floats);
  expect(back.map((value) => (Object.is(value, -0) ? 0 : value))).toEqual(
    floats.map((value) => (Object.is(value, -0) ? 0 : value)),
  );
});

test('instants before and after 1970 and 2000, to the microsecond', async () => {
  const instants = [
    ['1684-01-01T00:00:00.000000', Date.UTC(1684, 0, 1) * 1000],
    ['1969-12-31T23:59:59.999999', -1],
    ['1970-01-01T00:00:00.000000', 0],
    ['1999-12-31T23:59:59.999999', 946_684_799_999_999],
    ['2000-01-01T00:00:00.000000', 946_684_800_000_000],
    ['2023-12-04T15:18:29.123456', 1_701_703_109_123_456],
    ['2255-06-01T00:00:00.000001', Date.UTC(2255, 5, 1) * 1000 + 1],
  ] as const;
  await roundTrip(
    'at',
    (writer, value) => writer.timestamptz(value),
    instants.map(([, micros]) => micros),
  );
  const { rows } = await pool.query(
    `SELECT to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US') AS value FROM all_types ORDER BY id`,
  );
  expect(rows.map((row) => row.value)).toEqual(instants.map(([iso]) => iso));
});

test('numerics of 38 digits on either side, zeros where they hurt', async () => {
  const digits = '12345678901234567890123456789012345678';
  const values = [
    '0',
    '1',
    '-1',
    '10000',
    '100000000',
    '0.0001',
    '0.00001',
    '-0.1',
    '12.5',
    '10000.0001',
    '100000000.00000001',
    '9999.9999',
    digits,
    `-${digits}`,
    `0.${digits}`,
    `${digits}.${digits}`,
    `-${'9'.repeat(38)}.${'9'.repeat(38)}`,
    `1${'0'.repeat(37)}`,
    `0.${'0'.repeat(37)}1`,
    null,
  ];
  const back = await roundTrip('n', (writer, value) => writer.numeric(value), values);
  expect(back).toEqual(values);
  const { rows } = await pool.query('SELECT n = (n::text)::numeric AS same FROM all_types WHERE n IS NOT NULL');
  expect(rows.every((row) => row.same)).toBe(true);
});

test('arrays: empty, with nulls, long', async () => {
  const texts = [
    [],
    [null],
    ['a', null, '', '😀', 'NULL', '{}'],
    Array.from({ length: 5_000 }, (_, n) => `w${n}`),
    null,
  ];
  expect(await roundTrip('ta', (writer, value) => writer.textArray(value), texts)).toEqual(texts);
  const floats = [[], [null], [0.1, null, -2, Number.MAX_VALUE], Array.from({ length: 5_000 }, (_, n) => n / 7), null];
  expect(await roundTrip('fa', (writer, value) => writer.float8Array(value), floats)).toEqual(floats);
});

test('a refused copy rejects and leaves the connection usable', async () => {
  const writer = new BinaryCopyWriter();
  writer.row(1);
  writer.jsonb('{not json');
  await expect(inTransaction(pool, 'test', (client) => writer.send(client, 'all_types (j)'))).rejects.toMatchObject({
    code: 'DATABASE_ERROR',
    kind: 'terminal',
  });
  expect((await pool.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
});
