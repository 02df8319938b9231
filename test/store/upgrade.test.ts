/** A version takes over the store, the inbox and the spool of the release before it, while that release's workers run. */
import { cp } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { mergeBatch } from '../../src/pipeline/load/merge-inbox.ts';
import { repeatTransaction } from '../../src/postgres/database.ts';
import { readRows } from '../../src/store/ledger/ledger.ts';
import type { Migrations } from '../../src/store/migrations.ts';
import { migrateStore, openStore } from '../../src/store/store.ts';
import { uncoveredRanges } from '../../src/store/windows/windows.ts';
import { openSpool } from '../../src/webhook/spool/spool.ts';
import { useFolder } from '../support/folder.ts';
import { useOpened } from '../support/opened.ts';
import { observationOf, openPipeline, register, untilBlocked } from '../support/pipeline.ts';
import { asAdmin, roleForTest } from '../support/postgres.ts';
import { column } from '../support/rows.ts';
import { releaseFolder, restoreReleased } from './released.ts';

const released = useOpened(() => openPipeline({}, restoreReleased));

test('the calls of a released store load, its windows count as read, and its inbox merges', async () => {
  const { store, deps } = released;
  const day = Date.UTC(2026, 0, 1) * 1000;
  expect(await uncoveredRanges(store, { axis: 'timestamp', from: day, to: day + 86_400_000_000 })).toEqual([]);
  expect(await mergeBatch(deps, 10)).toMatchObject({ deliveries: 1, outcomes: { accepted: 1 } });
  const target = await released.addWarehouse('second');
  expect(await register(store, 'second')).toBe(4);
  await released.drain(target);
  const statuses = await column(target.warehouse, `SELECT call_id || ' ' || status FROM calls ORDER BY 1`);
  expect(statuses).toEqual(['a qualified', 'b qualified', 'c qualified', 'd void']);
});

const dir = useFolder('released');

test('a released spool is drained', async () => {
  await cp(new URL('spool', releaseFolder), dir, { recursive: true });
  const config = { max_bytes: 1_000_000, min_free_bytes: 0, segment_bytes: 100_000, damaged_retention: 86_400_000 };
  const spool = await openSpool({ dir, config, lockWaitMs: 0, log: { info() {}, warn() {}, error() {} } });
  expect((await spool.read(10)).map(({ deliveryId }) => deliveryId)).toEqual(['e', 'f']);
  await spool.close();
});

test('a store that logical replication copied without its sequences takes rows again', async () => {
  const { store, url } = released;
  const note = () => store.value<string>`INSERT INTO events (kind, what) VALUES ('test', 'it') RETURNING id`;
  for (let count = 0; count < 3; count += 1) await note();
  const before = await note();
  await store.query(`SELECT setval('events_id_seq', ${before} - 3)`);
  await expect(note()).rejects.toThrow('23505');
  await (await openStore({ url, max: 1 })).close();
  expect(Number(await note())).toBe(Number(before) + 1);
  // As it is, a sequence stays where it is.
  const state = () => store.query('SELECT last_value, is_called FROM events_id_seq');
  const known = await state();
  await migrateStore(store);
  expect(await state()).toEqual(known);
});

test('a role that has every right on tables, and none on sequences, opens the store', async () => {
  const name = new URL(released.url).pathname.slice(1);
  const { url } = await roleForTest(
    { url: released.url, adminUrl: asAdmin(released.url) },
    (role) => `GRANT ALL ON SCHEMA callsync TO ${role}; GRANT ALL ON ALL TABLES IN SCHEMA callsync TO ${role};
      GRANT CREATE ON DATABASE ${name} TO ${role}`,
  );
  await (await openStore({ url, max: 1 })).close();
});

test('the next version starts beside this one, until it removes something that this one uses', async () => {
  const { store, url } = released;
  let next: Migrations = { '2-expand-notes': 'ALTER TABLE ledger ADD COLUMN notes text' };
  const fold = (id: string) => released.observe([observationOf(id, 1)]);
  const foldMany = async () => {
    for (let index = 0; index < 30; index += 1) await fold(`beside-${index}`);
  };
  await Promise.all([migrateStore(store, next), migrateStore(store, next), foldMany()]);
  expect(await migrateStore(store, next)).toBe(false);
  await fold('after');
  expect((await readRows(store, ['beside-29', 'after'])).size).toBe(2);
  await (await openStore({ url, max: 1 })).close();

  const columns = ['ledger', 'inbox'].map((table) => `ALTER TABLE ${table} ADD COLUMN crossed text`);
  next = { ...next, '3-expand-crossed': columns.join(';') };
  let crossed: Promise<boolean> | undefined;
  // It locks in another order than the migration, which waits first: PostgreSQL ends the migration.
  await repeatTransaction(store, async (tx) => {
    await tx.query('SELECT FROM inbox');
    crossed ??= migrateStore(store, next);
    await untilBlocked(store, crossed);
    await tx.query('SELECT FROM ledger');
  });
  expect(await crossed).toBe(false);

  next = { ...next, '3-expand-slow': 'ALTER TABLE ledger ADD COLUMN slow text' };
  let waiting: Promise<boolean> | undefined;
  // A report, say. The queries of others do not wait for its end.
  await store.transaction(async (tx) => {
    await tx.query('SELECT FROM ledger');
    waiting = migrateStore(store, next);
    await untilBlocked(store, waiting);
    await store.query('SELECT FROM ledger');
  });
  expect(await waiting).toBe(false);

  const broken = { '4-expand-broken': 'ALTER TABLE ledger ADD COLUMN more text; SELECT 1/0' } as const;
  await expect(migrateStore(store, { ...next, ...broken })).rejects.toThrow();
  await store.query('ALTER TABLE ledger ADD COLUMN more text');
  await migrateStore(store, { ...next, '5-contract-notes': 'ALTER TABLE ledger DROP COLUMN notes' });
  const names = await store.query('SELECT name FROM migrations');
  await expect(openStore({ url, max: 1 })).rejects.toMatchObject({ code: 'STORE_SCHEMA', kind: 'terminal' });
  expect(await store.query('SELECT name FROM migrations')).toEqual(names);
});
