/** Where rows may be under dates that the ledger does not know, every commit looks for them, until the last is replaced. */

import { expect, onTestFinished, test } from 'vitest';
import { createLedgerCheck } from '../../../src/pipeline/load/check-ledger.ts';
import { expireRows } from '../../../src/store/retention.ts';
import { countRows } from '../../../src/warehouse/digest.ts';
import { observationOf, openPipeline, register } from '../../support/pipeline.ts';
import { makeBatch, makeCall, rowsOfCall } from '../batches.ts';
import { setUpStrict } from './strict-warehouse.ts';

test('the fence is cleared once no row of an earlier epoch is left', async () => {
  const clock = { now: Date.now() };
  const setup = await setUpStrict();
  const warehouse = setup.open({ clock: () => clock.now });
  const load = (callId: string, epoch: number) =>
    warehouse.load(makeBatch({ epoch, calls: [makeCall({ callId, revision: 1 })] }));
  const earlier = async () => (await warehouse.query('SELECT earlier_epochs AS e FROM fence'))[0]?.e;
  onTestFinished(() => setup.dispose());
  await warehouse.load(makeBatch({ calls: ['a', 'b'].map((callId) => makeCall({ callId })) }));
  expect(await load('a', 2)).toMatchObject({ changed: 1, unchanged: 0 });
  clock.now += 3_700_000;
  expect(await load('b', 2)).toMatchObject({ changed: 1, unchanged: 0 });
  expect(await earlier()).toBe(true);
  clock.now += 3_700_000;
  expect(await load('c', 2)).toMatchObject({ changed: 1, unchanged: 0 });
  expect(await earlier()).toBe(false);
  expect(await countRows(warehouse)).toMatchObject({ calls: 3 });
});

test('a dataset whose calls the store has forgotten, or knows under another name, gets no call twice', async () => {
  const [pipeline, setup] = await Promise.all([openPipeline(), setUpStrict()]);
  const { store, query } = pipeline;
  const retention = { bodies: 1, deliveries: 400 * 86_400_000, quarantine: 1, websocketFrames: 1, loads: 1 };
  let observedAt = 0;
  const write = async (day: number) => {
    observedAt += 1;
    await pipeline.observe([observationOf('moves', observedAt, { timestamp: `2026-01-0${day}T10:00:00Z` })]);
  };
  /** As a worker does that has the dataset in its configuration. */
  const loadAs = async (name: string) => {
    const warehouse = setup.open({ name });
    await register(store, name);
    await createLedgerCheck({ store, warehouses: [warehouse], say: () => {} }).run();
    await register(store, name);
    await pipeline.drain({ warehouse, documents: false });
    return (await rowsOfCall(warehouse, 'calls', 'moves')).map((row) => Number(row.call_timestamp) / 86_400_000_000);
  };
  const dayOf = (day: number) => Date.parse(`2026-01-0${day}T10:00:00Z`) / 86_400_000;
  onTestFinished(async () => void (await Promise.all([pipeline.close(), setup.dispose()])));
  // More loads than one run of maintenance deletes: the ledger still knows those of the dataset.
  await register(store, 'bq');
  await query(`INSERT INTO loads (load_id, warehouse, epoch, flatten_version, origin, calls, state, created_at)
                 SELECT 'old' || n, 'bq', 1, 1, 'test', 1, 'failed', now() - interval '500 days' FROM generate_series(1, 10500) n`);
  await write(1);
  expect(await loadAs('bq')).toEqual([dayOf(1)]);
  await query(`UPDATE warehouses SET configured_at = now() - interval '401 days' WHERE name = 'bq'`);
  await expireRows(store, retention);
  await write(2);
  expect(await loadAs('bq')).toEqual([dayOf(2)]);
  await query(`UPDATE warehouses SET configured_at = now() - interval '8 days' WHERE name = 'bq'`);
  await write(3);
  expect(await loadAs('renamed')).toEqual([dayOf(3)]);
});
