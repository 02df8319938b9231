import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { ingest, loadFolded } from '../../../src/pipeline/load/ingest.ts';
import { runMaintenance } from '../../../src/pipeline/load/maintenance.ts';
import { registerWarehouse } from '../../../src/store/loads/loads.ts';
import { observationOf, openPipeline, type Pipeline } from '../../support/pipeline.ts';

let pipeline: Pipeline;
beforeAll(async () => {
  pipeline = await openPipeline();
});
afterEach(() => pipeline.clear());
afterAll(() => pipeline.close());

const keep = () => runMaintenance({ ...pipeline.deps, retentionDays: 7 });
const ageMeta = (key: string, interval: string) =>
  pipeline.store.pool.query('UPDATE meta SET updated_at = now() - $2::interval WHERE key LIKE $1', [key, interval]);

describe('house keeping', () => {
  test('has rows loaded again that an older worker flattened after a newer one had started', async () => {
    const observations = [observationOf('a', 1), observationOf('b', 1)];
    await loadFolded(pipeline.deps, await ingest(pipeline.deps, { observations, rejected: [], origin: 'test' }));
    expect(await keep()).toMatchObject({ refreshed: 0 });
    await pipeline.store.pool.query(`UPDATE wh_main.calls SET flatten_version = 0 WHERE call_id = 'a'`);
    await pipeline.store.pool.query(`UPDATE warehouse_calls SET applied_flatten = 0 WHERE call_id = 'a'`);
    // Not at every sweep.
    expect(await keep()).toMatchObject({ refreshed: 0 });
    await ageMeta('refresh:%', '11 minutes');
    expect(await keep()).toMatchObject({ refreshed: 1 });
    expect(await pipeline.drain()).toEqual({ sent: 1, changed: 1 });
    await ageMeta('refresh:%', '11 minutes');
    expect(await keep()).toMatchObject({ refreshed: 0 });
  });

  test('keeps the books of configured warehouses, and of no others', async () => {
    await registerWarehouse(pipeline.store, 'elsewhere');
    await ageMeta('warehouse:%', '6 days');
    await keep();
    const { rows } = await pipeline.store.pool.query(
      `SELECT key FROM meta WHERE key LIKE 'warehouse:%' AND updated_at > now() - interval '1 minute'`,
    );
    expect(rows).toEqual([{ key: 'warehouse:main' }]);
  });

  test('takes a warehouse that nobody configures any more off the deliveries that wait for it', async () => {
    const { pool } = pipeline.store;
    await registerWarehouse(pipeline.store, 'gone');
    await pool.query(
      `INSERT INTO inbox (received_at, outcome, unloaded) VALUES (now(), 'rejected', '{gone,main}'), (now(), 'rejected', '{gone}')`,
    );
    const waiting = async () =>
      (await pool.query('SELECT unloaded FROM inbox ORDER BY seq')).rows.map((r) => r.unloaded);
    await keep();
    expect(await waiting()).toEqual([['gone', 'main'], ['gone']]);
    await ageMeta('warehouse:gone', '8 days');
    await keep();
    expect(await waiting()).toEqual([['main'], []]);
  });

  test('marks calls for a warehouse whose registration a fold under way did not see', async () => {
    const observations = [observationOf('a', 1)];
    await loadFolded(pipeline.deps, await ingest(pipeline.deps, { observations, rejected: [], origin: 'test' }));
    await keep();
    await pipeline.store.pool.query('DELETE FROM warehouse_calls');
    await ageMeta('refresh:%', '11 minutes');
    await keep();
    expect(await pipeline.drain()).toMatchObject({ sent: 1 });
  });
});
