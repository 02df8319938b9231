/** When a delivery first became visible: the warehouse's own record counts where callsync's own is missing or was set back. */
import { expect, test } from 'vitest';
import { issueEpoch, walkToEnd } from '../../../src/store/loads/warehouses.ts';
import { backUp } from '../../support/backup.ts';
import { deliver, observationOf, usePipeline } from '../../support/pipeline.ts';
import { column } from '../../support/rows.ts';

const pipeline = usePipeline();

/** By delivery: the call's campaign that it brought, and when the warehouse first had it. */
const visible = async (): Promise<Record<string, number>> => {
  const rows = await pipeline.query<{ name: string; at: Date }>(
    `SELECT convert_from(body, 'UTF8')::json->>'campaign' AS name, visible_at AS at FROM inbox JOIN visible_deliveries USING (seq)`,
  );
  return Object.fromEntries(rows.map(({ name, at }) => [name, at.getTime()]));
};
const bring = (campaign: string, id = 'a') =>
  deliver(pipeline.store, [
    { body: JSON.stringify({ unique_id: id, campaign }), deliveryId: String(Date.now() / 1000) },
  ]);
const between = (at: number | undefined, from: number, to: number) => {
  expect(at).toBeGreaterThanOrEqual(from - 1);
  expect(at).toBeLessThanOrEqual(to + 1);
};

test('each delivery has the time of the load that brought it; one that changed nothing has none', async () => {
  await bring('first');
  await pipeline.merge();
  const times = await visible();
  await bring('second');
  await pipeline.merge();
  await bring('second', 'a');
  await pipeline.fold([observationOf('b', 1, { campaign: 'polled' })]);
  await pipeline.merge();
  const after = await visible();
  expect(Object.keys(after).sort()).toEqual(['first', 'second']);
  expect(after.first).toBe(times.first);
  expect(after.second).toBeGreaterThan(times.first ?? 0);
});

test('a worker that ends after its commit and before its record leaves the time of the commit', async () => {
  await bring('killed');
  const from = Date.now();
  let to = 0;
  const killed = pipeline.depsWith({
    load: async (batch) => {
      await pipeline.warehouse.load(batch);
      to = Date.now();
      throw new Error('killed');
    },
  });
  await pipeline.merge(killed);
  expect(await visible()).toEqual({});
  await new Promise((resolve) => setTimeout(resolve, 300));
  await pipeline.drain();
  between((await visible()).killed, from, to);
});

test('a ledger that is set back asks the warehouse when it first had what is loaded once more', async () => {
  await bring('before');
  await pipeline.merge();
  await bring('set-back');
  await bring('set-back-new', 'b');
  const restore = await backUp(pipeline.store.pool, 'callsync');
  const from = Date.now();
  await pipeline.merge();
  const to = Date.now();
  const times = await visible();
  await restore();
  await new Promise((resolve) => setTimeout(resolve, 300));
  await issueEpoch(pipeline.store, 'restored', 5);
  await walkToEnd(pipeline.store, 'main');
  await pipeline.merge();
  await pipeline.drain();
  const after = await visible();
  expect(after.before).toBe(times.before);
  between(after['set-back'], from, to);
  between(after['set-back-new'], from, to);
});

test('rows that a warehouse has lost are sent again with the first time', async () => {
  await bring('lost');
  await pipeline.merge();
  await pipeline.drain();
  const { lost } = await visible();
  await pipeline.store.pool.query(
    'DELETE FROM wh_main.changes; DELETE FROM wh_main.deliveries; DELETE FROM wh_main.calls',
  );
  await pipeline.store.query(
    `INSERT INTO unloaded_deliveries (warehouse, rejected, seq) SELECT 'main', false, seq FROM inbox`,
  );
  await pipeline.drain();
  expect(await column(pipeline.warehouse, 'SELECT visible_at FROM deliveries')).toEqual([new Date(lost ?? 0)]);
});
