import { expect, test } from 'vitest';
import { flattenVersion } from '../../../src/calls/flatten.ts';
import { readHealth } from '../../../src/health/read-health.ts';
import { loadPendingBatch } from '../../../src/pipeline/load/load-pending.ts';
import { runMaintenance } from '../../../src/pipeline/load/maintenance.ts';
import { walkBatch, walkToEnd } from '../../../src/store/loads/walk.ts';
import { registerWarehouse } from '../../../src/store/loads/warehouses.ts';
import { readWithdrawals } from '../../../src/store/windows/verdicts.ts';
import { observationOf, register, retention, usePipeline } from '../../support/pipeline.ts';
import { asAdmin, runOnServer } from '../../support/postgres.ts';

const pipeline = usePipeline();

const keep = () => runMaintenance({ ...pipeline.deps, retention });
const query: typeof pipeline.query = (sql, values) => pipeline.query(sql, values);
const ageWarehouse = (name: string, interval: string) =>
  query('UPDATE warehouses SET configured_at = now() - $2::interval WHERE name LIKE $1', [name, interval]);
const fold = (...ids: string[]) => pipeline.observe(ids.map((id) => observationOf(id, 1)));

test('calls flattened by an older version are sent again once a newer version registers', async () => {
  await fold('a', 'b');
  await query(`UPDATE wh_main.calls SET flatten_version = 0 WHERE call_id = 'a'`);
  await query(`UPDATE warehouse_calls SET applied_flatten = 0 WHERE call_id = 'a'`);
  await query('UPDATE warehouses SET flatten_version = 0');
  expect(await register(pipeline.store, 'main')).toBe(1);
  expect(await pipeline.drain()).toEqual({ sent: 1, changed: 1 });
  expect(await register(pipeline.store, 'main')).toBe(0);
});

test('a publication of all tables stops neither maintenance nor loads; failed maintenance is told', async () => {
  const tables = `SELECT c.oid::regclass::text FROM pg_class c WHERE relkind = 'r' AND relnamespace IN ('callsync'::regnamespace, 'wh_main'::regnamespace)
     AND relreplident <> 'f' AND NOT EXISTS (SELECT FROM pg_index WHERE indrelid = c.oid AND indisprimary)`;
  expect(await query(tables)).toEqual([]);
  const admin = asAdmin(pipeline.url);
  await runOnServer(admin, 'CREATE PUBLICATION everything FOR ALL TABLES');
  await fold('a', 'b');
  await pipeline.send([{ unique_id: 'c' }]);
  await query(`INSERT INTO late_changes VALUES (now() - interval '2 years', 'processed', 1, 1, 1)`);
  expect(await keep()).toMatchObject({ expired: {} });
  expect((await readHealth(pipeline.store)).maintenance).toBeNull();
  await query('ALTER TABLE counters REPLICA IDENTITY DEFAULT');
  await fold('d');
  const refused = { code: 'DATABASE_ERROR', hint: expect.stringContaining('REPLICA IDENTITY FULL') };
  for (const seconds of [0, 60]) {
    await query(`UPDATE meta SET updated_at = updated_at - $1 * interval '1 s' WHERE key = 'maintenance'`, [seconds]);
    await expect(keep()).rejects.toMatchObject(refused);
  }
  const told = (await readHealth(pipeline.store)).maintenance;
  expect(told?.error).toMatch(/SQLSTATE 55000, cannot delete from table "counters"/);
  expect(told?.age).toBeGreaterThan(59);
  await runOnServer(admin, 'DROP PUBLICATION everything');
  await keep();
  expect((await readHealth(pipeline.store)).maintenance).toBeNull();
});

