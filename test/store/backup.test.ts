/** The store as files, and back: as the commands do it, under connections that stay open. */
import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createLedgerCheck } from '../../src/pipeline/load/check-ledger.ts';
import { ingest, loadFolded } from '../../src/pipeline/load/ingest.ts';
import type { Database } from '../../src/postgres/database.ts';
import { backUpStore } from '../../src/store/backup/back-up-store.ts';
import { manifestPath, tablePath } from '../../src/store/backup/manifest.ts';
import { restoreStore } from '../../src/store/backup/restore-store.ts';
import { repairCounters } from '../../src/store/counters.ts';
import { setUpReceiverRole } from '../../src/store/delivery/receiver-role.ts';
import { createLease } from '../../src/store/loads/lease.ts';
import { listMigrations, migrateWithin } from '../../src/store/migrate.ts';
import { openStoreAsItIs } from '../../src/store/store.ts';
import { observationOf, openPipeline, type Pipeline } from '../support/pipeline.ts';
import { createDatabase, type TestDatabase } from '../support/postgres.ts';

let pipeline: Pipeline;
let other: TestDatabase;
let database: Database;
let folder: string;
beforeAll(async () => {
  pipeline = await openPipeline();
  other = await createDatabase();
  database = openStoreAsItIs(pipeline.url);
  folder = await mkdtemp(join(tmpdir(), 'callsync-backup-'));
});
afterAll(async () => {
  await database?.close();
  await pipeline?.close();
  await other?.drop();
  await rm(folder, { recursive: true, force: true });
});

let clock = 1_700_000_000_000_000;
const write = async (...calls: [id: string, status: string][]): Promise<void> => {
  clock += 1_000_000;
  const observations = calls.map(([id, status]) => observationOf(id, clock, { status }));
  await loadFolded(pipeline.deps, await ingest(pipeline.deps, { observations, rejected: [], origin: 'test' }));
};
const backUp = (of: Database, name: string) =>
  backUpStore(of, { folder: join(folder, name), version: 'test', onTable: () => undefined });
const restore = (to: Database, name: string, replace = false) =>
  restoreStore(to, { folder: join(folder, name), replace, onTable: () => undefined });
const idsIn = async (of: Database): Promise<unknown[]> =>
  (await of.query<{ id: string }>('SELECT call_id AS id FROM callsync.ledger ORDER BY 1')).map(({ id }) => id);
const inWarehouse = async () =>
  (await pipeline.warehouse.query('SELECT call_id, status FROM calls ORDER BY 1')).map((row) => Object.values(row));

test('a store that was set back is as it was, and the workers notice it', async () => {
  const receiver = `receiver_${randomBytes(4).toString('hex')}`;
  await setUpReceiverRole(pipeline.store, receiver, 'a password');
  try {
    await write(['a', 'v1'], ['b', 'v1']);
    const { tables } = await backUp(database, 'monday');
    expect(tables.find(({ name }) => name === 'ledger')?.rows).toBe(2);
    await expect(backUp(database, 'monday')).rejects.toMatchObject({ code: 'USAGE_FILE' });
    await write(['a', 'v2'], ['new', 'v1']);

    await expect(restore(database, 'monday')).rejects.toMatchObject({ code: 'STORE_NOT_EMPTY' });
    expect(await idsIn(pipeline.store)).toEqual(['a', 'b', 'new']);
    expect(await restore(database, 'monday', true)).toMatchObject({ migrated: [], receivers: [receiver] });
    expect(await idsIn(pipeline.store)).toEqual(['a', 'b']);
    expect(await repairCounters(pipeline.store)).toEqual([]);
    const [right] = await database.query(`SELECT has_table_privilege($1, 'callsync.inbox', 'INSERT') AS add`, [
      receiver,
    ]);
    expect(right).toEqual({ add: true });

    const epoch = await pipeline.store.epoch();
    const { store, warehouse } = pipeline;
    const check = createLedgerCheck({
      store,
      warehouses: [warehouse],
      lease: createLease(store),
      say: () => undefined,
    });
    await check.run();
    expect(await store.epoch()).toBe(epoch + 1);
    await write(['a', 'v3']);
    await pipeline.drain();
    expect(await inWarehouse()).toEqual([
      ['a', 'v3'],
      ['b', 'v1'],
      ['new', 'v1'],
    ]);
  } finally {
    await database.query(`DROP OWNED BY ${receiver}`);
    await database.query(`DROP ROLE ${receiver}`);
  }
});

test('a lost store is restored; a backup that is damaged, of a newer version, or none, changes nothing', async () => {
  await backUp(database, 'tuesday');
  const ids = await idsIn(pipeline.store);
  await database.query('DROP SCHEMA callsync CASCADE');
  await expect(backUp(database, 'nothing')).rejects.toMatchObject({ code: 'STORE_MISSING' });
  await restore(database, 'tuesday');
  expect(await idsIn(pipeline.store)).toEqual(ids);

  const manifest = manifestPath(join(folder, 'tuesday'));
  const text = await readFile(manifest, 'utf8');
  await writeFile(manifest, text.replace('"0001_init.sql"', '"0001_init.sql", "9999_of_the_future.sql"'));
  await expect(restore(database, 'tuesday', true)).rejects.toMatchObject({ code: 'BACKUP_NEWER' });
  await writeFile(manifest, text);
  await writeFile(tablePath(join(folder, 'tuesday'), 'ledger'), 'cut off');
  await expect(restore(database, 'tuesday', true)).rejects.toMatchObject({ code: 'BACKUP_DAMAGED' });
  await expect(restore(database, 'nowhere', true)).rejects.toMatchObject({ code: 'USAGE_FILE' });
  expect(await idsIn(pipeline.store)).toEqual(ids);
});

test('a backup is of the version that the store has, and is migrated when it is restored', async () => {
  const old = openStoreAsItIs(other.url);
  try {
    const files = await listMigrations();
    const first = files.slice(0, -4);
    await old.transaction((tx) => migrateWithin(tx, first));
    await old.query(`INSERT INTO ledger (call_id, revision, processed_at) VALUES ('old', 1, now())`);
    expect((await backUp(old, 'old')).migrations).toHaveLength(first.length);
    await old.query('DROP SCHEMA callsync CASCADE');
    expect(await restore(old, 'old')).toMatchObject({ migrated: files.slice(-4) });
    expect(await idsIn(old)).toEqual(['old']);
    const [count] = await old.query(`SELECT sum(value)::int AS calls FROM counters WHERE name = 'calls'`);
    expect(count).toEqual({ calls: 1 });
  } finally {
    await old.close();
  }
});
