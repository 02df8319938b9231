/** From the ledger into warehouses: failures, crashes, rebuilds, epochs, warehouses that come later. */
import { setTimeout } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import type { Observation } from '../../../schemas/observation.ts';
import { flattenVersion } from '../../../src/calls/flatten.ts';
import { readHealth } from '../../../src/health/read-health.ts';
import { transient } from '../../../src/lib/errors.ts';
import type { JsonRecord } from '../../../src/lib/json-record.ts';
import type { IngestDeps, WarehouseTarget } from '../../../src/pipeline/deps.ts';
import { createPipeline, ingest } from '../../../src/pipeline/load/ingest.ts';
import { loadPending, loadPendingBatch } from '../../../src/pipeline/load/load-pending.ts';
import { healWarehouse } from '../../../src/pipeline/reconcile/compare-warehouse.ts';
import { readPageBody } from '../../../src/source/list/page-body.ts';
import { eraseFromLedger } from '../../../src/store/ledger/ledger.ts';
import * as loads from '../../../src/store/loads/loads.ts';
import { walkToEnd } from '../../../src/store/loads/walk.ts';
import { issueEpoch, requestWalk } from '../../../src/store/loads/warehouses.ts';
import { countRows } from '../../../src/warehouse/content-hash.ts';
import type { Warehouse } from '../../../src/warehouse/warehouse.ts';
import { digestTables } from '../../support/digest-tables.ts';
import { observationOf, register, untilBlocked, usePipeline } from '../../support/pipeline.ts';
import { column, queryBy } from '../../support/rows.ts';
import { until } from '../../support/until.ts';

const pipeline = usePipeline();

const at = 1_700_000_000_000_000;
const observation = (id: string, n: number): Observation =>
  observationOf(id, at + n, {
    status: `v${n}`,
    timestamp: '2023-12-04T15:18:29Z',
    tags: [{ unique_id: 't', display_name: `v${n}` }],
    transcript_json: { callData: [{ content: `v${n}`, words: [{ value: 'a' }] }] },
  });

const erase = (ids: readonly string[]) =>
  pipeline.store.transaction((tx) => eraseFromLedger(tx, ids).finally(() => loads.markPending(tx, ids)));
const statuses = async (target = pipeline.target): Promise<Record<string, unknown>> =>
  Object.fromEntries((await target.warehouse.query('SELECT call_id, status FROM calls')).map(Object.values));
const pending = (name = 'main'): Promise<number> => loads.countPending(pipeline.store, name);

/** Walks over the ledger; with `rewrite`, every call is written again. Returns how many calls became pending. */
const walk = async (rewrite = false): Promise<number> => {
  await requestWalk(pipeline.store, { warehouse: 'main', rewrite });
  return await walkToEnd(pipeline.store, 'main');
};

/** As if the loads had begun so much earlier. */
const age = (seconds: number) =>
  pipeline.query(`UPDATE loads SET created_at = created_at - make_interval(secs => ${seconds}),
      alive_at = alive_at - make_interval(secs => ${seconds})`);

/** The warehouse, but every load ends with this error. */
const failingWith = (error: Error) => pipeline.depsWith({ load: () => Promise.reject(error) });

/** The warehouse, of whose loads `note` is told first. */
const noting = (note: (batch: Parameters<Warehouse['load']>[0]) => unknown) =>
  pipeline.depsWith({
    load: async (batch) => {
      await note(batch);
      return await pipeline.warehouse.load(batch);
    },
  });

/** A page as it comes from the service, with its bytes. */
const readPage = (ids: readonly string[]) => {
  const words = Array.from({ length: 120 }, (_, n) => ({ value: `w${n}`, start: n / 4, length: 0.25, score: 0.5 }));
  const records = ids.map((id) => ({ unique_id: id, transcript_json: { callData: [{ content: `v${id}`, words }] } }));
  const page = readPageBody(Buffer.from(JSON.stringify(records)), '');
  if (typeof page === 'string') throw new Error(page);
  const observations = [...page.parts(1e9)]
    .flat()
    .map(({ value }, n) => ({ ...observation(ids[n] as string, n), fields: value as JsonRecord }));
  return { page, observations };
};
const idsOf = (prefix: string, count: number) => Array.from({ length: count }, (_, n) => `${prefix}${n}`);

