/** What metrics and the status page show of the store: ages and counts that fit what was written. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { markPending } from '../../src/store/loads/pending.ts';
import { registerWarehouse } from '../../src/store/loads/warehouses.ts';
import { readStoreGauges, readVerdictGauges } from '../../src/store/status/gauges.ts';
import { openStore, type Store } from '../../src/store/store.ts';
import { createDatabase, type TestDatabase } from '../support/postgres.ts';

let database: TestDatabase;
let store: Store;
beforeAll(async () => {
  database = await createDatabase();
  store = await openStore({ url: database.url });
  await registerWarehouse(store, 'main', 1);
  await store.query('UPDATE warehouses SET walk_after = NULL');
});
afterAll(async () => {
  await store?.close();
  await database?.drop();
});

const read = () => readStoreGauges(store, { warehouses: ['main'], limitSpanMs: 10_000 });

test('has no age while nothing waits', async () => {
  expect(await read()).toMatchObject({
    calls: 0,
    inbox: { count: 0, oldestAge: null },
    quarantine: { count: 0, oldestAge: null },
    rereads: { count: 0, oldestAge: null },
    warehouses: [{ name: 'main', pending: 0, liveOldestAge: null, newestVisible: null, lastLoadAge: null }],
    sync: null,
    openProblems: 0,
    grantedRequests: 0,
    lastDeliveryAge: null,
  });
  expect(await readVerdictGauges(store, { warehouses: ['main'], days: 9 })).toEqual([
    { warehouse: 'main', unproven: 0, suspiciousEmpty: 0 },
  ]);
});

test('tells the age of live changes apart from a backlog of old calls', async () => {
  await store.query(
    `INSERT INTO ledger (call_id, revision, call_timestamp) VALUES ('old', 1, now() - interval '9 years'), ('new', 1, now() - interval '1 hour')`,
  );
  const mark = (id: string, kind: 'change' | 'backlog') =>
    store.transaction((tx) => markPending(tx, ['main'], [id], kind));
  await mark('old', 'backlog');
  const [backlog] = (await read()).warehouses;
  expect([backlog?.pending, backlog?.liveOldestAge]).toEqual([1, null]);
  await mark('new', 'change');
  // What a backfill sees again of a change that waits does not make it wait longer.
  await mark('new', 'backlog');
  await store.query(`UPDATE warehouse_calls SET queue_position = queue_position + 1200 WHERE call_id = 'new'`);
  const [live] = (await read()).warehouses;
  expect(live?.pending).toBe(2);
  expect(live?.liveOldestAge).toBeGreaterThan(1_199);
  expect(live?.liveOldestAge).toBeLessThan(1_300);
  await store.query(`UPDATE warehouse_calls SET pending = false, applied_revision = 1, applied_at = now()`);
  const [loaded] = (await read()).warehouses;
  expect([loaded?.pending, loaded?.liveOldestAge]).toEqual([0, null]);
  expect(Date.now() - (loaded?.newestVisible ?? 0)).toBeGreaterThan(3_590_000);
  expect(Date.now() - (loaded?.newestVisible ?? 0)).toBeLessThan(3_700_000);
});

test('tells how far sync is, and what of the request limit is granted', async () => {
  await store.query(
    `INSERT INTO watermarks (name, axis, watermark, seen_to, last_error)
     VALUES ('sync', 'qualified', now() - interval '2 days', now() - interval '20 minutes', 'SERVICE_UNREACHABLE')`,
  );
  await store.query(
    `INSERT INTO request_limits (name, slots) VALUES ('source', ARRAY[1, extract(epoch FROM now()) * 1000000]::bigint[])`,
  );
  const { sync, grantedRequests } = await read();
  expect(sync?.lag).toBeGreaterThan(1_199);
  expect(sync?.watermarkAge).toBeGreaterThan(172_799);
  expect([sync?.lastError, grantedRequests]).toEqual(['SERVICE_UNREACHABLE', 1]);
});
