/**
 * Live calls beside other work. About 15 minutes in all, each case as it says. In the suite, temporal/live-work shows what
 * they wait for.
 */

import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { syncConfigSchema } from '../../schemas/config/sync.ts';
import { ensureSchedules } from '../../src/temporal/schedules.ts';
import { startReconcile } from '../../src/temporal/workflow-client.ts';
import { countRows } from '../../src/warehouse/digest.ts';
import { restoreUnderLoad } from '../e2e/restore-cases.ts';
import { deleteSchedules, type Installation, install } from '../support/installation.ts';
import { createBouncedDatabase, pgbouncer } from '../support/pgbouncer.ts';
import { installDebian } from '../support/tools.ts';
import { until } from '../support/until.ts';
import { describeOpenTransaction } from '../warehouse/postgres/open-transaction-cases.ts';

const pace = { interval: '5s', settle: '10s', lookback: '1m', inbox_sweep: '5s' };
const sync = { ...pace, start_from: '1h', reread: { horizon: '1h' } };

/** Live calls beside a backfill with concurrency 8 and a reconcile, which never end while it is measured. */
const liveBesideBackfill = async (durationMs: number) => {
  // More than a backfill reads meanwhile, in pages of 20.
  const count = Math.max(20_000, durationMs / 2);
  const to = new Date(Date.now() - 7_200_000).toISOString();
  const site = await install({
    simulator: {
      seed: 53,
      calls: { count, utterances: 2, lateShare: 0, to },
      live: { callsPerSecond: 2, processingSeconds: 1 },
      rateLimit: { requests: 40, seconds: 10 },
    },
    source: { list: { preset: 'activate', pagination: { style: 'offset', size: 20 } } },
    config: { sync },
  });
  try {
    return await measureLive(site, durationMs);
  } finally {
    await deleteSchedules(site);
    await site.dispose();
  }
};

const measureLive = async (site: Installation, durationMs: number) => {
  await site.startWorker();
  await ensureSchedules(site.client, site.prefix, syncConfigSchema.parse(sync));
  const { workflowId } = await site.backfill('beside', { concurrency: 8 });
  await startReconcile(site.client, site.prefix, { name: 'beside', request: {} });
  const backfill = site.client.workflow.getHandle(workflowId);
  await until('the backfill loads', async () => Number((await countRows(site.warehouse)).calls) > 0);
  const begun = Date.now();
  const seen = new Map<string, number>();
  while (Date.now() - begun < durationMs) {
    const { rows } = await site.store.pool.query<{ call_id: string; listed: number }>(
      'SELECT call_id, extract(epoch FROM processed_at)::float8 AS listed FROM calls.calls WHERE processed_at > $1',
      [new Date(begun)],
    );
    for (const { call_id, listed } of rows)
      if (!seen.has(call_id)) seen.set(call_id, Math.max(0, Date.now() / 1000 - listed));
    await delay(250);
  }
  const seconds = [...seen.values()].sort((a, b) => a - b);
  return {
    seen: seen.size,
    p95Seconds: seconds[Math.ceil(seconds.length * 0.95) - 1] ?? Number.NaN,
    worstSeconds: seconds.at(-1) ?? Number.NaN,
    backfillRunning: (await backfill.describe()).status.name === 'RUNNING',
    backfilled: Number((await countRows(site.warehouse)).calls) - seen.size,
  };
};

/**
 * Live calls beside a backfill with concurrency 8 and a reconcile: how soon they are visible with a schedule of 5
 * seconds. About 10 minutes; CALLSYNC_SECONDS=120 for less.
 */
test('beside-backfill: 95 of 100 calls are visible within 10 seconds after they are listed', async () => {
  const figures = await liveBesideBackfill(Number(process.env.CALLSYNC_SECONDS ?? 600) * 1000);
  process.stdout.write(`${JSON.stringify(figures)}\n`);
  expect(figures.backfillRunning).toBe(true);
  expect(figures.p95Seconds).toBeLessThanOrEqual(10);
});

/** An analyst's transaction holds `words` for 5 minutes while 3 workers start and loads go on. About 5 minutes. */
describe('open-transaction', () => describeOpenTransaction({ seconds: 300 }));

/**
 * The work of the demo through PgBouncer in session mode: polls and webhooks into PostgreSQL, a worker and a receiver
 * killed, a reconcile. About 2 minutes.
 */

test('pgbouncer: behind PgBouncer in session mode nothing is lost, stale or twice', async () => {
  await installDebian({ pgbouncer });
  const database = await createBouncedDatabase();
  onTestFinished(() => database.close());
  const databaseUrl = await database.open('session');
  const incidents = ['worker killed', 'receiver killed'] as const;
  const figures = await restoreUnderLoad({ incidents, seed: 1, databaseUrl, isSmall: true });
  process.stdout.write(`${JSON.stringify(figures)}\n`);
  expect(figures).toMatchObject({ erasedBack: 0, auditOverwritten: 0, wrong: [] });
  for (const report of Object.values(figures.afterReconcile))
    expect(report).toMatchObject({ lost: 0, stale: 0, mismatched: 0, duplicated: 0 });
});