test('a load tells that its page is read, and writes only the calls that the warehouse lacks', async () => {
  const { page, observations } = readPage(idsOf('c', 40));
  const { deps } = pipeline;
  await (await pipeline.fold(observations.slice(0, 10), { ...deps, log: () => undefined })).load();
  await pipeline.query('DELETE FROM ledger_documents');
  await pipeline.query('DELETE FROM ledger');
  const done = vi.fn();
  const folded = await ingest(deps, { observations, origin: 'test', done });
  expect(await folded.load()).toEqual({ main: 30 });
  expect([done.mock.calls, page.size > 256 * 1024]).toEqual([[[true]], true]);
  const said =
    'SELECT count(*)::int AS n, sum(word_count)::int AS words, min(word_starts[2]) AS second FROM utterances';
  expect(await pipeline.warehouse.query(said)).toEqual([{ n: 40, words: 40 * 120, second: 0.25 }]);
  expect(pipeline.logged).toEqual([]);
});

test('pages of several windows that come at once share a load, which tells that they are read', async () => {
  const given: number[] = [];
  const deps = noting(({ calls }) => given.push(calls.length));
  const pages = ['a', 'b', 'c'].map((prefix) => readPage(idsOf(prefix, 40)));
  const done = vi.fn();
  const changed = pages.map(async ({ observations }, n) => {
    const window = createPipeline(deps);
    const again = n === 2 ? [observation('b0', 99)] : [];
    await window.handlersOf('poll').onPage([...observations, ...again], { keep: () => done });
    await window.finish();
    return window.changed;
  });
  expect(await Promise.all(changed)).toEqual([40, 40, 41]);
  expect([given, done.mock.calls]).toEqual([[120], [[true], [true], [true]]]);
  const counted = 'SELECT count(*)::int AS calls, sum(word_count)::int AS words FROM calls';
  expect(await pipeline.warehouse.query(counted)).toEqual([{ calls: 120, words: 119 * 120 + 1 }]);
});

