/** Ledgers and warehouses that were restored from a backup or lost, noticed by maintenance and healed without the service. */

import { randomBytes } from 'node:crypto';
import { appendFile, readFile, writeFile } from 'node:fs/promises';
import { afterEach, expect, onTestFinished, test } from 'vitest';
import type { IngestDeps } from '../../../src/pipeline/deps.ts';
import { checkBeforeLoad, createLedgerCheck, hasLost } from '../../../src/pipeline/load/check-ledger.ts';
import { loadPending } from '../../../src/pipeline/load/load-pending.ts';
import { sendAgain } from '../../../src/store/loads/compared.ts';
import { eraseCalls } from '../../../src/store/persons/calls.ts';
import { migrateStore, openStore } from '../../../src/store/store.ts';
import { countRows } from '../../../src/warehouse/content-hash.ts';
import { createRestoreChecks } from '../../../src/warehouse/restore.ts';
import type { Warehouse } from '../../../src/warehouse/warehouse.ts';
import { backUp } from '../../support/backup.ts';
import { observationOf, usePipeline } from '../../support/pipeline.ts';
import { column, queryBy } from '../../support/rows.ts';

const pipeline = usePipeline();
afterEach(async () => {
  await query('UPDATE warehouses SET walk_after = NULL, compared_at = NULL');
  await query('DELETE FROM rereads');
});
const query = (sql: string) => pipeline.query(sql);
const said: string[] = [];
const checkOf = (warehouse: Warehouse, store = pipeline.store) =>
  createLedgerCheck({ store, warehouses: [warehouse], say: (message) => void said.push(message) });
const check = async (): Promise<readonly string[]> => {
  said.length = 0;
  await checkOf(pipeline.warehouse).run();
  return said;
};
let clock = 1_700_000_000_000_000;
type Calls = [id: string, status: string][];
const writeTo = async (deps: IngestDeps, ...calls: Calls): Promise<void> => {
  clock += 1_000_000;
  const observations = calls.map(([id, status]) => observationOf(id, clock, { status }));
  await pipeline.observe(observations, deps);
};
const write = (...calls: Calls) => writeTo(pipeline.deps, ...calls);
const erase = (...ids: string[]) => eraseCalls(pipeline.store, ids);
const inWarehouse = async () =>
  Object.fromEntries((await pipeline.warehouse.query('SELECT call_id, status FROM calls')).map(Object.values));
const rereads = () => column(pipeline.store, `SELECT call_id || ' ' || reason FROM rereads ORDER BY 1`);
const ledger = () => backUp(pipeline.store.pool, 'callsync');

test('nothing is sent again where nothing was restored, also by loads under way', async () => {
  await write(['a', 'v1'], ['b', 'v1']);
  const epoch = await pipeline.store.epoch();
  expect(await check()).toEqual([]);
  await Promise.all([write(['c', 'v1']), check(), write(['d', 'v1']), check(), write(['e', 'v1'])]);
  expect(await check()).toEqual([]);
  expect(await pipeline.store.epoch()).toBe(epoch);
  expect(await pipeline.drain()).toEqual({ sent: 0, changed: 0 });
});

test('a ledger set back under workers asks the service for the calls of a load that was under way', async () => {
  await write(['a', 'v1']);
  const restore = await ledger();
  const slow = pipeline.depsWith({
    load: async (batch) => {
      await restore();
      await write(['a', 'v1'], ['b', 'v1']);
      await check();
      return await pipeline.warehouse.load(batch);
    },
  });
  await write(['b', 'v0']);
  await writeTo(slow, ['a', 'v2']);
  expect(await inWarehouse()).toMatchObject({ a: 'v2' });
  expect(await rereads()).toContain('a restored');
});

