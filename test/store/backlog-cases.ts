/** A warehouse that commits at its own pace, with a backlog of years: a call of this minute must not queue behind it. */
import { setTimeout as delay } from 'node:timers/promises';
import { beforeAll, expect, test } from 'vitest';
import type { CallsyncError } from '../../src/lib/errors.ts';
import type { IngestDeps } from '../../src/pipeline/deps.ts';
import { loadPending } from '../../src/pipeline/load/load-pending.ts';
import { countPending } from '../../src/store/loads/loads.ts';
import { type BigqueryWarehouseConfig, bigqueryWarehouseSchema } from '../../src/warehouse/bigquery/config.ts';
import { limitsOf } from '../../src/warehouse/bigquery/quota.ts';
import type { Warehouse } from '../../src/warehouse/warehouse.ts';
import { useBigQuery } from '../support/bigquery.ts';
import { createLocalQuota, openBigquery } from '../support/open-bigquery.ts';
import { observationOf, register, usePipeline } from '../support/pipeline.ts';
import { callIdOf, fillStore } from './fill-store.ts';

/** BigQuery's quotas before the backlog: hours of continuous sync, with a commit every 65 s. */
const hoursBefore = [0, 9, 24];
const origins = ['pending', 'backfill:history', 'import', 'await', 'reconcile', 'fill'];
/** The sweep comes again after this. */
const sweepMs = 10_000;
/** Ends the loads. */
const enough = 'Enough commits were watched.';

/**
 * Commits run in the local BigQuery and take their time. Waits of more than a second are skipped, and counted.
 * @param options.commits watched after each kind of day. A new call comes after every third of them.
 */
export const describeBacklog = (options: { pending: number; perCommit: number; commits: number }): void => {
  const { pending, perCommit, commits } = options;
  const pipeline = usePipeline({}, { keep: true });
  let config: BigqueryWarehouseConfig;
  let newest = pending;
  beforeAll(async () => {
    for (const name of ['whole', 'behind']) await register(pipeline.store, name);
    await fillStore(pipeline.url, { calls: pending, warehouses: ['whole', 'behind'], pendingShare: 1 });
    const { restUrl: api_endpoint, project, dataset } = await useBigQuery();
    const settings = { type: 'bigquery', project, dataset, api_endpoint, max_calls_per_load: perCommit };
    config = bigqueryWarehouseSchema.parse(settings);
    expect(await countPending(pipeline.store, 'behind')).toBe(pending);
  }, 1_800_000);

  test.each(hoursBefore)(
    `while many commits wait, a new call is visible within 2 minutes after %i hours of continuous sync`,
    async (hours) => {
      let skipped = -hours * 3_600_000;
      const clock = () => Date.now() + skipped;
      const quota = createLocalQuota(limitsOf({ ...config, api_endpoint: undefined }), clock);
      for (; skipped < 0; skipped += 65_000) await quota.spend(1);
      const pause = async (ms: number): Promise<void> => {
        if (ms <= 1_000) await delay(ms);
        else skipped += ms;
      };
      const paced = openBigquery({ name: 'behind', config, clock, quota, pause });
      await paced.migrate();

      const since = new Map<string, number>();
      const visibleAfter: number[] = [];
      let committed = 0;
      const warehouse: Warehouse = {
        ...paced,
        load: async (batch) => {
          if (committed >= commits && visibleAfter.length === since.size) throw new Error(enough);
          const result = await paced.load(batch);
          for (const { callId } of batch.calls) {
            const at = since.get(callId);
            if (at !== undefined) visibleAfter.push(clock() - at);
          }
          if (committed < commits && committed % 3 === 0) await arrive();
          committed += 1;
          return result;
        },
      };
      const deps: IngestDeps = { ...pipeline.deps, targets: [{ warehouse, documents: false }] };
      const arrive = async (): Promise<void> => {
        newest += 1;
        const id = callIdOf(newest);
        since.set(id, clock());
        await pipeline.fold([observationOf(id, Date.now() * 1000, { timestamp: new Date().toISOString() })], deps);
      };
      for (let turn = 0, ended = ''; ended !== enough; turn += 1) {
        const origin = origins[turn % origins.length] as string;
        await loadPending(deps, { warehouse: 'behind', origin }).catch((error: CallsyncError) => {
          if (error.message !== enough && error.code !== 'BIGQUERY_QUOTA_RESERVED') throw error;
          ended = error.message;
        });
        skipped += sweepMs;
      }
      const ids = [...since.keys()].map((id) => `'${id}'`).join();
      expect(await paced.query(`SELECT call_id FROM calls WHERE call_id IN (${ids})`)).toHaveLength(since.size);
      console.log({ pending, commits: committed, hours, seconds: visibleAfter.map((ms) => Math.round(ms / 1_000)) });
      expect(Math.max(...visibleAfter)).toBeLessThan(120_000);
    },
    1_800_000,
  );
};