test('a page that cannot be folded fails its own window, and no other', async () => {
  const sanitize = (one: Observation): Observation => {
    if (one.callId === 'bad') throw new Error('a fault of this page');
    return one;
  };
  const ended = await Promise.allSettled(
    ['a', 'bad', 'c'].map(async (id) => {
      const window = createPipeline({ ...pipeline.deps, sanitize });
      await window.handlersOf('poll').onPage([observation(id, 1)], { keep: () => () => undefined });
      return await window.finish();
    }),
  );
  expect(ended.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  expect(Object.keys(await statuses()).sort()).toEqual(['a', 'c']);
});

test('the same twice leaves every table’s digest equal, and the second run writes no call', async () => {
  const observations = Array.from({ length: 30 }, (_, n) => observation(`c${n}`, n));
  expect((await pipeline.observe(observations)).written).toEqual({ main: 30 });
  const digests = await digestTables(pipeline.warehouse);
  const again = await pipeline.observe(observations);
  expect(again.written).toEqual({});
  expect(again.folded).toMatchObject({ changed: [], unchanged: 30, loads: [] });
  const later = await pipeline.observe(observations.map((one) => ({ ...one, observedAt: one.observedAt + 5_000_000 })));
  expect(later.folded).toMatchObject({ changed: [], unchanged: 30 });
  expect(await digestTables(pipeline.warehouse)).toEqual(digests);
  expect(await pipeline.drain()).toEqual({ sent: 0, changed: 0 });
});

test('a warehouse that was loaded at once and one that is filled later tell the same changes', async () => {
  const changesIn = async ({ warehouse }: WarehouseTarget): Promise<unknown[]> =>
    (await warehouse.query('SELECT * FROM changes ORDER BY revision, field')).map(
      ({ call_id, field, revision, source, observed_at }) =>
        `${call_id} ${field} ${revision} ${source} ${Date.parse(String(observed_at)) * 1000 - at}`,
    );
  const see = (source: 'poll' | 'webhook', seconds: number, fields: Record<string, unknown>) =>
    pipeline.observe([observationOf('a', at + seconds * 1_000_000, fields, source)]);
  await see('poll', 0, { status: 'new', tags: [], lang: 'fr' });
  await see('webhook', 1, { status: 'qualified', tags: [] });
  // Read again: one field has changed, the others say what is known.
  await see('poll', 2, { status: 'qualified', tags: [{ unique_id: 't' }], lang: 'fr' });
  const expected = ['a * 1 poll 0', 'a status 2 webhook 1000000', 'a tags 3 poll 2000000'];
  expect(await changesIn(pipeline.target)).toEqual(expected);
  await walk(true);
  expect(await pipeline.drain()).toEqual({ sent: 1, changed: 1 });
  expect(await changesIn(pipeline.target)).toEqual(expected);
  const late = await pipeline.addWarehouse('changes');
  await register(pipeline.store, 'changes');
  await pipeline.drain(late);
  expect(await changesIn(late)).toEqual(expected);
  await erase(['a']);
  await pipeline.drain();
  expect(await changesIn(pipeline.target)).toEqual([]);
});

test('an older load that is completed late does not settle a call whose newer revision is still to come', async () => {
  const older = await pipeline.fold([observation('a', 1)]);
  const newer = await pipeline.fold([observation('a', 2)]);
  expect(await older.load()).toEqual({ main: 1 });
  expect(await pending()).toBe(1);
  expect(await newer.load()).toEqual({ main: 1 });
  expect(await pending()).toBe(0);
  for (const { plan } of [...older.loads, ...newer.loads])
    await loads.completeLoad(pipeline.store, plan, async () => []);
  expect(await pending()).toBe(0);
});

test('a warehouse that is away holds back no other: calls stay pending, and arrive in their newest form', async () => {
  const other = await pipeline.addWarehouse('other');
  await register(pipeline.store, 'other');
  const away = failingWith(transient('DATABASE_UNREACHABLE', 'Away.'));
  const both = { ...away, targets: [...away.targets, other] };
  const { written } = await pipeline.observe([observation('a', 1), observation('b', 1)], both);
  expect(written).toEqual({ main: 0, other: 2 });
  const code = 'DATABASE_UNREACHABLE';
  expect(pipeline.logged).toMatchObject([{ event: 'load failed, its calls stay pending', fields: { code } }]);
  expect([await pending(), await pending('other')]).toEqual([2, 0]);
  const loading = loadPendingBatch(away, away.targets[0] as WarehouseTarget, { origin: 'pending' });
  await expect(loading).rejects.toMatchObject({ code });
  await pipeline.observe([observation('b', 2)], away);
  expect(await pipeline.drain()).toEqual({ sent: 2, changed: 2 });
  expect(await statuses()).toEqual({ a: 'v1', b: 'v2' });
  const states = await column(pipeline.store, "SELECT state FROM loads WHERE warehouse = 'main' ORDER BY 1");
  expect(states).toEqual(['committed', 'failed', 'failed', 'failed']);
  expect(await pipeline.query('SELECT 1 FROM load_calls')).toEqual([]);
});

test('a call whose own row a hand deleted is loaded whole by the sweep, with no row of an earlier revision', async () => {
  await pipeline.observe([observation('a', 1)]);
  await pipeline.query('DELETE FROM wh_main.calls');
  expect((await pipeline.observe([observation('a', 2)])).written).toEqual({ main: 0 });
  expect(await pipeline.drain()).toEqual({ sent: 1, changed: 1 });
  expect(await column(pipeline.store, 'SELECT content FROM wh_main.utterances')).toEqual(['v2']);
});

test('refused calls hold back no other, are named, and come with their next change, a fill or in time', async () => {
  const { store } = pipeline;
  const check = `ALTER TABLE wh_main.calls ADD CONSTRAINT short CHECK (status <> 'v1' OR call_id NOT LIKE 'bad%')`;
  await pipeline.query(check);
  const ids = ['bad-1', ...Array.from({ length: 30 }, (_, n) => `good-${n}`), 'bad-2'];
  expect((await pipeline.observe(ids.map((id) => observation(id, 1)))).written).toEqual({ main: 0 });
  expect(await pipeline.drain()).toMatchObject({ changed: 30 });
  const why = expect.stringMatching(/^DATABASE_REFUSED: .*SQLSTATE 23514, .*table calls, constraint short\)/);
  const refused = ['bad-1', 'bad-2'].map((callId) => ({ warehouse: 'main', callId, why }));
  expect(await loads.listRefused(store)).toEqual(refused);
  const [main] = (await readHealth(store, { warehouses: ['main'] })).warehouses;
  expect(main).toMatchObject({ pending: 2, refused: 2, refusal: why, liveOldestAge: null });
  // Not with every sweep.
  expect(await pipeline.drain()).toEqual({ sent: 0, changed: 0 });
  await pipeline.observe([observation('bad-1', 2)]);
  expect(await loads.listRefused(store)).toEqual(refused.slice(1));
  const hoursAgo = `queue_position = queue_position(3, now() - interval '7 hours')`;
  await pipeline.query(`UPDATE warehouse_calls SET ${hoursAgo} WHERE pending`);
  expect(await pipeline.drain()).toMatchObject({ sent: 1, changed: 0 });
  await pipeline.query('ALTER TABLE wh_main.calls DROP CONSTRAINT short');
  expect(await walk()).toBe(1);
  expect(await pipeline.drain()).toMatchObject({ sent: 1, changed: 1 });
  expect(await loads.listRefused(store)).toEqual([]);
});

