import { createHash } from 'node:crypto';
import { describe, expect, onTestFinished, test } from 'vitest';
import { runMaintenance } from '../../src/pipeline/load/maintenance.ts';
import { listRereads, requestRereads, settleReplayed, settleRereads } from '../../src/store/delivery/inbox.ts';
import { quarantineRecords, resanitizeInbox } from '../../src/store/delivery/quarantine.ts';
import { issueEpoch } from '../../src/store/loads/warehouses.ts';
import { eraseCalls, eraseKnown, expireCalls } from '../../src/store/persons/calls.ts';
import { purgeBodiesBefore } from '../../src/store/persons/texts.ts';
import { expireRows } from '../../src/store/retention.ts';
import { joinCounters, readCounters } from '../../src/store/status/counters.ts';
import { recordEvent } from '../../src/store/status/events.ts';
import { migrateStore, openStore, recreateStore, type Store } from '../../src/store/store.ts';
import { checkPostgresAccess } from '../../src/warehouse/postgres/index.ts';
import { aroundStatements, deliver, retention, untilBlocked, usePipeline } from '../support/pipeline.ts';
import { connect, databaseForTest, roleForTest, runOnServer } from '../support/postgres.ts';
import { column } from '../support/rows.ts';

const pipeline = usePipeline();
const store = () => pipeline.store;

const open = async (url: string, more: Partial<Parameters<typeof openStore>[0]> = {}): Promise<Store> => {
  const opened = await openStore({ url, max: 2, ...more });
  onTestFinished(() => opened.close());
  return opened;
};

test('opening by many at once migrates once, needs no tombstone key at first, and issues no epoch twice', async () => {
  const { url } = await databaseForTest();
  const [first] = (await Promise.all(Array.from({ length: 6 }, () => open(url)))) as [Store];
  expect(await migrateStore(first)).toBe(false);
  expect(await first.epoch()).toBe(0);
  expect(() => first.keyOf('c')).toThrow(expect.objectContaining({ code: 'TOMBSTONE_KEY' }));
  const epochs = await Promise.all(Array.from({ length: 6 }, () => issueEpoch(first, 'test', 0)));
  expect(new Set(epochs).size).toBe(6);
  expect(await first.epoch()).toBe(Math.max(...epochs));
});

test.each(['LATIN1', 'SQL_ASCII'])('opening: a database of the encoding %s is refused', async (encoding) => {
  const { url, adminUrl } = await databaseForTest();
  const name = `${new URL(url).pathname.slice(1)}_${encoding.toLowerCase()}`;
  const how = `ENCODING '${encoding}' LOCALE_PROVIDER libc LOCALE 'C' TEMPLATE template0`;
  await runOnServer(adminUrl, `CREATE DATABASE ${name} OWNER callsync ${how}`);
  onTestFinished(async () => void (await runOnServer(adminUrl, `DROP DATABASE ${name} WITH (FORCE)`)));
  const other = new URL(`/${name}`, url).href;
  const refusal = { code: 'DATABASE_ENCODING', kind: 'terminal', message: expect.stringContaining(encoding) };
  await expect(openStore({ url: other })).rejects.toMatchObject(refusal);
  const warehouse = { name: 'main', url: other, config: { schema: 'calls', documents: false } };
  await expect(checkPostgresAccess(warehouse)).rejects.toMatchObject(refusal);
});

test('opening: events and counters of a store in another schema stay there', async () => {
  const { url } = await databaseForTest();
  const stores = [await open(url), await open(url, { schema: 'other_store' })] as const;
  await recordEvent(stores[1], { kind: 'hold', what: 'a hold', actor: null });
  await deliver(stores[1], [{ body: '{}' }]);
  for (const [counted, store] of stores.entries()) {
    expect(await store.query("SELECT kind FROM events WHERE kind = 'hold'")).toHaveLength(counted);
    expect(await store.query('SELECT seq FROM inbox')).toHaveLength(counted);
    expect((await readCounters(store)).get('deliveries:pending') ?? 0).toBe(counted);
  }
});

test('every call id is under one collation: an index under another serves no join', async () => {
  const ids = `FROM information_schema.columns WHERE table_schema = 'callsync' AND column_name = 'call_id'`;
  expect(await column(store(), `SELECT DISTINCT collation_name ${ids}`)).toEqual(['C']);
});

