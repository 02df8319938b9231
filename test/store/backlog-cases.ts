/** A warehouse that commits at its own pace, with a backlog of years: a call of this minute must not queue behind it. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { IngestDeps, WarehouseTarget } from '../../src/pipeline/deps.ts';
import { ingest } from '../../src/pipeline/load/ingest.ts';
import { loadPendingBatch } from '../../src/pipeline/load/load-pending.ts';
import { countPending, type QueueCursor } from '../../src/store/loads/loads.ts';
import { bigqueryWarehouseSchema } from '../../src/warehouse/bigquery/config.ts';
import { createBigqueryWarehouse } from '../../src/warehouse/bigquery/warehouse.ts';
import { useBigQuery } from '../support/bigquery.ts';
import { observationOf, openPipeline, type Pipeline, register } from '../support/pipeline.ts';
import { callIdOf, fillStore } from './fill-store.ts';

export const describeBacklog = ({ pending, perCommit }: { pending: number; perCommit: number }): void => {
  let pipeline: Pipeline;
  let warehouse: ReturnType<typeof createBigqueryWarehouse>;
  beforeAll(async () => {
    pipeline = await openPipeline();
    for (const name of ['whole', 'behind']) await register(pipeline.store, name);
    await fillStore(pipeline.url, { calls: pending, warehouses: ['whole', 'behind'], pendingShare: 1 });
    const emulator = await useBigQuery();
    const { restUrl: api_endpoint, project, dataset } = emulator;
    const settings = { type: 'bigquery', project, dataset, api_endpoint, max_calls_per_load: perCommit };
    warehouse = createBigqueryWarehouse({ name: 'behind', config: bigqueryWarehouseSchema.parse(settings) });
    await warehouse.migrate();
  }, 1_800_000);
  afterAll(() => pipeline?.close());

  test(`of ${pending} pending calls over 2 years, a new one is visible within two commits`, async () => {
    const target: WarehouseTarget = { warehouse, documents: false };
    const deps: IngestDeps = { ...pipeline.deps, targets: [target] };
    expect(await countPending(pipeline.store, 'behind')).toBe(pending);
    const isVisible = async (id: string) =>
      (await warehouse.query(`SELECT call_id FROM calls WHERE call_id = '${id}'`)).length === 1;
    let cursor: QueueCursor | undefined;
    const commit = async () => {
      const loaded = await loadPendingBatch(deps, target, { origin: 'pending', cursor });
      cursor = loaded?.cursor;
      return loaded?.sent ?? 0;
    };
    const newest = callIdOf(pending);
    await commit();
    const startedAt = performance.now();
    const timestamp = new Date().toISOString();
    await ingest(deps, { observations: [observationOf(newest, Date.now() * 1000, { timestamp })], origin: 'sync' });
    let commits = 0;
    while (!(await isVisible(newest)) && commits < 5) {
      expect(await commit()).toBeLessThanOrEqual(perCommit);
      commits += 1;
    }
    console.log({ pending, commits, seconds: (performance.now() - startedAt) / 1_000 });
    expect(commits).toBeLessThanOrEqual(2);
  }, 600_000);
};
