/** Live work under adverse conditions, for a while that the caller chooses: in seconds in the suite, longer as a campaign. */

import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { startReconcile, wakeMergeInbox } from '../../src/temporal/workflow-client.ts';
import { countRows } from '../../src/warehouse/content-hash.ts';
import { installForTest } from '../support/installation.ts';
import { deliver } from '../support/pipeline.ts';
import { until } from '../support/until.ts';

/** @param seconds after which calls or deliveries were seen to become visible. @param more that is printed */
const figuresOf = (seconds: readonly number[], more = {}) => {
  const sorted = [...seconds].sort((a, b) => a - b);
  const p95Seconds = sorted[Math.ceil(sorted.length * 0.95) - 1] ?? Number.NaN;
  const figures = { seen: sorted.length, p95Seconds, worstSeconds: sorted.at(-1) ?? Number.NaN, ...more };
  process.stdout.write(`${JSON.stringify(figures)}\n`);
  return figures;
};

const pace = { interval: '5s', settle: '10s', lookback: '1m', inbox_sweep: '5s' };
const sync = { ...pace, start_from: '1h', reread: { horizon: '1h' } };

/** Live calls beside a backfill with concurrency 8 and a reconcile, which never end while it is measured. */
export const liveBesideBackfill = async (durationMs: number) => {
  // More than a backfill reads meanwhile, in pages of 20.
  const count = Math.max(20_000, durationMs / 2);
  const to = new Date(Date.now() - 7_200_000).toISOString();
  const site = await installForTest({
    simulator: {
      seed: 53,
      calls: { count, utterances: 2, lateShare: 0, to },
      live: { callsPerSecond: 2, processingSeconds: 1 },
      rateLimit: { requests: 40, seconds: 10 },
    },
    source: {
      limits: { requests: 40, per_s: 10 },
      list: { preset: 'activate', pagination: { style: 'offset', size: 20 } },
    },
    config: { sync },
  });
  await site.startWorker(['--schedules']);
  const { workflowId } = await site.backfill('beside', { concurrency: 8 });
  await startReconcile(site.client, site.prefix, { name: 'beside', request: {} });
  const backfill = site.client.workflow.getHandle(workflowId);
  await until('the backfill loads', async () => Number((await countRows(site.warehouse)).calls) > 0);
  const begun = Date.now();
  const seen = new Map<string, number>();
  while (Date.now() - begun < durationMs || seen.size < 5) {
    const rows = await site.store.query<{ id: string; listed: number }>`SELECT call_id AS id,
        extract(epoch FROM processed_at)::float8 AS listed FROM calls.calls WHERE processed_at > ${new Date(begun)}`;
    for (const { id, listed } of rows) if (!seen.has(id)) seen.set(id, Math.max(0, Date.now() / 1000 - listed));
    await delay(250);
  }
  expect((await backfill.describe()).status.name).toBe('RUNNING');
  return figuresOf([...seen.values()], { backfilled: Number((await countRows(site.warehouse)).calls) - seen.size });
};

/** Deliveries while the list is away and repeats wait for it. */
export const listAway = async (durationMs: number) => {
  const site = await installForTest({ simulator: { seed: 5, calls: { count: 10, utterances: 1 } }, config: { sync } });
  await site.startWorker(['--schedules']);
  await until('the first calls are here', async () => Number((await countRows(site.warehouse)).calls) >= 0);
  site.gate.shut();
  const send = async (callId: string, status: string, deliveryId: string): Promise<number> => {
    await deliver(site.store, [{ body: { unique_id: callId, status }, deliveryId }]);
    const at = performance.now();
    await wakeMergeInbox(site.client, site.prefix);
    return at;
  };
  const isVisible = (callId: string) => site.store.has`SELECT FROM calls.calls WHERE call_id = ${callId}`;
  const rereads = async (): Promise<number> => (await site.store.query('SELECT FROM rereads')).length;
  // The same body under another id, after the call has changed: only the list can say what holds.
  for (const [id, status] of ['void', 'qualified', 'void'].entries()) {
    await send('repeated', status, `${id}`);
    await until('it is merged', async () => !(await site.store.has`SELECT FROM inbox WHERE outcome = 'pending'`));
  }
  await until('a repeat waits for the list', async () => (await rereads()) > 0);
  const begun = performance.now();
  const waits: number[] = [];
  while (performance.now() - begun < durationMs || waits.length < 5) {
    const callId = `live-${waits.length}`;
    const at = await send(callId, 'void', callId);
    await until('the delivery is visible', () => isVisible(callId));
    waits.push((performance.now() - at) / 1000);
    await delay(200);
  }
  expect(await rereads()).toBe(1);
  return figuresOf(waits);
};
