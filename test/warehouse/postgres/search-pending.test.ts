/** Calls between their load and their documents: whatever happens beside, they are found, changed or gone. */
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { createLoader } from '../../../src/warehouse/postgres/load.ts';
import {
  catchUp,
  indexTakenSql,
  prepareStepSql,
  takePendingSql,
} from '../../../src/warehouse/postgres/search-catch-up.ts';
import { createSearchIndexer } from '../../../src/warehouse/postgres/search-indexer.ts';
import { createPostgresWarehouse } from '../../../src/warehouse/postgres/warehouse.ts';
import type { LoadBatch, Warehouse } from '../../../src/warehouse/warehouse.ts';
import { createDatabase, type TestDatabase } from '../../support/postgres.ts';
import { makeBatch, makeTombstone } from '../batches.ts';
import { findAll, type Spoken, spoken } from './spoken-calls.ts';

const config = { schema: 'calls', documents: false } as const;
let database: TestDatabase;
let admin: pg.Client;
let pool: pg.Pool;
let warehouse: Warehouse;
const begun = new Set<pg.PoolClient>();
const told: unknown[] = [];
const opened: Warehouse[] = [];

beforeAll(async () => {
  database = await createDatabase();
  admin = new pg.Client({ connectionString: database.url });
  await admin.connect();
  pool = new pg.Pool({ connectionString: database.url, options: '-c search_path=calls' });
  warehouse = open();
  await warehouse.migrate();
});
beforeEach(async () => {
  told.length = 0;
  await warehouse.search.drop();
  await admin.query('TRUNCATE calls.calls, calls.utterances, calls.tombstones');
  await warehouse.search.create();
});
afterEach(async () => {
  // What a test that failed has left open would hold up all others.
  for (const client of begun) client.release(true);
  begun.clear();
  await admin.query('DROP FUNCTION IF EXISTS calls.made_document');
});
afterAll(async () => {
  await Promise.all(opened.map((one) => one.close()));
  await pool.end();
  await admin.end();
  await database.drop();
});

const open = (url = database.url): Warehouse => {
  const one = createPostgresWarehouse({ name: 'pg', url, config, warn: (error) => told.push(error) });
  opened.push(one);
  return one;
};

const says = (callId: string, said: string, revision = 1): Spoken => ({ callId, revision, says: [['out', said]] });
const batchOf = (...calls: readonly Spoken[]): LoadBatch => makeBatch({ calls: calls.map(spoken) });
const erasure = (callId: string): LoadBatch => makeBatch({ tombstones: [makeTombstone(callId, 9, [])] });

const begin = async (work: (client: pg.PoolClient) => Promise<unknown>) => {
  const client = await pool.connect();
  begun.add(client);
  await client.query('BEGIN');
  await work(client);
  const end = async (how: 'COMMIT' | 'ROLLBACK') => {
    await client.query(how);
    begun.delete(client);
    client.release();
  };
  return { client, commit: () => end('COMMIT'), rollBack: () => end('ROLLBACK') };
};
/** A load that is open until it is told to end, of a process that indexes nothing after it. */
const beginLoad = (batch: LoadBatch) => begin((client) => createLoader(config)(client, batch));
const loadOnly = async (...calls: readonly Spoken[]) => (await beginLoad(batchOf(...calls))).commit();

/** A step of indexing that has made its documents, and has its calls still to take off those that are pending. */
const beginStep = async () => {
  let takeOff = async (): Promise<unknown> => undefined;
  const step = await begin(async (client) => {
    const { rows } = await client.query<{ call_id: string }>(takePendingSql(config, 'order'), ['', 100]);
    const [last = '', ...others] = indexTakenSql(config).toReversed();
    const ids = [rows.map((row) => row.call_id)];
    for (const sql of others.toReversed()) await client.query(sql, ids);
    takeOff = () => client.query(last, ids);
  });
  return { ...step, commit: () => takeOff().then(step.commit) };
};
const indexPending = () => catchUp({ pool, purpose: 'warehouse pg', layout: config });

const find = async (text: string): Promise<string[]> =>
  (await findAll(warehouse, { text, limit: 1_000 })).calls.map(({ callId }) => callId).sort();

