import { readdir } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expireBodies, listRereads, requestRereads, settleRereads } from '../../src/store/delivery/inbox.ts';
import { migrateStore } from '../../src/store/migrate.ts';
import { issueEpoch, openStore } from '../../src/store/store.ts';
import { deliver, openPipeline, type Pipeline } from '../support/pipeline.ts';
import { createDatabase } from '../support/postgres.ts';

let pipeline: Pipeline;
beforeAll(async () => {
  pipeline = await openPipeline();
});
afterAll(() => pipeline.close());
const store = () => pipeline.store;

describe('opening', () => {
  test('by many at once migrates once, and all have one key for tombstones', async () => {
    const database = await createDatabase();
    const stores = await Promise.all(Array.from({ length: 6 }, () => openStore({ url: database.url, max: 2 })));
    expect(new Set(stores.map((store) => store.keyOf('c'))).size).toBe(1);
    expect(stores[0]?.keyOf('c')).not.toBe(stores[0]?.keyOf('d'));
    expect(await migrateStore(stores[0] as (typeof stores)[0])).toEqual([]);
    expect(await stores[0]?.epoch()).toBe(0);
    for (const store of stores) await store.close();
    const again = await openStore({ url: database.url });
    expect(again.keyOf('c')).toBe(stores[0]?.keyOf('c'));
    await again.close();
    await database.drop();
  });

  test('migrations have numbers of their own, and one that was renumbered is not applied again', async () => {
    const folder = new URL('../../src/store/migrations/', import.meta.url);
    const numbers = (await readdir(folder)).map((file) => file.slice(0, 4));
    expect(new Set(numbers).size).toBe(numbers.length);
    const { pool } = store();
    await pool.query(`UPDATE migrations SET name = '0003_reconcile.sql' WHERE name LIKE '%_reconcile.sql'`);
    expect(await migrateStore(store())).toEqual([]);
  });

  test('epochs issued at once are all different', async () => {
    const epochs = await Promise.all(Array.from({ length: 6 }, () => issueEpoch(store(), 'test', 0)));
    expect(new Set(epochs).size).toBe(6);
    expect(await pipeline.store.epoch()).toBe(Math.max(...epochs));
  });
});

describe('calls to be read again', () => {
  const ids = async () => (await listRereads(store(), 10)).map((one) => one.callId);

  test('are asked for once, and a request that comes while the answer is under way stays', async () => {
    await requestRereads(store(), ['b', 'a', 'b'], 'repeat');
    await requestRereads(store(), [], 'repeat');
    const listed = await listRereads(store(), 10);
    expect(listed.map((one) => one.callId).sort()).toEqual(['a', 'b']);
    await requestRereads(store(), ['a'], 'repeat');
    await settleRereads(store(), listed, []);
    expect(await ids()).toEqual(['a']);
    await settleRereads(store(), await listRereads(store(), 10), []);
    expect(await ids()).toEqual([]);
  });

  test('are given up after ten failures, until somebody asks again', async () => {
    await requestRereads(store(), ['c'], 'repeat');
    for (let n = 0; n < 10; n += 1) await settleRereads(store(), [], await listRereads(store(), 10));
    expect(await ids()).toEqual([]);
    await requestRereads(store(), ['c'], 'repeat');
    expect(await ids()).toEqual(['c']);
  });

  test('asked for in any order by many do not deadlock', async () => {
    const many = Array.from({ length: 50 }, (_, n) => `r${n}`);
    await Promise.all(
      [0, 1, 2, 3].map((side) =>
        store().transaction((tx) => requestRereads(tx, side % 2 === 0 ? many : [...many].reverse(), 'x')),
      ),
    );
    expect((await listRereads(store(), 100)).filter((one) => one.callId.startsWith('r'))).toHaveLength(50);
  });
});

test('bodies expire when they are settled and old, and not before', async () => {
  const old = new Date(Date.now() - 8 * 86_400_000);
  await deliver(pipeline.store, [{ body: '{}', receivedAt: old }, { body: '{}', receivedAt: old }, { body: '{}' }]);
  await store().pool.query(`UPDATE inbox SET outcome = 'accepted' WHERE seq <> (SELECT max(seq) - 1 FROM inbox)`);
  expect(await expireBodies(store(), 7)).toBe(1);
  const { rows } = await store().pool.query(
    'SELECT body IS NULL AS gone, body_hash IS NULL AS hashless FROM inbox ORDER BY seq',
  );
  expect(rows).toEqual([
    { gone: true, hashless: false },
    { gone: false, hashless: false },
    { gone: false, hashless: false },
  ]);
});