test('a warehouse that was set back gets what it was sent since, deliveries and erasures too', async () => {
  await write(['a', 'v1'], ['b', 'v1'], ['gone', 'v1']);
  expect(await check()).toEqual([]);
  const restore = await backUp(pipeline.store.pool, 'wh_main');
  await pipeline.send([{ unique_id: 'w', status: 'void' }]);
  await write(['a', 'v2']);
  await erase('gone');
  await pipeline.drain();
  // Its clock was set back between plan and commit.
  await query(`UPDATE warehouse_calls SET applied_at = applied_at - interval '1 minute' WHERE call_id = 'gone'`);
  await restore();
  await write(['new', 'v1']);
  expect(await hasLost(pipeline.store, pipeline.warehouse)).toBe(true);
  expect(await inWarehouse()).toEqual({ a: 'v1', b: 'v1', gone: 'v1', new: 'v1' });
  expect(await check()).toMatchObject([expect.stringContaining('lacks earlier loads')]);
  await pipeline.drain();
  expect(await inWarehouse()).toEqual({ a: 'v2', b: 'v1', new: 'v1', w: 'void' });
  expect((await countRows(pipeline.warehouse)).deliveries).toBe(1);
  expect(await check()).toEqual([]);
  expect(await hasLost(pipeline.store, pipeline.warehouse)).toBe(false);
});