const idsIn = async (table: string, db: pg.Client | pg.PoolClient = admin): Promise<string[]> => {
  const { rows } = await db.query(`SELECT DISTINCT call_id FROM calls.${table} ORDER BY call_id`);
  return rows.map((row: { call_id: string }) => row.call_id);
};
const held = async (db?: pg.PoolClient) => ({
  indexed: await idsIn('transcript_search', db),
  pending: await idsIn('transcript_search_pending', db),
});

const isWaiting = async (): Promise<boolean> =>
  (await admin.query(`SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`))
    .rowCount === 1;

const hasGivenUp = async (): Promise<boolean> =>
  (
    await admin.query(
      `SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'callsync warehouse'
          AND state = 'idle' AND query = 'ROLLBACK'`,
    )
  ).rowCount !== 0;

/** Documents are made by a function that first does something else. */
const beforeDocuments = (sql: string) =>
  admin.query(`ALTER FUNCTION calls.transcript_document(text, text) RENAME TO made_document;
    CREATE FUNCTION calls.transcript_document(language text, content text, OUT document tsvector, OUT clipped boolean) LANGUAGE plpgsql AS
      $$ BEGIN ${sql}; SELECT * INTO document, clipped FROM calls.made_document(language, content); END $$`);
const afterDocuments = () =>
  admin.query(`DROP FUNCTION calls.transcript_document(text, text);
    ALTER FUNCTION calls.made_document(text, text) RENAME TO transcript_document`);

test('a load makes no documents in its transaction, and a search alone finds what it brought', async () => {
  const load = await beginLoad(batchOf(says('a', 'bonjour'), says('b', 'bonjour'), { callId: 'silent', says: [] }));
  expect(await held(load.client)).toEqual({ indexed: [], pending: ['a', 'b'] });
  await load.commit();
  expect(await warehouse.search.status()).toMatchObject({ state: 'ready', calls: 0, pending: 2 });
  expect(await warehouse.search.find({ text: 'bonjour', limit: 20 })).toMatchObject({ pending: 0 });
  expect(await find('bonjour')).toEqual(['a', 'b']);
  expect(await held()).toEqual({ indexed: ['a', 'b'], pending: [] });
  const again = await beginLoad(batchOf(says('a', 'au revoir', 2)));
  expect(await held(again.client)).toEqual({ indexed: ['b'], pending: ['a'] });
  await again.rollBack();
  expect(await held()).toEqual({ indexed: ['a', 'b'], pending: [] });
  expect(await find('bonjour')).toEqual(['a', 'b']);
});

test('who has loaded indexes in the background; what closing leaves is found by a search', async () => {
  const many = Array.from({ length: 350 }, (_, at) => says(`c${at}`, 'bonjour'));
  const loader = createPostgresWarehouse({ name: 'pg', url: database.url, config, warn: (error) => told.push(error) });
  await loader.load(batchOf(says('a', 'bonjour')));
  await expect.poll(held, { timeout: 30_000 }).toEqual({ indexed: ['a'], pending: [] });
  await loader.load(batchOf(...many));
  await loader.close();
  const left = await held();
  expect(left.indexed.length + left.pending.length).toBe(351);
  expect(await find('bonjour')).toHaveLength(351);
  expect(told).toEqual([]);
});

test('what a process left that ended is indexed by the next one', async () => {
  await loadOnly(says('a', 'bonjour'));
  await open().migrate();
  await expect.poll(held, { timeout: 30_000 }).toEqual({ indexed: ['a'], pending: [] });
});

test('what could not be indexed because somebody held a row is indexed once it is free, without another load', async () => {
  const holder = await begin((client) =>
    client.query(`INSERT INTO calls.transcript_search VALUES ('a', 'out', now(), 'french', false, '')`),
  );
  await warehouse.load(batchOf(says('a', 'bonjour')));
  await expect.poll(hasGivenUp, { timeout: 30_000 }).toBe(true);
  await holder.rollBack();
  await expect.poll(held, { timeout: 30_000 }).toEqual({ indexed: ['a'], pending: [] });
  expect(told).toEqual([]);
});

test('a search indexes what is pending when it begins, and runs after nothing that is loaded meanwhile', async () => {
  await loadOnly(says('a', 'bonjour'), says('b', 'bonjour'));
  await indexPending();
  await loadOnly(says('a', 'bonjour', 2));
  await admin.query('CREATE SEQUENCE calls.documents_made');
  await beforeDocuments(`PERFORM nextval('calls.documents_made');
    INSERT INTO calls.transcript_search_pending VALUES ('a'), ('b') ON CONFLICT DO NOTHING`);
  expect(await warehouse.search.find({ text: 'bonjour', limit: 20 })).toMatchObject({ pending: 1 });
  const { rows } = await admin.query('SELECT last_value::int AS n FROM calls.documents_made');
  await afterDocuments();
  await admin.query('DROP SEQUENCE calls.documents_made');
  expect(rows).toEqual([{ n: 1 }]);
});

