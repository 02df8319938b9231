/** Migrations against what analysts and administrators do: open transactions, schemas made beforehand. */
import { expect, onTestFinished, test } from 'vitest';
import { checkPostgresAccess } from '../../../src/warehouse/postgres/index.ts';
import { createPostgresWarehouse } from '../../../src/warehouse/postgres/warehouse.ts';
import { openPostgres } from '../../support/open-postgres.ts';
import { connect, roleForTest } from '../../support/postgres.ts';
import { refusal } from '../../support/refusal.ts';
import { makeBatch, makeCall, makeTombstone } from '../batches.ts';
import { describeOpenTransaction } from './open-transaction-cases.ts';

describeOpenTransaction({ seconds: 0 });

const config = { schema: 'calls', documents: true } as const;
/** Until the end of the test. */
const start = async () => {
  const opened = await openPostgres(config);
  onTestFinished(opened.close);
  return opened;
};

test('a column that a newer version needs waits for an open transaction with an error that says so', async () => {
  const { database, admin, open } = await start();
  await open().migrate();
  await admin.query('ALTER TABLE calls.calls DROP COLUMN dept');
  const analyst = await connect(database.url);
  await analyst.query('BEGIN; SELECT count(*) FROM calls.calls');
  await expect(open().migrate()).rejects.toMatchObject({ kind: 'transient', code: 'DATABASE_LOCKED' });
  await analyst.end();
  await open().migrate();
  await open().load(makeBatch({ calls: [makeCall({ callId: 'c-1' })] }));
});

test('a migration that finds everything in place changes nothing, not even the catalogue', async () => {
  const { admin, open } = await start();
  await open().migrate();
  const snapshot = `SELECT (SELECT json_agg(d ORDER BY d.objoid, d.objsubid) FROM (SELECT xmin, * FROM pg_description) d)::text AS a,
    (SELECT json_agg(c ORDER BY c.oid) FROM (SELECT xmin, oid FROM pg_class WHERE relnamespace = 'calls'::regnamespace) c)::text AS b`;
  const before = (await admin.query(snapshot)).rows;
  await open().migrate();
  expect((await admin.query(snapshot)).rows).toEqual(before);
});

test('loads into young tables keep to their indexes, and nobody keeps samples of what was said', async () => {
  const { database, admin } = await start();
  const warehouse = createPostgresWarehouse({ name: 'pg', url: database.url, config });
  await warehouse.migrate();
  for (const first of [0, 200]) {
    const calls = Array.from({ length: 200 }, (_, n) => makeCall({ callId: `c-${first + n}` }));
    await warehouse.load(makeBatch({ calls }));
  }
  // The server counts what a session did at its end. The one scan made the primary key.
  await warehouse.close();
  const counted = `SELECT relname AS name, seq_scan::int AS all, n_tup_ins::int AS added, coalesce(idx_tup_fetch, 0)::int AS read
    FROM pg_stat_user_tables WHERE relname IN ('changes', 'utterances') ORDER BY relname`;
  // None of the new calls is there, and a load does not look at others.
  await expect
    .poll(async () => (await admin.query(counted)).rows)
    .toEqual([
      { name: 'changes', all: 1, added: 400, read: 0 },
      { name: 'utterances', all: 1, added: 800, read: 0 },
    ]);
  const { rows } = await admin.query(`SELECT attstattarget AS target, array_agg(attname::text ORDER BY attnum) AS names
    FROM pg_attribute WHERE attrelid = 'calls.utterances'::regclass AND attnum > 0 GROUP BY 1 ORDER BY 1`);
  const unsampled = ['content', 'word_values', 'word_starts', 'word_lengths', 'word_scores'];
  expect(rows).toEqual([{ target: 0, names: unsampled }, expect.objectContaining({ target: 30 })]);
});

test('a schema made beforehand is used by a user that may create in it, and in nothing else', async () => {
  const { database, admin, open } = await start();
  await admin.query('CREATE SCHEMA calls');
  const { url } = await roleForTest(database, (role) => `GRANT USAGE, CREATE ON SCHEMA calls TO ${role}`);
  const message = await checkPostgresAccess({ name: 'pg', url, config });
  expect(message).toContain('may create, write and read in schema calls');
  await open({ url }).migrate();
  expect(await open({ url }).load(makeBatch({ calls: [makeCall({ callId: 'c-1' })] }))).toMatchObject({ changed: 1 });
});

test.each([
  ['an identity', 'row_no bigint GENERATED ALWAYS AS IDENTITY'],
  ['a default', "region text NOT NULL DEFAULT 'eu'"],
  ['a computation', 'size integer NOT NULL GENERATED ALWAYS AS (word_count * 2) STORED'],
])('a required column with %s, which an owner adds to every table of calls, stops no load', async (_, column) => {
  const { admin, open } = await start();
  await open().migrate();
  for (const table of ['calls', ...(column.includes('word_count') ? [] : ['utterances', 'tags', 'changes'])])
    await admin.query(`ALTER TABLE calls.${table} ADD COLUMN ${column}`);
  const warehouse = open();
  await warehouse.migrate();
  expect(await warehouse.load(makeBatch({ calls: [makeCall({ callId: 'c-1' })] }))).toMatchObject({ changed: 1 });
  expect(await warehouse.load(makeBatch({ tombstones: [makeTombstone('c-1', 2, [])] }))).toMatchObject({ changed: 1 });
});

test.each<[string, RegExp?]>([
  ['tags ADD reviewer text NOT NULL', / DATABASE_REFUSED: .*SQLSTATE 23502.*tags, column reviewer.*give it a DEFAULT/],
  ['calls ALTER visit TYPE text'],
  ['calls ALTER duration TYPE numeric(6,1)'],
  ['calls ALTER call_timestamp TYPE date'],
  ['calls ALTER status TYPE calls.sort USING NULL', /^qualified$/],
  ['tags ALTER type TYPE calls.sort USING NULL', /^bool$/],
  ['tags ALTER display_name TYPE varchar(5)', /^Tag 0$/],
  ['tags ALTER call_timestamp TYPE timestamp', /^2026-01-05 10:00:00.123456$/],
  ['tags ALTER value TYPE text'],
  ['tags ALTER tag_index TYPE bigint'],
  ['changes ALTER call_timestamp TYPE date'],
])('ALTER TABLE %s of an owner leads to no wrong value in silence', async (change, expected) => {
  const { admin, open } = await start();
  const { migrate, load } = open();
  await migrate().then(() => load(makeBatch({}))); // The connection knows the old types, until an attempt fails.
  await admin.query(`CREATE TYPE calls.sort AS ENUM ('qualified', 'bool'); ALTER TABLE calls.${change}`);
  const batch = makeBatch({ calls: [makeCall({ callId: 'c-1' })] });
  const said = [await refusal(load(batch)), await refusal(load(batch))][1];
  const [table, , column] = change.split(' ');
  const { rows } = await admin.query(`SELECT ${column}::text AS value FROM calls.${table}`);
  const retyped = `DATABASE_CONFLICT: .*another type .*42804, .*column ${table}.${column}\\).*Change its type back`;
  expect(rows[0]?.value ?? said).toMatch(expected ?? new RegExp(retyped));
});
