/** Figures of the store in metrics and on the status page: ages and counts that fit the written rows. */

import { afterAll, beforeAll, expect, test } from 'vitest';
import { measureLatency, readHealth, readProofs } from '../../src/health/read-health.ts';
import { completeLoad, markPending, planLoad } from '../../src/store/loads/loads.ts';
import { registerWarehouse } from '../../src/store/loads/warehouses.ts';
import { readStateRow } from '../../src/store/status/state-row.ts';
import { openStore } from '../../src/store/store.ts';
import { provenRanges, readProvenThrough, withdrawProof } from '../../src/store/windows/verdicts.ts';
import { createErasures } from '../support/erasures.ts';
import { useOpened } from '../support/opened.ts';
import { aroundStatements } from '../support/pipeline.ts';
import { useDatabase } from '../support/postgres.ts';
import { judge as judgeWindow } from '../support/verdicts.ts';

const database = useDatabase();
const erasures = createErasures();
const store = useOpened(() => openStore({ url: database.url, erasures: erasures.open }));
afterAll(erasures.remove);
beforeAll(async () => {
  await registerWarehouse(store, 'main', 1);
  await store.query('UPDATE warehouses SET walk_after = NULL');
  await store.query(`INSERT INTO epochs (epoch, reason) VALUES (1, 'test')`);
});
const read = () => readHealth(store, { warehouses: ['main'], limitSpanMs: 10_000 });

test('has no age while nothing waits', async () => {
  const none = { count: 0, oldestAge: null };
  expect(await read()).toMatchObject({
    ...{ inbox: none, quarantine: none, rereads: none, refused: none },
    ...{ calls: 0, openProblems: 0, grantedRequests: 0, sync: null, workerAge: null },
    warehouses: [{ name: 'main', pending: 0, liveOldestAge: null, newestVisible: null, lastLoadAt: null }],
  });
  const proofs = { warehouse: 'main', unproven: 0, withdrawn: 0, waiting: 0, suspiciousEmpty: 0, oldestAge: null };
  expect(await readProofs(store, { warehouses: ['main'], days: 9 })).toEqual([proofs]);
});

test('tells the age of live changes apart from a backlog of old calls', async () => {
  await store.query(`INSERT INTO ledger (call_id, revision, call_timestamp)
      VALUES ('old', 1, now() - interval '9 years'), ('new', 1, now() - interval '1 hour')`);
  const mark = (id: string, kind: 'change' | 'backlog') => store.transaction((tx) => markPending(tx, [id], kind));
  await mark('old', 'backlog');
  const [backlog] = (await read()).warehouses;
  expect([backlog?.pending, backlog?.liveOldestAge]).toEqual([1, null]);
  await mark('new', 'change');
  // If a backfill sees a waiting change again, the change does not wait longer.
  await mark('new', 'backlog');
  await store.query(`UPDATE warehouse_calls SET queue_position = queue_position + 1200 WHERE call_id = 'new'`);
  const [live] = (await read()).warehouses;
  expect(live).toMatchObject({ pending: 2, liveOldestAge: expect.closeTo(1_245, -2) });
  await store.query(`UPDATE warehouse_calls SET pending = false, applied_revision = 1, applied_at = now()`);
  const [loaded] = (await read()).warehouses;
  expect(loaded).toMatchObject({ pending: 0, liveOldestAge: null });
  expect((Date.now() - (loaded?.newestVisible ?? 0)) / 1_000).toBeCloseTo(3_640, -2);
});

test('the time to a warehouse is that of the first load of a delivery, whatever is loaded later', async () => {
  const deliver = (age: string, revision: number | null) =>
    store.query(`INSERT INTO inbox (arrival_id, received_at, outcome, folded_at, call_id, revision)
      SELECT gen_random_uuid(), at, 'accepted', at, 'new', ${revision} FROM (SELECT now() - interval '${age}' AS at) AS times`);
  const load = async (revision: number) => {
    const planned = { warehouse: 'main', flattenVersion: 1, origin: 'test' };
    const plan = await store.transaction((tx) => planLoad(tx, planned, [{ callId: 'new', revision }]));
    await completeLoad(store, plan, async (found) => found.map(() => Date.now() * 1000));
  };
  await deliver('2 seconds', 2);
  await load(2);
  const visible = async () => (await measureLatency(store, ['main'])).find(({ warehouse }) => warehouse === 'main');
  const first = await visible();
  expect(first?.calls).toBe(1);
  expect(first?.p50).toBeLessThan(60);
  // A delivery that changes nothing, and a restore: everything is loaded once more.
  await deliver('1 hour', null);
  await store.query(`UPDATE warehouse_calls SET applied_epoch = 0`);
  await load(2);
  expect(await visible()).toEqual(first);
});

test('a delivery waits by the clock of the store, whatever the clock of its receiver says', async () => {
  await store.query(`INSERT INTO inbox (received_at) VALUES (now() - interval '1 hour')`);
  const { inbox, flow } = await read();
  expect(inbox.oldestAge).toBeLessThan(600);
  expect(flow.deliveryAge).toBeLessThan(600);
  await store.query(`DELETE FROM inbox WHERE outcome = 'pending'`);
});