test('an erasure that a foreign key of an owner forbids is named, tried again, and holds back no other', async () => {
  await pipeline.observe(['a', 'b', 'c'].map((id) => observation(id, 1)));
  await pipeline.query('CREATE TABLE wh_main.notes (call text CONSTRAINT of_calls REFERENCES wh_main.calls)');
  await pipeline.query(`INSERT INTO wh_main.notes VALUES ('b')`);
  await erase(['a', 'b', 'c']);
  await expect(pipeline.drain()).rejects.toThrow(/SQLSTATE 23503, .*table notes, constraint of_calls/);
  expect(Object.keys(await statuses())).toEqual(['b']);
  expect(await loads.listRefused(pipeline.store)).toMatchObject([{ callId: 'b' }]);
  await pipeline.query('DROP TABLE wh_main.notes');
  expect(await pipeline.drain()).toMatchObject({ sent: 1 });
  expect(await loads.listRefused(pipeline.store)).toEqual([]);
});

test('calls of one kind that stand in a row, and are all refused, hold back no other', async () => {
  await pipeline.query(`ALTER TABLE wh_main.calls ADD CONSTRAINT short CHECK (call_id NOT LIKE 'bad%')`);
  const ids = ['bad', 'good'].flatMap((kind) => Array.from({ length: 8 }, (_, n) => `${kind}-${n}`));
  await pipeline.observe(ids.map((id) => observation(id, 1)));
  expect(await pipeline.drain()).toMatchObject({ sent: 16 });
  expect(Object.keys(await statuses()).sort()).toEqual(ids.slice(8));
  expect(await loads.listRefused(pipeline.store)).toHaveLength(8);
});

test('a fault that is not of single calls ends a load soon, and no call counts as refused', async () => {
  await pipeline.query(`ALTER TABLE wh_main.calls ADD CONSTRAINT never CHECK (status IS NULL)`);
  await pipeline.observe(Array.from({ length: 60 }, (_, n) => observation(`c${n}`, 1)));
  await expect(pipeline.drain()).rejects.toMatchObject({ code: 'DATABASE_REFUSED' });
  expect((await pipeline.query(`SELECT 1 FROM loads WHERE state = 'failed'`)).length).toBeLessThan(20);
  expect(await loads.listRefused(pipeline.store)).toEqual([]);
  await pipeline.query('ALTER TABLE wh_main.calls DROP CONSTRAINT never');
  expect(await pipeline.drain()).toMatchObject({ changed: 60 });
});

test('a fault of ours in a load keeps the bytes of its batch and its calls; a loaded batch frees them', async () => {
  const unread = new Map<string, boolean>();
  for (const [id, deps] of [['a', failingWith(new TypeError('a fault'))] as const, ['b', pipeline.deps] as const]) {
    const { take, finish } = createPipeline(deps);
    await take({ observations: [observation(id, 1)], origin: 'poll', done: (isUnread) => unread.set(id, isUnread) });
    expect(await finish()).toEqual({ main: id === 'a' ? 0 : 1 });
  }
  expect(Object.fromEntries(unread)).toEqual({ a: false, b: true });
  expect(pipeline.logged).toMatchObject([{ fields: { code: 'UNEXPECTED' } }]);
  expect(await pipeline.drain()).toEqual({ sent: 1, changed: 1 });
});