test('opening refuses a process with another key, also of two at once; a former key is taken', async () => {
  const { url } = await databaseForTest();
  const named = { name: 'store.proof_key', file: 'proof.key', code: 'PROOF_KEY' } as const;
  const openUnder = (text: string, ...texts: string[]): Promise<Store> => {
    const [bytes, former] = [Buffer.from(text), texts.map((one) => Buffer.from(one))];
    return open(url, { keys: () => [{ ...named, bytes, former }] });
  };
  const [first, second] = [await openUnder('one'), await openUnder('two')];
  const [later, other] = [await openUnder('two', 'one', 'two'), await openUnder('three')];
  const outcomes = await Promise.allSettled([first.checkKeys(), second.checkKeys()]);
  expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  await later.checkKeys();
  await first.checkKeys().catch(() => undefined);
  await later.checkKeys();
  const refusal = { code: 'PROOF_KEY', kind: 'terminal', message: expect.stringContaining('proof.key') };
  await expect(other.checkKeys()).rejects.toMatchObject(refusal);
});

test('a dropped store is not made anew by a worker with its own role while another one restores it', async () => {
  const database = await databaseForTest();
  const name = new URL(database.url).pathname.slice(1);
  const { url } = await roleForTest(database, (role) => `GRANT ALL ON DATABASE ${name} TO ${role}`);
  const owner = await connect(`${database.url}?application_name=pg_restore`);
  onTestFinished(() => owner.end());
  const worker = await open(url);
  await worker.query('DROP SCHEMA callsync CASCADE');
  await owner.query('BEGIN; SELECT 1');
  expect(await recreateStore(worker)).toBe(false);
  await owner.end();
  await expect.poll(() => recreateStore(worker)).toBe(true);
});

const ids = async () => (await listRereads(store(), 10)).map((one) => one.callId);

test('calls are reread once for many requests; a request that comes during the answer stays', async () => {
  await requestRereads(store(), ['b', 'a', 'b'], 'repeat');
  await requestRereads(store(), [], 'repeat');
  const listed = await listRereads(store(), 10);
  expect((await ids()).sort()).toEqual(['a', 'b']);
  await requestRereads(store(), ['a'], 'repeat');
  await settleRereads(store(), { done: listed });
  expect(await ids()).toEqual(['a']);
  await settleRereads(store(), { done: await listRereads(store(), 10) });
  expect(await ids()).toEqual([]);
});