test('tells how far sync is, and what of the request limit is granted', async () => {
  await store.query(`INSERT INTO watermarks (name, axis, watermark, started_from, seen_to, last_error)
      SELECT 'sync', 'qualified', now() - interval '2 days', now() - interval '9 days', now() - interval '20 minutes', 'SERVICE_UNREACHABLE'`);
  await store.query(`INSERT INTO request_limits (name, slots)
      VALUES ('source', ARRAY[1, extract(epoch FROM now()) * 1000000]::bigint[])`);
  await store.query(`INSERT INTO loads (load_id, warehouse, epoch, flatten_version, origin, calls, state, error, created_at)
      VALUES ('a', 'main', 1, 1, 'test', 1, 'failed', 'E', now()), ('b', 'main', 1, 1, 'test', 1, 'planned', NULL, now() + interval '1 s')`);
  const sync = {
    lag: expect.closeTo(1_249, -2),
    watermarkAge: expect.closeTo(172_849, -2),
    lastError: 'SERVICE_UNREACHABLE',
  };
  expect(await read()).toMatchObject({ sync, grantedRequests: 1, warehouses: [{ lastError: 'E' }] });
  const [stored] = await store.query<{ watermark: Date }>('SELECT watermark FROM watermarks');
  expect((await read()).sync?.watermark).toEqual(stored?.watermark);
  // Sync went on without a window that could not be shown complete.
  await store.query(`INSERT INTO window_problems (axis, window_from, window_to, problem, resolved_at)
     SELECT 'qualified', now() - days * interval '1 day', now() - interval '1 day', 'refused', CASE days WHEN 4 THEN now() END
       FROM generate_series(3, 4) AS days`);
  const age = (micros: unknown): number => Date.now() / 1e3 - Number(micros) / 1e6;
  const threeDays = 3 * 86_400;
  expect((await read()).sync?.watermarkAge).toBeCloseTo(threeDays, -2);
  expect(age((await readStateRow(store, 'main')).watermark)).toBeCloseTo(threeDays, -2);
  await store.query(`UPDATE watermarks SET started_from = now() - interval '60 hours'`);
  expect(age((await readStateRow(store, 'main')).watermark)).toBeCloseTo(60 * 3_600, -2);
});

test('a heartbeat reads each verdict once, and knows of all how far everything is proven', async () => {
  await store.query(`INSERT INTO windows (axis, window_from, window_to, calls, shown, origin)
      VALUES ('qualified', to_timestamp(0), to_timestamp(1), 0, 'total', 'test')`);
  let rows = 0;
  const counting = aroundStatements(store, async (sql, run) => {
    const found = await run();
    if (sql.includes('previous_digest')) rows += found.length;
    return found;
  });
  const given: Parameters<typeof provenRanges>[0][number][] = [];
  const judge = async (from: number, to: number, outcome: (typeof given)[0]['outcome']) => {
    const window = { axis: 'qualified', outcome, compared_at: Date.now() * 1000 };
    given.push(await judgeWindow(store, { from: from * 1e6, to: to * 1e6 }, window));
    const through = provenRanges(given).find((one) => one.from === 0)?.to ?? null;
    expect(await readProvenThrough(counting, 'main')).toEqual({ axis: 'qualified', through });
  };
  expect(await readProvenThrough(counting, 'main')).toEqual({ axis: null, through: null });
  for (let hour = 0; hour < 20; hour += 1) await judge(hour, hour + 1, 'proven');
  await judge(3, 5, 'unproven');
  await judge(0, 2, 'suspicious_empty');
  const bad = await readProofs(store, { warehouses: ['main'], days: 100_000 });
  expect(bad).toMatchObject([{ unproven: 1, suspiciousEmpty: 1 }]);
  await judge(0, 8, 'healed');
  expect(rows).toBe(given.length);
  const through = async () => (await readProvenThrough(counting, 'main')).through;
  // Nobody but callsync says what is proven.
  const forged = { epoch: 1, after: 99, axis: 'qualified', proven: { qualified: [{ from: 0, to: 90e6 }] } };
  for (const value of [null, 3, '\n\n{}', forged]) {
    await store.query(`UPDATE meta SET value = $1 WHERE key = 'proven-signed:main'`, [JSON.stringify(value)]);
    expect(await through()).toBe(20e6);
  }
  for (const to of [90, 20]) {
    await store.query(`DELETE FROM meta WHERE key = 'proven-signed:main'`);
    await store.query(`UPDATE verdicts SET window_to = to_timestamp($1) WHERE window_from = to_timestamp(19)`, [to]);
    expect(await through()).toBe(to === 90 ? 8e6 : 20e6);
  }
  // Verdicts that have expired still prove, until calls of their days are sent again.
  await store.query('DELETE FROM verdicts');
  expect(await through()).toBe(20e6);
  const withdraw = (callId: string) => withdrawProof(store, (_, withdrawOf) => withdrawOf([callId], 'main'));
  await withdraw('new');
  expect(await through()).toBe(20e6);
  await store.query(`INSERT INTO ledger (call_id, revision, call_timestamp) VALUES ('first', 1, 'epoch')`);
  await withdraw('first');
  expect(await through()).toBe(null);
  await withdrawProof(store, async (tx, withdrawOf) => {
    await withdrawOf({ since: 1 }, 'main');
    expect(await tx.query('SHOW statement_timeout')).toEqual([{ statement_timeout: '1h' }]);
  });
  await store.query(`INSERT INTO epochs (epoch, reason) SELECT max(epoch) + 1, 'test' FROM epochs`);
  expect(await readProvenThrough(counting, 'main')).toEqual({ axis: null, through: null });
});