test('a warehouse that is away gathers changes while new calls and erasures go on, if commits cost', async () => {
  const loaded: string[][] = [];
  let dueInMs = 0;
  const deps = pipeline.depsWith({
    name: 'priced',
    traits: { ...pipeline.warehouse.traits, immediate: false },
    pace: { nextCommitInMs: async (of) => (of === 'changes' ? dueInMs : 0), readUsage: () => Promise.reject() },
    load: async ({ calls, tombstones }) => {
      loaded.push([...calls, ...tombstones].map(({ callId }) => callId));
      return { changed: calls.length + tombstones.length, unchanged: 0 };
    },
  });
  await register(pipeline.store, 'priced');
  const sweep = () => loadPending(deps, { warehouse: 'priced', origin: 'pending' });
  await pipeline.fold([observation('a', 1), observation('b', 1)], deps);
  await sweep();
  dueInMs = 60_000;
  await pipeline.fold([observation('a', 2), observation('c', 1)], deps);
  await sweep();
  await erase(['b']);
  await sweep();
  expect(loaded).toEqual([['a', 'b'], ['c'], ['b']]);
  expect(await pending('priced')).toBe(1);
  dueInMs = 0;
  await sweep();
  expect(loaded.at(-1)).toEqual(['a']);
  expect(await pending('priced')).toBe(0);
});

test('two loads at once take no call and no delivery twice, also those of dead processes', async () => {
  await pipeline.send(['a', 'b', 'c'].map((id) => ({ unique_id: id, timestamp: '2023-12-04T15:18:29Z' })));
  await walk(true);
  const taken: unknown[] = [];
  let begun = 0;
  const load: Warehouse['load'] = async (batch) => {
    begun += 1;
    taken.push(...batch.calls.map(({ callId }) => callId), ...(batch.logs.deliveries ?? []).map((row) => row.call_id));
    if (begun === 1) await until('the other load has begun', async () => begun === 2);
    else await setTimeout(300);
    return await pipeline.warehouse.load(batch);
  };
  const slow = pipeline.depsWith({ traits: { ...pipeline.warehouse.traits, maxCallsPerLoad: 2 }, load });
  const loaded = await loadPending(slow, { warehouse: 'main', origin: 'fill', graceSeconds: 0 });
  expect(loaded).toEqual({ sent: 3, changed: 3, more: false, held: 0 });
  expect(taken.sort()).toEqual(['a', 'a', 'b', 'b', 'c', 'c']);
});

test.each([
  ['a run', (deps: IngestDeps) => loadPending(deps, { warehouse: 'main', origin: 'backfill:x', graceSeconds: 0 })],
  [
    'the repair after a comparison',
    (deps: IngestDeps) => {
      const comparison = { missing: new Set(idsOf('a', 3)), different: new Set<string>(), unexpected: [] };
      const [target = pipeline.target] = deps.targets;
      return healWarehouse(deps, target, { comparison, touched: new Set(), level: 'guards' });
    },
  ],
])('%s loads what waits at its start, and ends although more comes with each commit', async (_, loadAll) => {
  await pipeline.fold(idsOf('a', 3).map((id) => observation(id, 1)));
  let came = 0;
  await loadAll(noting(() => came < 20 && pipeline.fold([observation(`b${++came}`, 1)])));
  expect(Object.keys(await statuses())).toEqual(expect.arrayContaining(idsOf('a', 3)));
  expect(came).toBeLessThan(4);
});

test('a crash: the calls of a load whose process is still at it are left alone, however long it takes', async () => {
  const folded = await pipeline.fold([observation('a', 1)]);
  await age(600);
  for (const { plan } of folded.loads) await loads.keepLoad(pipeline.store, plan.loadId);
  const load = () => loadPending(pipeline.deps, { warehouse: 'main', origin: 'fill' });
  expect(await load()).toEqual({ sent: 0, changed: 0, more: false, held: 1 });
  await age(21);
  expect(await load()).toEqual({ sent: 1, changed: 1, more: false, held: 0 });
});