/** As PostgreSQL ends one of two that wait for each other. */
describe('deliveries and texts are locked in one order', () => {
  /** Three deliveries of three calls, which lie in the table in the order of neither their numbers nor their calls. */
  const deliverThree = async (name: string, outcome: string): Promise<readonly [number[], string[]]> => {
    const ids = [1, 2, 3].map((n) => `${name}-${n}`);
    const deliveries = ids.map((id) => ({ body: { unique_id: id }, receivedAt: new Date(0) }));
    const seqs = await deliver(store(), deliveries);
    for (const [at, seq] of [...seqs.entries()].reverse())
      await store().query('UPDATE inbox SET outcome = $2, call_id = $3 WHERE seq = $1', [seq, outcome, ids[at]]);
    const insert = `INSERT INTO ledger (call_id, revision, call_timestamp) SELECT id, 1, 'epoch'`;
    await store().query(`${insert} FROM unnest($1::text[]) AS id`, [ids]);
    return [seqs, ids.reverse()];
  };
  /** The answer of `work` while somebody else holds the middle one; it goes on when so many wait. */
  const besideHolder = async <T>(held: string, waiting: number, work: () => Promise<T>): Promise<T> => {
    let working: Promise<T> | undefined;
    await store().transaction(async (holder) => {
      expect(await holder.query(`SELECT FROM ${held} FOR UPDATE`)).toHaveLength(1);
      working = work();
      await untilBlocked(store(), working, waiting);
    });
    return await (working as unknown as Promise<T>);
  };
  const settleReplay = (ids: readonly string[]): Promise<void> => {
    const hashOf = (id: string) => createHash('sha256').update(`{"unique_id":"${id}"}`).digest();
    const replayed = ids.map((callId) => ({ callId, bodyHash: hashOf(callId) }));
    return settleReplayed(store(), replayed, store().keyOf);
  };
  const apply = () => resanitizeInbox(store(), (body) => ({ body, bodyHash: Buffer.alloc(32) }), 'v2');

  test.each<[string, string, (ids: readonly string[]) => Promise<unknown>]>([
    ['an erasure', 'accepted', (ids) => eraseCalls(store(), ids)],
    ['an age', 'accepted', () => purgeBodiesBefore(store(), 1)],
    ['a replay of quarantine', 'quarantined', (ids) => settleReplay(ids)],
  ])('by %s as by rules that are applied', async (name, outcome, purge) => {
    const [seqs, ids] = await deliverThree(name, outcome);
    const both = besideHolder(`inbox WHERE seq = ${seqs[1]}`, 2, () => Promise.all([apply(), purge(ids)]));
    await expect(both).resolves.toHaveLength(2);
  });

  test('by a replay behind its calls: what is erased while it waits for its deliveries is not named in them', async () => {
    const [seqs, ids] = await deliverThree('replayed', 'quarantined');
    await store().query('UPDATE inbox SET call_id = NULL');
    let settling: Promise<void> | undefined;
    await besideHolder(`inbox WHERE seq = ${seqs[1]}`, 2, async () => {
      settling = settleReplay(ids);
      await untilBlocked(store(), settling);
      await eraseCalls(store(), ids);
    });
    await settling;
    const outcomes = await column(store(), 'SELECT outcome FROM inbox WHERE call_id IS NOT NULL');
    expect(outcomes).toEqual(ids.map(() => 'accepted'));
    expect(await store().query('SELECT call_id FROM inbox WHERE call_id = ANY($1)', [ids])).toEqual([]);
  });

  test.each<[string, (db: Store) => Promise<unknown>]>([
    ['an erasure', (db) => eraseCalls(db, ['again-1'])],
    ['an erasure that is known', (db) => eraseKnown(db, ['again-1'])],
    ['an age', (db) => expireCalls(db, ['again-1'])],
  ])('and %s that PostgreSQL ends all the same begins again', async (_, erase) => {
    await store().query(`INSERT INTO ledger (call_id, revision, call_timestamp) VALUES ('again-1', 1, 'epoch')`);
    /** While so many of its transactions end with this state. @returns how many there were */
    const attempts = async (state: string, times: number, refusal?: object): Promise<number> => {
      let ended = 0;
      const transaction: Store['transaction'] = (work) =>
        store().transaction(async (tx) => {
          const done = await work(tx);
          ended += 1;
          if (ended <= times) await tx.query(`DO $$ BEGIN RAISE SQLSTATE '${state}'; END $$`);
          return done;
        });
      const erasing = erase({ ...store(), transaction });
      await (refusal === undefined ? erasing : expect(erasing).rejects.toMatchObject(refusal));
      return ended;
    };
    expect(await attempts('40P01', 2)).toBe(3);
    expect(await store().query('SELECT tombstone FROM ledger')).toEqual([{ tombstone: true }]);
    expect(await attempts('40001', 100, { code: 'DATABASE_ERROR', kind: 'transient' })).toBe(5);
    expect(await attempts('22012', 100, { kind: 'terminal' })).toBe(1);
  });

  const openQuarantine = `WITH known AS (INSERT INTO ledger (call_id, last_seen_at) VALUES ('c', now()))
     INSERT INTO quarantine (source, origin, reason, body, received_at, state, settled_at, body_hash, call_id)
     SELECT 'poll', 'o', 'r', '{"unique_id":"c"}', 'epoch', 'open', 'epoch', int4send(n), 'c'`;
  test.each([
    ['bodies', 'inbox', `INSERT INTO inbox (outcome, body, received_at) SELECT 'accepted', 'body', 'epoch'`],
    ['quarantine', 'quarantine', openQuarantine],
  ])('and what others hold is left by what expires to its next run: %s', async (kind, table, insert) => {
    await store().query(`${insert} FROM generate_series(1, 3) AS n`);
    const key = table === 'inbox' ? 'seq' : 'id';
    const rules = { ...retention, delivery_retention: 1e13 };
    const held = `${table} WHERE ${key} = (SELECT min(${key}) + 1 FROM ${table})`;
    expect(await besideHolder(held, 1, () => expireRows(store(), rules))).toMatchObject({ [kind]: 2 });
    expect(await expireRows(store(), rules)).toMatchObject({ [kind]: 1 });
  });
});

const days = 86_400_000;
const query = (sql: string) => pipeline.query(sql);

test('expired are bodies of settled deliveries when they are old, and not before', async () => {
  const old = new Date(Date.now() - 8 * days);
  await deliver(pipeline.store, [{ body: '{}', receivedAt: old }, { body: '{}', receivedAt: old }, { body: '{}' }]);
  await query(`UPDATE inbox SET outcome = 'accepted' WHERE seq <> (SELECT max(seq) - 1 FROM inbox)`);
  expect(await expireRows(store(), retention)).toMatchObject({ bodies: 1, rejected: 0, deliveries: 0 });
  const left = 'SELECT num_nonnulls(body) || num_nonnulls(body_hash)::text FROM inbox ORDER BY seq';
  expect(await column(store(), left), 'bodies and hashes').toEqual(['01', '11', '11']);
});