test('a step that is heard of no more loses its locks within seconds', async () => {
  const { rows } = await admin
    .query(
      `BEGIN; ${prepareStepSql}; SELECT current_setting('idle_in_transaction_session_timeout') AS idle, current_setting('statement_timeout') AS busy; COMMIT`,
    )
    .then((results) => (results as unknown as pg.QueryResult[])[2] as pg.QueryResult);
  expect(rows).toEqual([{ idle: '10s', busy: '10s' }]);
});

test('what is erased, removed or changed is neither indexed nor pending from its commit on, nor is it when nothing is left', async () => {
  await loadOnly(...['a', 'b', 'c', 'd', 'e'].map((callId) => says(callId, 'bonjour')));
  await indexPending();
  await loadOnly(says('p', 'bonjour'), says('q', 'bonjour'));
  await (await beginLoad(erasure('a'))).commit();
  await (await beginLoad(erasure('p'))).commit();
  await (await beginLoad(batchOf({ callId: 'b', revision: 2, says: [] }))).commit();
  expect(await held()).toEqual({ indexed: ['c', 'd', 'e'], pending: ['q'] });
  const guards = [];
  for await (const guard of warehouse.listGuards({ callIds: ['c', 'q'] })) guards.push(guard);
  await warehouse.removeCalls(guards);
  expect(await held()).toEqual({ indexed: ['d', 'e'], pending: [] });
  await admin.query(`DELETE FROM calls.calls WHERE call_id = 'd'`);
  await warehouse.removeOrphans(['d']);
  expect(await held()).toEqual({ indexed: ['e'], pending: [] });
  await loadOnly({
    callId: 'two',
    says: [
      ['out', 'bonjour'],
      ['out', 'encore'],
    ],
  });
  await indexPending();
  await admin.query(`DELETE FROM calls.utterances WHERE call_id = 'two' AND utterance_index = 0`);
  expect(await held()).toEqual({ indexed: ['e'], pending: ['two'] });
  expect(await find('bonjour')).toEqual(['e']);
  expect(await find('encore')).toEqual(['two']);
  await admin.query('TRUNCATE calls.utterances');
  expect(await held()).toEqual({ indexed: [], pending: [] });
});

test('a load that is open while others index is passed over, and what it changes is found once it commits', async () => {
  await loadOnly(says('x', 'bonjour'));
  await indexPending();
  await loadOnly(says('y', 'bonjour'), says('z', 'bonjour'));
  const reload = await beginLoad(batchOf(says('x', 'salut', 2), says('y', 'salut', 2)));
  // Of x, the search sees neither that it is pending nor that it is not indexed any more.
  expect(await warehouse.search.find({ text: 'bonjour', limit: 20 })).toMatchObject({
    calls: [{ callId: 'x' }, { callId: 'z' }],
    pending: 1,
  });
  await reload.commit();
  expect(await held()).toEqual({ indexed: ['z'], pending: ['x', 'y'] });
  expect(await find('bonjour')).toEqual(['z']);
  expect(await find('salut')).toEqual(['x', 'y']);
});

const deletion = `DELETE FROM calls.utterances WHERE call_id = 'x'`;

/** Each with the calls that say `salut` after it; `bonjour` says only the other one. */
const changes: Readonly<Record<string, readonly [() => Promise<unknown>, readonly string[]]>> = {
  'a reload': [() => warehouse.load(batchOf(says('x', 'salut', 2))), ['x']],
  'an erasure': [() => warehouse.load(erasure('x')), []],
  'an update by hand': [() => pool.query(`UPDATE calls.utterances SET content = 'salut' WHERE call_id = 'x'`), ['x']],
  'a deletion by hand': [() => pool.query(deletion), []],
  'an update by hand that gives its utterances to another call': [
    () => pool.query(`UPDATE calls.utterances SET call_id = 'nobody' WHERE call_id = 'x'`),
    [],
  ],
};