test('ends of processing by another field are read again, and their days are proven anew', async () => {
  const closed = '2026-01-02T00:00:00.000Z';
  const fields = { qualified: '2026-01-01T00:00:00.000Z', meta: { closed } };
  await pipeline.observe(['e', 'f'].map((id) => observationOf(id, 1, fields)));
  const ends = (table = 'ledger') => query(`SELECT DISTINCT processed_at AS at FROM ${table}`);
  const byClosed = { ...pipeline.deps, processedField: 'meta.closed', retention };
  const withdrawals = async () => (await readWithdrawals(pipeline.store, 'main')).count;
  await keep();
  const before = await withdrawals();
  await runMaintenance(byClosed);
  expect(await ends()).toEqual([{ at: new Date(closed) }]);
  expect(await withdrawals()).toBeGreaterThan(before);
  expect(await loadPendingBatch(byClosed, pipeline.target, { origin: 'fill' })).toMatchObject({ changed: 2 });
  expect(await ends('wh_main.calls')).toEqual([{ at: new Date(closed) }]);
  // As an earlier version left it.
  await query(`UPDATE ledger SET processed_at = NULL; DELETE FROM meta WHERE key = 'processed_field'`);
  await runMaintenance(byClosed);
  expect(await ends()).toEqual([{ at: new Date(closed) }]);
  const after = await withdrawals();
  await runMaintenance(byClosed);
  expect(await withdrawals()).toBe(after);
  await keep();
});

test('unconfigured warehouses alone leave waiting deliveries, and lose their calls and loads later', async () => {
  await registerWarehouse(pipeline.store, 'gone', flattenVersion);
  await query(`INSERT INTO unloaded_deliveries VALUES ('gone', false, 1), ('main', false, 1)`);
  await keep();
  expect(await query('SELECT warehouse FROM unloaded_deliveries ORDER BY 1')).toHaveLength(2);
  await ageWarehouse('%', '8 days');
  await keep();
  expect(await query('SELECT warehouse FROM unloaded_deliveries')).toEqual([{ warehouse: 'main' }]);
  await registerWarehouse(pipeline.store, 'gone', flattenVersion);
  await fold('a', 'b');
  await pipeline.drain();
  await query(`INSERT INTO loads (load_id, warehouse, epoch, flatten_version, origin, calls)
      VALUES ('l', 'gone', 1, 1, 'test', 1)`);
  await query(`INSERT INTO events (kind, what, at) SELECT 'test', d::text, now() - make_interval(days => d)
      FROM unnest(ARRAY[399, 401]) AS d`);
  const left = async () => ({
    calls: await query(`SELECT warehouse, count(*)::int AS n FROM warehouse_calls WHERE warehouse IN ('gone', 'main')
        GROUP BY 1 ORDER BY 1`),
    loads: await query('SELECT DISTINCT warehouse FROM loads ORDER BY 1'),
    events: await query(`SELECT what FROM events WHERE kind = 'test'`),
  });
  await ageWarehouse('gone', '399 days');
  await keep();
  const [gone, main] = [{ warehouse: 'gone' }, { warehouse: 'main' }];
  const calls = [gone, main].map((one) => ({ ...one, n: 2 }));
  expect(await left()).toMatchObject({ calls, loads: [gone, main] });
  await ageWarehouse('gone', '401 days');
  await keep();
  expect(await left()).toEqual({ calls: calls.slice(1), loads: [main], events: [{ what: '399' }] });
  // One that comes back is sent everything.
  await registerWarehouse(pipeline.store, 'gone', flattenVersion);
  expect(await walkToEnd(pipeline.store, 'gone')).toBe(2);
});

test('warehouses get the calls of a fold that was under way when they registered, and did not know them', async () => {
  await pipeline.store.transaction(async (folding) => {
    await folding.query(`INSERT INTO ledger (call_id, revision) VALUES ('late', 1)`);
    await registerWarehouse(pipeline.store, 'young', flattenVersion);
    expect(await walkBatch(pipeline.store, 'young')).toEqual({ marked: 0, state: 'waiting' });
  });
  expect(await walkToEnd(pipeline.store, 'young')).toBe(1);
});