test('expired are rows of every table that grows, and none that is needed', async () => {
  await store().pool.query(`
    INSERT INTO inbox (received_at, outcome) SELECT now() - interval '8 days', 'rejected' FROM generate_series(1, 1100);
    INSERT INTO inbox (received_at, outcome) VALUES (now() - interval '401 days', 'accepted'),
      (now() - interval '401 days', 'pending'), (now() - interval '401 days', 'repeat'), (now() - interval '399 days', 'accepted');
    INSERT INTO unloaded_deliveries SELECT 'main', outcome = 'rejected', seq FROM inbox WHERE outcome IN ('repeat', 'rejected');
    INSERT INTO quarantine (source, origin, reason, body, received_at, state, settled_at, body_hash, call_id)
      SELECT 'poll', 'o', 'r', '{"unique_id":"came-since"}', now() - interval '91 days', state, now() - interval '31 days', decode(md5(state), 'hex'), 'came-since'
        FROM unnest('{open,replayed,dropped}'::text[]) AS state;
    INSERT INTO ledger (call_id, last_seen_at) VALUES ('came-since', now() - interval '1 day');
    INSERT INTO websocket_frames (session, received_at, is_binary, body)
      SELECT 's', at, false, '' FROM unnest(ARRAY[now() - interval '31 days', now()]) AS at;
    INSERT INTO loads (load_id, warehouse, epoch, flatten_version, origin, calls, state, created_at, committed_at)
      SELECT 'l' || n, 'main', 1, 1, 'test', 1, CASE WHEN n % 4 = 0 THEN 'failed' ELSE 'committed' END,
             now() - interval '40 days' - n * interval '1 minute', CASE WHEN n % 4 <> 0 THEN now() - interval '40 days' - n * interval '1 minute' END
        FROM generate_series(1, 4000) AS n;
    INSERT INTO loads (load_id, warehouse, epoch, flatten_version, origin, calls, created_at)
      VALUES ('open', 'main', 1, 1, 'test', 1, now() - interval '400 days')`);
  expect(await expireRows(store(), retention)).toEqual({
    ...{ bodies: 0, events: 0, removed: 0, problems: 0, rereads: 0, rejected: 1_100, deliveries: 1, quarantine: 1 },
    ...{ replayed: 1, dropped: 1, websocketFrames: 1, loads: 4_000 - Math.floor((2_000 * 4) / 3), verdicts: 0 },
  });
  expect(await query('SELECT outcome FROM inbox ORDER BY seq')).toHaveLength(3);
  expect(await query('SELECT seq FROM unloaded_deliveries')).toHaveLength(1);
  const left = await query(`SELECT state, octet_length(body) AS bytes FROM quarantine`);
  expect(left).toEqual([{ state: 'dropped', bytes: 0 }]);
  expect(await query(`SELECT count(*) AS n FROM loads WHERE state = 'committed'`)).toEqual([{ n: 2_000 }]);
  expect(await query(`SELECT 1 FROM loads WHERE load_id = 'open'`)).toHaveLength(1);
});