test('a crash: two planners of one call know each other’s dates, so that it cannot stand under both', async () => {
  const { store } = pipeline;
  await pipeline.fold([observation('a', 1)]);
  await register(store, 'paced');
  const plan = (partition: string, beforeCommit: () => Promise<unknown>) =>
    store.transaction(async (tx) => {
      const { calls } = await loads.readPending(tx, 'paced', { limit: 10, graceSeconds: 0, flattenVersion });
      const load = { warehouse: 'paced', flattenVersion, origin: 'test' };
      await loads.planLoad(tx, load, [{ callId: 'a', revision: 1, partition }]);
      await beforeCommit();
      return calls[0]?.partitions;
    });
  let second: Promise<unknown> = Promise.resolve();
  await plan('2023-12-04', async () => {
    second = plan('2023-12-05', async () => undefined);
    await untilBlocked(store, second);
  });
  expect(await second).toEqual(['2023-12-04']);
});

test('a call that moves to the end of the queue while the queue is read is planned once', async () => {
  const { store } = pipeline;
  await register(store, 'paced');
  await pipeline.fold(Array.from({ length: 40 }, (_, n) => observation(`c${n}`, n)));
  const moveToEnd = `UPDATE warehouse_calls SET queue_position = 2999999999999 WHERE warehouse = 'paced' AND call_id = $1`;
  await store.transaction(async (tx) => {
    let reads = 0;
    const query = queryBy(async (sql, values) => {
      const rows = await tx.query(sql, values);
      if (sql.includes('queue_position AS position') && reads++ === 0)
        await pipeline.query(moveToEnd, [(rows[0] as { id: string }).id]);
      return rows;
    });
    const rules = { limit: 16, graceSeconds: 0, flattenVersion };
    const { calls } = await loads.readPending({ ...tx, query }, 'paced', rules);
    const ids = calls.map(({ row }) => row.callId);
    expect(reads).toBeGreaterThan(1);
    expect(ids).toEqual([...new Set(ids)].sort());
  });
});

test('loads leave rows of a newer flatten version to its workers, and hold back nothing behind them', async () => {
  await pipeline.observe([observation('a', 1), observation('b', 1), observation('c', 1)]);
  await pipeline.query(`UPDATE wh_main.calls SET flatten_version = 9 WHERE call_id < 'c'`);
  await pipeline.query(`UPDATE warehouse_calls SET applied_flatten = 9 WHERE call_id < 'c'`);
  expect(await walk(true)).toBe(3);
  expect(await pipeline.drain()).toEqual({ sent: 1, changed: 1 });
  expect(await pending()).toBe(2);
  await pipeline.observe([observation('b', 2)]);
  expect(await statuses()).toEqual({ a: 'v1', b: 'v2', c: 'v1' });
  await issueEpoch(pipeline.store, 'restored', 0);
  expect(await pipeline.drain()).toMatchObject({ changed: 3 });
  expect(await pending()).toBe(0);
});

test('loads under way when a rebuild was forced do not settle it', async () => {
  await pipeline.observe([observation('a', 1), observation('b', 1)]);
  const digests = await digestTables(pipeline.warehouse);
  const breakRows = () => pipeline.query(`UPDATE wh_main.calls SET status = 'broken'`);
  const { targets } = pipeline.depsWith({
    load: async (batch) => {
      const result = await pipeline.warehouse.load(batch);
      await breakRows();
      await walk(true);
      return result;
    },
  });
  for (const mark of [() => pipeline.query('UPDATE warehouse_calls SET pending = true'), () => walk(true)]) {
    await mark();
    await loadPendingBatch(pipeline.deps, targets[0] as WarehouseTarget, { origin: 'pending' });
    expect(await pending()).toBe(2);
    expect(await pipeline.drain()).toEqual({ sent: 2, changed: 2 });
    expect(await digestTables(pipeline.warehouse)).toEqual(digests);
  }
  // Calls that were pending already are written again too.
  await pipeline.query('UPDATE warehouse_calls SET pending = true');
  await breakRows();
  expect(await walk(true)).toBe(2);
  expect(await pipeline.drain()).toEqual({ sent: 2, changed: 2 });
});