test('a warehouse gets its deliveries again by indexes, however many there are', async () => {
  const plans: string[] = [];
  await pipeline.store.transaction(async (tx) => {
    await tx.query('SET LOCAL enable_seqscan = off');
    const explain = queryBy(async (sql, values) => {
      plans.push(JSON.stringify(await tx.query(`EXPLAIN ${sql}`, values)));
      return [];
    });
    await sendAgain({ ...tx, query: explain }, 'main', { since: 1, loadIds: [] });
  });
  const ofInbox = plans.filter((plan) => plan.includes(' inbox'));
  expect(ofInbox.length).toBeGreaterThan(0);
  expect(ofInbox.filter((plan) => !/Index Cond: \(received_at|inbox_erased/.test(plan))).toEqual([]);
});

const run = async (...written: Calls) => {
  const ledgerCheck = checkOf(pipeline.warehouse);
  await ledgerCheck.run();
  const running = pipeline.depsWith(checkBeforeLoad(pipeline.warehouse, ledgerCheck));
  await writeTo(running, ...written);
  return {
    ledgerCheck,
    write: (...calls: Calls) => writeTo(running, ...calls),
    drain: async () => {
      while ((await loadPending(running, { warehouse: 'main', origin: 'test', graceSeconds: 0 })).sent > 0);
    },
  };
};
const anew = () => migrateStore(pipeline.store);

type Worker = Awaited<ReturnType<typeof run>>;
const load = (worker: Worker) => worker.write(['b', 'v2']);
const look = (worker: Worker) => worker.ledgerCheck.watch();

test.each([
  ['row by row', 'the next load', undefined, load],
  ['as tables made anew', 'the next load', anew, load],
  ['row by row', 'looking at it', undefined, look],
  ['as tables made anew', 'looking at it', anew, look],
])('under running workers: a ledger set back %s: %s notices, and asks for the rest', async (_how, _by, how, notice) => {
  const worker = await run(['a', 'v1'], ['b', 'v1']);
  const restore = await ledger();
  await worker.write(['a', 'v2'], ['new', 'v1'], ['gone', 'v1'], ['late', 'v1']);
  await erase('gone');
  await worker.drain();
  await erase('late');
  const epoch = await pipeline.store.epoch();
  await look(worker);
  expect(await pipeline.store.epoch()).toBe(epoch);
  await restore(how);
  await notice(worker);
  expect(await pipeline.store.epoch()).toBe(epoch + 1);
  expect(await inWarehouse()).toEqual({ a: 'v2', b: 'v1', late: 'v1', new: 'v1' });
  expect(await rereads()).toEqual(['a restored', 'new restored']);
  await worker.write(['a', 'v3'], ['b', 'v3'], ['gone', 'v2']);
  await worker.drain();
  expect(await inWarehouse()).toEqual({ a: 'v3', b: 'v3', new: 'v1' });
  expect(await check()).toEqual([]);
});

test.each(['TRUNCATE', 'DELETE FROM'])(
  'a ledger emptied by %s, whose loads stay, asks for all of its calls',
  async (verb) => {
    const worker = await run(['a', 'v1'], ['b', 'v1']);
    const epoch = await pipeline.store.epoch();
    for (const table of ['ledger', 'ledger_documents', 'warehouse_calls']) await query(`${verb} ${table}`);
    for (let looks = 0; looks < 2; looks += 1) await look(worker);
    expect(await pipeline.store.epoch()).toBe(epoch + 1);
    expect(await rereads()).toEqual(['a restored', 'b restored']);
  },
);

test('under running workers, the new epoch comes first; the next check does what was interrupted', async () => {
  const worker = await run(['a', 'v1'], ['b', 'v1']);
  const restore = await ledger();
  await worker.write(['a', 'v2'], ['new', 'v1']);
  const epoch = await pipeline.store.epoch();
  await restore();
  const { store, warehouse: target } = pipeline;
  const asked: Warehouse['query'] = (sql) =>
    /SELECT call_id, revision/.test(sql) ? Promise.reject(new Error('too long')) : target.query(sql);
  await expect(checkOf({ ...target, restore: createRestoreChecks(asked) }).run()).rejects.toThrow('too long');
  expect(await store.epoch()).toBe(epoch + 1);
  await check();
  expect(await store.epoch()).toBe(epoch + 1);
  expect(await rereads()).toEqual(['a restored', 'new restored']);
  expect(await query('SELECT FROM epochs WHERE healing')).toEqual([]);
});

test('under running workers: a ledger that is being restored is left alone', async () => {
  const worker = await run(['a', 'v1']);
  await query('ALTER TABLE load_calls RENAME CONSTRAINT load_calls_load_id_fkey TO kept');
  const definition = `SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = 'kept'`;
  const [sql] = await column(pipeline.store, definition);
  await query('ALTER TABLE load_calls DROP CONSTRAINT kept');
  const epoch = await pipeline.store.epoch();
  await worker.write(['a', 'v2']);
  for (let n = 0; n < 5; n += 1) await worker.ledgerCheck.watch();
  expect(await inWarehouse()).toEqual({ a: 'v1' });
  await query(`ALTER TABLE load_calls ADD CONSTRAINT load_calls_load_id_fkey ${sql}`);
  await worker.drain();
  expect(await inWarehouse()).toEqual({ a: 'v2' });
  expect(await pipeline.store.epoch()).toBe(epoch);
});

test('a ledger that stays dropped is created anew, above the warehouse, and nothing erased comes back', async () => {
  const worker = await run(['a', 'v1'], ['gone', 'v1']);
  await erase('gone');
  await worker.drain();
  const epoch = await pipeline.store.epoch();
  await query('DROP SCHEMA callsync CASCADE');
  await worker.ledgerCheck.watch();
  await worker.ledgerCheck.watch();
  await expect(worker.write(['a', 'v2'])).rejects.toMatchObject({ code: 'DATABASE_INCOMPLETE', kind: 'transient' });
  await worker.ledgerCheck.watch();
  expect(await pipeline.store.epoch()).toBe(epoch + 1);
  await worker.write(['a', 'v2'], ['gone', 'v2']);
  await worker.drain();
  expect(await inWarehouse()).toEqual({ a: 'v2' });
  expect(await pipeline.tombstonesOf(['gone'])).toEqual({ gone: true });
});

test('under running workers, a dropped column is made again before the second load', async () => {
  const worker = await run(['a', 'v1']);
  await query('ALTER TABLE wh_main.calls DROP COLUMN status CASCADE');
  await worker.write(['a', 'v2']);
  await worker.write(['b', 'v1']);
  await worker.drain();
  expect(await inWarehouse()).toEqual({ a: 'v2', b: 'v1' });
});

test('under running workers: a warehouse that was dropped, or set back, is filled again', async () => {
  const worker = await run(['a', 'v1'], ['b', 'v1'], ['gone', 'v1']);
  await erase('gone');
  await worker.drain();
  await query('DROP SCHEMA wh_main CASCADE');
  await worker.write(['a', 'v2']);
  // Temporal tries again what failed so.
  await expect(worker.drain()).rejects.toMatchObject({ code: 'WAREHOUSE_RESTORED', kind: 'transient' });
  await worker.drain();
  expect(await inWarehouse()).toEqual({ a: 'v2', b: 'v1' });
  const restore = await backUp(pipeline.store.pool, 'wh_main');
  await worker.write(['b', 'v2']);
  await restore();
  await worker.write(['a', 'v3']);
  await worker.drain();
  expect(await inWarehouse()).toEqual({ a: 'v3', b: 'v2' });
});

test('a worker with another key of tombstones is refused', async () => {
  await check();
  const { erasures } = pipeline.store;
  const key = Buffer.from('another key of tombstones');
  const other = await openStore({ url: pipeline.url, erasures: () => ({ ...erasures, key }) });
  onTestFinished(() => other.close());
  await expect(checkOf(pipeline.warehouse, other).run()).rejects.toMatchObject({ code: 'TOMBSTONE_KEY' });
});

test('foreign rows and lines that are no ids and keys hold up neither comparisons nor loads', async () => {
  await write(['a', 'v1']);
  await check();
  const long = randomBytes(3_000).toString('hex');
  const forgeLoad = (id: string) =>
    query(`INSERT INTO wh_main.loads (load_id, ledger_epoch, flatten_version, origin, calls_sent, calls_changed, loaded_at)
      SELECT '${id}', ledger_epoch, flatten_version, origin, 0, 0, now() FROM wh_main.loads LIMIT 1`);
  await forgeLoad("o''brien");
  expect(await check()).toEqual([]);
  await query(`INSERT INTO wh_main.tombstones VALUES ('o''brien', 1, 1, 'forged', now())`);
  const receipt = { receipt_id: 1, receipt: '{}', key_id: 'k', previous_digest: null, digest: 'd' };
  const hold = { id: 'h', kind: 'call', reason: 'r', actor: 'a', at: 'today', calls: [], subjects: [] };
  const receipts = [null, {}, 'x', { ...receipt, receipt_id: 'first' }, { ...receipt, digest: '\0' }];
  const lines = [
    ...receipts.map((one) => ({ receipt: one })),
    ...[null, {}, hold, { ...hold, calls: undefined }].map((one) => ({ hold: one })),
    ...['\0', long, 5, null].flatMap((one) => [{ call: one }, { person: one }, { objection: one }, { unheld: one }]),
    null,
    [],
  ];
  const before = await readFile(pipeline.erasureLog, 'utf8').catch(() => '');
  await appendFile(pipeline.erasureLog, `\n${lines.map((line) => `${JSON.stringify(line)}\n`).join('')}`);
  // As a ledger that was set back has it: every line and tombstone is read.
  await forgeLoad('unknown');
  expect(await check()).toMatchObject([expect.stringContaining('epoch')]);
  await pipeline.drain();
  await write(['a', 'v2']);
  expect(await inWarehouse()).toMatchObject({ a: 'v2' });
  expect(await check()).toEqual([]);
  await writeFile(pipeline.erasureLog, before);
  await query('TRUNCATE wh_main.tombstones');
});

test('a ledger whose tables alone are set back brings no erased call back', async () => {
  await write(['a', 'v1'], ['gone', 'v1']);
  const tables = ['ledger', 'ledger_documents'];
  for (const table of tables) await query(`CREATE TABLE kept_${table} AS SELECT * FROM ${table}`);
  await erase('gone');
  await pipeline.drain();
  await query(
    tables.map((table) => `DELETE FROM ${table}; INSERT INTO ${table} SELECT * FROM kept_${table}`).join(';'),
  );
  await write(['a', 'v2'], ['gone', 'v2']);
  await pipeline.drain();
  expect(await inWarehouse()).toEqual({ a: 'v2' });
  expect(await query("SELECT 1 FROM ledger_documents WHERE call_id = 'gone'")).toEqual([]);
});