test('expired is nothing of quarantine that may be the only copy of a call, or that a hold names', async () => {
  await query(`INSERT INTO ledger (call_id, tombstone, last_seen_at) VALUES ('since', false, now() - interval '1 day'),
      ('before', false, now() - interval '99 days'), ('gone', true, NULL), ('held', false, now())`);
  const put = async (state: string, subject: string, ...bodies: string[]) => {
    for (const body of bodies) {
      const receivedAt = new Date(Date.now() - 91 * days);
      const record = { source: 'poll', origin: 'o', reason: 'r', body: Buffer.from(body), receivedAt } as const;
      await quarantineRecords(store(), [record]);
      const settle = `UPDATE quarantine SET state = $2, settled_at = now() - interval '31 days', subjects = ARRAY[decode($3, 'hex')]`;
      await store().query(`${settle} WHERE body = $1`, [record.body, state, subject]);
    }
  };
  const kept = `SELECT convert_from(body, 'UTF8') FROM quarantine WHERE body <> '' ORDER BY id`;
  const only = ['{"unique_id":"never"}', '{"unique_id" : "before"}', 'no JSON', 'CSX1 sealed'];
  await put('open', '00'.repeat(8), '{"a":1,"unique_id": "since"}', '{"unique_id":"gone","é', ...only);
  const held = 'ab'.repeat(8);
  await put('open', held, '{"unique_id":"held"}');
  await put('replayed', held, 'held, replayed');
  await put('dropped', held, 'held, dropped');
  await query(`INSERT INTO websocket_frames (session, received_at, is_binary, body, subjects)
      VALUES ('s', now() - interval '31 days', false, '', ARRAY[decode('${held}', 'hex')])`);
  await query(`INSERT INTO held_keys (held_key, hold_id, of_call) VALUES ('${held.repeat(4)}', 'h', false)`);
  const expired = () => expireRows(store(), retention);
  expect(await expired()).toMatchObject({ quarantine: 2, replayed: 0, dropped: 0, websocketFrames: 0 });
  expect(await column(store(), kept)).toEqual([...only, '{"unique_id":"held"}', 'held, replayed', 'held, dropped']);
  await query('DELETE FROM held_keys');
  expect(await expired()).toMatchObject({ quarantine: 1, replayed: 1, dropped: 1, websocketFrames: 1 });
  expect(await column(store(), kept)).toEqual(only);
});

test('a step of maintenance that fails keeps no other from its turn, and is told', async () => {
  await store().pool.query(`INSERT INTO inbox (outcome, body, received_at) VALUES ('accepted', 'body', 'epoch');
      INSERT INTO loads (load_id, warehouse, epoch, flatten_version, origin, calls, created_at)
      VALUES ('open', 'main', 1, 1, 'test', 1, 'epoch')`);
  const failing = aroundStatements(store(), (sql, run) =>
    /FROM counters|DELETE FROM events/.test(sql) ? Promise.reject(new Error(sql)) : run(),
  );
  const steps: unknown[] = [];
  const log = (_: string, { step }: Record<string, unknown>) => steps.push(step);
  const rules = { retention: { ...retention, delivery_retention: 1e13 } };
  const deps = { ...pipeline.deps, targets: [], store: failing, log, ...rules, proof: undefined as never };
  await expect(runMaintenance(deps)).rejects.toThrow('counters');
  expect(steps).toEqual(['counters', 'events']);
  expect(await store().query('SELECT body FROM inbox')).toEqual([{ body: null }]);
  expect(await store().query('SELECT state FROM loads')).toEqual([{ state: 'failed' }]);
});

test('counters hold what counting would give, also after many writers at once and while they are joined', async () => {
  const run = (sql: string) => store().pool.query(sql);
  await run(`INSERT INTO ledger (call_id, revision, tombstone) SELECT 'n' || n, n % 3, n % 5 = 0
      FROM generate_series(1, 300) AS n;
    INSERT INTO warehouse_calls (warehouse, call_id, pending) SELECT w, 'n' || n, n % 2 = 0
      FROM generate_series(1, 300) AS n, unnest('{a,b}'::text[]) AS w`);
  for (let n = 0; n < 20; n += 1) await deliver(store(), [{ body: { n } }]);
  await Promise.all([
    ...[0, 1, 2, 3].flatMap((side) => [
      run(`UPDATE ledger SET revision = revision + 1, tombstone = tombstone OR call_id LIKE '%7'
          WHERE call_id LIKE '%${side}'`),
      run(`UPDATE warehouse_calls SET pending = NOT pending WHERE call_id LIKE '%${side}'`),
      run(`DELETE FROM ledger WHERE call_id LIKE 'n1${side}%'`),
      joinCounters(store()),
    ]),
    run(`UPDATE inbox SET outcome = 'accepted' WHERE seq % 2 = 0`),
  ]);
  await joinCounters(store());
  const counted = await query(`SELECT CASE WHEN tombstone THEN 'tombstones' ELSE 'calls' END AS name, count(*) AS value
        FROM ledger WHERE revision > 0 GROUP BY 1
      UNION ALL SELECT 'pending:' || warehouse, count(*) FROM warehouse_calls WHERE pending GROUP BY 1
      UNION ALL SELECT 'deliveries:' || outcome, count(*) FROM inbox GROUP BY 1`);
  const present = [...(await readCounters(store()))].filter(([, value]) => value !== 0);
  expect(Object.fromEntries(present)).toEqual(Object.fromEntries(counted.map(({ name, value }) => [name, value])));
  await pipeline.clear();
  expect([...(await readCounters(store()))]).toEqual([]);
});