for (const [name, [change, salut]] of Object.entries(changes)) {
  test(`${name} that comes while its call is being indexed waits, and takes the documents away`, async () => {
    await loadOnly(says('x', 'bonjour'), says('y', 'bonjour'));
    const step = await beginStep();
    const changing = change();
    await expect.poll(isWaiting, { timeout: 30_000 }).toBe(true);
    await step.commit();
    await changing;
    expect(await find('bonjour')).toEqual(['y']);
    expect(await find('salut')).toEqual(salut);
    expect(await held()).toEqual({ indexed: [...salut, 'y'], pending: [] });
  });
}

test('a deletion that cannot see what was indexed since its snapshot leaves the call pending, so that a search takes it out', async () => {
  await loadOnly(says('x', 'bonjour'), says('y', 'bonjour'));
  const old = await begin((client) => client.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ'));
  await held(old.client);
  await indexPending();
  await old.client.query(deletion);
  await old.commit();
  expect(await find('bonjour')).toEqual(['y']);
  expect(await held()).toEqual({ indexed: ['y'], pending: [] });
});

test('a call that is loaded again while a search is under way is found as it was', async () => {
  await loadOnly(says('x', 'bonjour'));
  await indexPending();
  // A phrase is read by the function that makes documents, after what is pending was counted.
  await beforeDocuments('WHILE NOT pg_try_advisory_xact_lock_shared(7) LOOP PERFORM pg_sleep(0.01); END LOOP');
  await admin.query('SELECT pg_advisory_lock(7)');
  const finding = warehouse.search.find({ text: '"bonjour"', limit: 20 });
  const isSearching = async () =>
    (
      await admin.query(
        `SELECT FROM pg_stat_activity WHERE datname = current_database() AND state = 'active' AND query LIKE 'WITH RECURSIVE l%'`,
      )
    ).rowCount === 1;
  await expect.poll(isSearching, { timeout: 30_000 }).toBe(true);
  await loadOnly(says('x', 'salut', 2));
  await admin.query('SELECT pg_advisory_unlock(7)');
  expect(await finding).toMatchObject({ calls: [{ callId: 'x', hits: [{ text: 'bonjour' }] }], pending: 0 });
  await afterDocuments();
});

test('an index that is made while an erasure is under way holds nothing of the erased call', async () => {
  await warehouse.search.drop();
  await loadOnly(says('x', 'bonjour'), says('y', 'bonjour'));
  const erasing = await begin((client) => client.query(`SELECT FROM calls.calls WHERE call_id = 'x' FOR UPDATE`));
  const creating = warehouse.search.create();
  await expect.poll(isWaiting, { timeout: 30_000 }).toBe(true);
  await createLoader(config)(erasing.client, erasure('x'));
  await erasing.commit();
  await creating;
  expect(await held()).toEqual({ indexed: ['y'], pending: [] });
});

test('several who index at once share the work: every call is indexed, and none twice', async () => {
  const calls = Array.from({ length: 330 }, (_, at) => says(`c${at}`, 'bonjour'));
  await loadOnly(...calls);
  const shares = await Promise.all([indexPending(), indexPending(), indexPending()]);
  expect(shares.reduce((sum, { indexed }) => sum + indexed, 0)).toBe(330);
  expect(shares.filter(({ failed }) => failed.length > 0)).toEqual([]);
  expect(await held()).toMatchObject({ indexed: { length: 330 }, pending: [] });
});

const refuse = (state: string) =>
  beforeDocuments(`IF content LIKE '%mauvais%' THEN RAISE 'no' USING ERRCODE = '${state}'; END IF`);

test.each([
  ['cannot be made', 'P0001'],
  ['takes more memory than there is', '53200'],
  ['needs a file that is not there', '58P01'],
])('a call whose document %s fails no load, holds up no other call, stays pending, and is told', async (_, state) => {
  // Who has not told of one yet.
  const loading = open();
  await refuse(state);
  const batch = batchOf(says('a', 'bonjour'), says('b', 'bonjour mauvais'), says('c', 'bonjour'));
  expect(await loading.load(batch)).toMatchObject({ changed: 3 });
  await expect.poll(held, { timeout: 30_000 }).toEqual({ indexed: ['a', 'c'], pending: ['b'] });
  await expect.poll(() => told, { timeout: 30_000 }).toMatchObject([{ code: 'SEARCH_DOCUMENT' }]);
  await loading.load(batchOf(says('d', 'bonjour')));
  const { calls, pending } = await warehouse.search.find({ text: 'bonjour', limit: 20 });
  expect([calls.map(({ callId }) => callId), pending]).toEqual([['a', 'c', 'd'], 1]);
  expect(await warehouse.search.status()).toMatchObject({ calls: 3, pending: 1 });
  await afterDocuments();
  expect(await find('bonjour')).toEqual(['a', 'b', 'c', 'd']);
});

test('what the server lacks for many calls ends a pass: it is not the fault of them', async () => {
  await loadOnly(says('a', 'bonjour'), ...Array.from({ length: 12 }, (_, at) => says(`b${at}`, 'mauvais')));
  await refuse('53100');
  await expect(indexPending()).rejects.toMatchObject({ kind: 'transient', cause: { code: '53100' } });
  expect(await held()).toMatchObject({ indexed: ['a'], pending: { length: 12 } });
  await afterDocuments();
});

test('an index that is dropped while it is caught up with is nothing to tell of', async () => {
  await loadOnly(says('a', 'bonjour'));
  let isDropped = false;
  const dropping = async (sql: string, values: unknown[]) => {
    const found = await pool.query(sql, values);
    if (!isDropped) await warehouse.search.drop();
    isDropped = true;
    return found;
  };
  const indexer = createSearchIndexer({
    ...{ pool, purpose: 'warehouse pg', layout: config, warn: (error) => told.push(error) },
    loads: { query: dropping } as unknown as pg.Pool,
  });
  indexer.wake();
  await expect.poll(() => isDropped, { timeout: 30_000 }).toBe(true);
  await indexer.stop();
  expect(told).toEqual([]);
});

test('who makes an index that another one makes waits for it', async () => {
  await warehouse.search.drop();
  await loadOnly(...Array.from({ length: 600 }, (_, at) => says(`c${at}`, 'bonjour')));
  let waiting = 0;
  const make = (one: Warehouse) => one.search.create({ onWait: () => (waiting += 1) });
  await Promise.all([make(warehouse), make(open())]);
  expect(waiting).toBe(1);
  expect(await warehouse.search.status()).toMatchObject({ state: 'ready', calls: 600, pending: 0 });
});

test('who lacks a right to search is told what to grant', async () => {
  await loadOnly(says('a', 'bonjour'));
  await indexPending();
  const role = `searcher_${process.pid}_${Date.now()}`;
  await admin.query(
    `CREATE ROLE ${role}; GRANT USAGE ON SCHEMA calls TO ${role}; GRANT SELECT ON calls.transcript_search TO ${role}`,
  );
  try {
    const url = new URL(database.url);
    url.searchParams.set('options', `-c role=${role}`);
    const { search } = open(url.href);
    for (const asked of [() => search.find({ text: 'bonjour', limit: 20 }), search.status])
      await expect(asked()).rejects.toMatchObject({
        code: 'DATABASE_PERMISSION',
        hint: expect.stringMatching(/callsync grants .* schema calls, SELECT on all its tables/),
      });
    await admin.query(
      `GRANT SELECT ON ALL TABLES IN SCHEMA calls TO ${role}; GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA calls TO ${role}`,
    );
    expect(await search.find({ text: 'bonjour', limit: 20 })).toMatchObject({ calls: [{ callId: 'a' }] });
  } finally {
    await admin.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
  }
});

test('who may only read searches what is indexed, and is told how many calls are pending', async () => {
  await loadOnly(says('a', 'bonjour'));
  await indexPending();
  await loadOnly(says('b', 'bonjour'));
  const role = `reader_${process.pid}_${Date.now()}`;
  await admin.query(
    `CREATE ROLE ${role}; GRANT USAGE ON SCHEMA calls TO ${role}; GRANT SELECT ON ALL TABLES IN SCHEMA calls TO ${role}`,
  );
  try {
    for (const setting of [`role=${role}`, 'default_transaction_read_only=on']) {
      const url = new URL(database.url);
      url.searchParams.set('options', `-c ${setting}`);
      expect(await open(url.href).search.find({ text: 'bonjour', limit: 20 }), setting).toMatchObject({
        calls: [{ callId: 'a' }],
        pending: 1,
      });
    }
  } finally {
    await admin.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
  }
  expect(await find('bonjour')).toEqual(['a', 'b']);
});