/** As if no worker had configured it for long. */
const lapse = (name: string) =>
  pipeline.query(`UPDATE warehouses SET configured_at = now() - interval '8 days' WHERE name = $1`, [name]);

test('a warehouse that comes later is filled from the ledger, with tombstones and deliveries', async () => {
  await pipeline.observe([observation('a', 1), observation('b', 1), observation('gone', 1)]);
  await erase(['gone']);
  await pipeline.send([{ unique_id: 'w', status: 'void' }]);
  await pipeline.drain();
  const late = await pipeline.addWarehouse('late');
  expect(await register(pipeline.store, 'late')).toBe(4);
  expect(await register(pipeline.store, 'late')).toBe(0);
  expect(await pipeline.drain(late)).toEqual({ sent: 4, changed: 4 });
  expect(await digestTables(late.warehouse)).toEqual(await digestTables(pipeline.warehouse));
  expect((await countRows(late.warehouse)).deliveries).toBe(1);
  expect(await column(pipeline.store, 'SELECT count(*) FROM wh_late.tombstones')).toEqual([1]);
  // By a worker that does not know it.
  await pipeline.observe([observation('new', 1)]);
  await pipeline.send([{ unique_id: 'sent' }]);
  await pipeline.drain(late);
  expect(Object.keys(await statuses(late)).sort()).toEqual(['a', 'b', 'new', 'sent', 'w']);
  expect((await countRows(late.warehouse)).deliveries).toBe(2);
});
test('a later warehouse is not loaded by a worker that does not know it; one that loads it keeps it', async () => {
  await register(pipeline.store, 'unknown here');
  const load = () => loadPending(pipeline.deps, { warehouse: 'unknown here', origin: 'fill' });
  await expect(load()).rejects.toMatchObject({ code: 'WAREHOUSE_NOT_CONFIGURED', kind: 'transient' });
  await lapse('unknown here');
  expect(await load()).toEqual({ sent: 0, changed: 0, more: false, held: 0 });
  // Also while maintenance is paused.
  await lapse('main');
  await loadPending(pipeline.deps, { warehouse: 'main', origin: 'pending' });
  await pipeline.fold([observation('a', 1)]);
  expect(await pending()).toBe(1);
});

test('a later warehouse that nobody configures for long is not waited for, and gets everything afterwards', async () => {
  const lapsed = await pipeline.addWarehouse('lapsed');
  await register(pipeline.store, 'lapsed');
  await lapse('lapsed');
  await pipeline.observe([observation('a', 1)]);
  await pipeline.send([{ unique_id: 'w' }]);
  expect(await pending('lapsed')).toBe(0);
  const waiting = () => pipeline.query(`SELECT 1 FROM unloaded_deliveries WHERE warehouse = 'lapsed'`);
  expect(await waiting()).toEqual([]);
  expect(await register(pipeline.store, 'lapsed')).toBe(2);
  expect(await waiting()).toHaveLength(1);
  await pipeline.drain(lapsed);
  expect((await countRows(lapsed.warehouse)).deliveries).toBe(1);
});

test('many folds, loads and sweeps of the same calls at once neither deadlock nor leave anything behind', async () => {
  const feed = async (name: number) => {
    for (let round = 0; round < 8; round += 1) {
      const order = (id: string) => (Number(id.slice(1)) * 13 * (name + 1) + round * 7) % 31;
      const chosen = idsOf('c', 30)
        .toSorted((p, q) => order(p) - order(q))
        .slice(0, 20);
      await pipeline.observe(chosen.map((id) => observation(id, round * 10 + name)));
    }
  };
  const sweep = async () => {
    for (let round = 0; round < 8; round += 1) {
      await pipeline.drain();
      await walk(true);
      if (round === 4) await issueEpoch(pipeline.store, 'restored', 0);
    }
  };
  await Promise.all([feed(0), feed(1), feed(2), sweep(), sweep()]);
  expect(pipeline.logged).toEqual([]);
  await age(3_600);
  await pipeline.drain();
  expect(await pending()).toBe(0);
  const current = `SELECT count(*) AS n FROM ledger l JOIN wh_main.calls c USING (call_id) WHERE l.revision = c.revision`;
  expect(await column(pipeline.store, current)).toEqual([(await countRows(pipeline.warehouse)).calls]);
});
