/** Millions of calls: statements, memory, backfills and backlogs. About 35 minutes in all, each case as it says. */

import type { ChildProcess } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { measureHistories } from '../../bench/load/measure-history.ts';
import { pauseUpdate, progressQuery } from '../../workflows/messages.ts';
import { describeActivateBackfill } from '../e2e/activate-backfill-cases.ts';
import { describeBacklog } from '../store/backlog-cases.ts';
import { describeRestored } from '../store/restored-cases.ts';
import { describeScale } from '../store/scale-cases.ts';
import { endProcess, installForTest } from '../support/installation.ts';
import { column } from '../support/rows.ts';
import { until } from '../support/until.ts';

/**
 * Time and pages of every statement of the steady state, in a store of 3 million calls filled by SQL. About 10
 * minutes.
 */
describe('scale', () => describeScale(3_000_000, { maxBuffers: 5_000, maxMs: 50 }));

/** A ledger of 20 million calls that was set back: the first new call, and the memory of the worker. About 8 minutes. */
describe('restored', () => describeRestored({ calls: 20_000_000 }));

/**
 * A backfill planned over 1,000,000 calls, 50,000 of them loaded by three worker processes that are killed at random.
 * About 4 minutes on 2 cores. In the suite, e2e/kill-temporal kills one worker.
 */
const planned = 1_000_000;
const wanted = 50_000;

test('storm: loses nothing, doubles nothing, and stays small in Temporal', async () => {
  const calls = { count: planned, utterances: 1, words: 3, tags: 1, otherShare: 0 };
  const pagination = { style: 'offset', offset_param: 'offset', size_param: 'limit', size: 100 };
  const site = await installForTest({
    simulator: { seed: 21, calls },
    source: { limits: { requests: 1_000, per_s: 1 }, list: { preset: 'activate', pagination } },
  });
  const workers: ChildProcess[] = [];
  let killing = true;
  let kills = 0;
  onTestFinished(() => {
    killing = false;
  });
  for (let n = 0; n < 3; n += 1) workers.push(await site.startWorker());
  const { workflowId } = await site.backfill('storm', { concurrency: 6 });
  const handle = site.client.workflow.getHandle(workflowId);
  const storm = (async () => {
    while (killing) {
      await delay(4_000 + Math.random() * 4_000);
      const victim = Math.floor(Math.random() * workers.length);
      await endProcess(workers[victim] as ChildProcess, 'SIGKILL');
      kills += 1;
      workers[victim] = await site.startWorker();
    }
  })();
  const count = async (of: string) => (await column<number>(site.store, `SELECT count(*) FROM ${of}`))[0] ?? 0;
  const loaded = () => count('calls.calls');
  await until('50,000 calls are loaded', async () => (await loaded()) >= wanted, 1_200_000);
  await handle.executeUpdate(pauseUpdate);
  killing = false;
  await storm;
  const progress = await handle.query(progressQuery);
  expect(progress.expected).toBeGreaterThan(planned * 0.98);
  // Paused: what is under way finishes, then nothing is pending but what a killed worker left to the sweep.
  const queues = { workflows: site.prefix, read: `${site.prefix}-read`, load: `${site.prefix}-load` };
  await until('running parts have ended', async () => (await handle.describe()).raw.pendingActivities?.length === 0);
  // Their loads would be left to them for two minutes; nobody is left here who could still make one.
  await site.store.query(`UPDATE loads SET alive_at = alive_at - interval '1 hour' WHERE state = 'planned'`);
  await site.client.workflow.execute('loadWarehouse', {
    workflowId: `${site.prefix}/settle`,
    taskQueue: queues.workflows,
    args: [{ queues, warehouse: 'postgres', origin: 'pending' }],
  });
  expect(await count('warehouse_calls WHERE pending')).toBe(0);

  const written = await loaded();
  const read = await site.store.query<{ from: number; to: number }>(`SELECT
      (extract(epoch FROM window_from) * 1000)::bigint AS from, (extract(epoch FROM window_to) * 1000)::bigint AS to
    FROM windows WHERE axis = 'qualified'`);
  const inRead = (at: number): boolean => read.some((window) => at >= window.from && at < window.to);
  const ids = new Set<string>();
  for await (const { call_id: callId } of site.warehouse.proof.rowsOf('calls')) {
    expect(ids.has(callId as string)).toBe(false);
    ids.add(callId as string);
  }
  let lost = 0;
  let expected = 0;
  for await (const entry of site.control.truth({ light: true })) {
    if (!entry.visibleInList || !inRead(Date.parse(entry.qualified))) continue;
    expected += 1;
    if (!ids.has(entry.callId)) lost += 1;
  }
  const histories = await measureHistories(site.client, site.prefix);
  const most = (of: 'events' | 'bytes') => Math.max(...histories.map((one) => one[of]));
  const actionsPer1000 = histories.reduce((sum, one) => sum + one.actions, 0) / (written / 1000);
  const doubled = written - ids.size;
  const figures = { planned: progress.expected, loaded: written, expected, lost, duplicated: doubled, kills };
  const history = { events: most('events'), bytes: most('bytes'), actionsPer1000 };
  process.stdout.write(`${JSON.stringify({ ...figures, longestHistory: history })}\n`);
  expect(lost).toBe(0);
  expect(expected).toBeGreaterThan(wanted * 0.9);
  expect(kills).toBeGreaterThan(3);
  expect(history.events).toBeLessThan(5_000);
  expect(history.bytes).toBeLessThan(2_000_000);
  expect(actionsPer1000).toBeLessThanOrEqual(5);
  await handle.terminate('measured');
});

/**
 * 60,000 calls at 40 requests in any 10 seconds, then a tenth of them again on the other axis. About 8 minutes. Pages
 * of 100 of the possible 200, so that reading is the bottleneck on 2 busy cores too.
 */
describe('activate', () => {
  const pages = { pageSize: 100, maxOffset: 10_000, targetCalls: 15_000 };
  describeActivateBackfill('60,000 calls', { calls: 60_000, seconds: 10, ...pages, again: 0.1, leastShare: 0.9 });
});

/**
 * New calls beside 11,000 commits of 20 pending calls over 2 years, in the local BigQuery under the quotas of the real one. About 5
 * minutes.
 */
describe('backlog', () => describeBacklog({ pending: 220_000, perCommit: 20, commits: 30 }));
