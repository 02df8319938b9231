/** Reconciling and re-reading as workflows, with workers of the built command. */

import type { WorkflowHandle } from '@temporalio/client';
import { temporal as proto } from '@temporalio/proto';
import { beforeAll, expect, test } from 'vitest';
import { startReconcile } from '../../src/temporal/workflow-client.ts';
import { type ReconcileProgress, reconcileProgressQuery, taskQueuesOf } from '../../workflows/messages.ts';
import { openCliFolder } from '../support/cli.ts';
import { digestTables } from '../support/digest-tables.ts';
import { useInstallation } from '../support/installation.ts';

const dayMs = 86_400_000;

const to = Math.floor(Date.now() / dayMs) * dayMs - 8 * dayMs;
const range = { from: new Date(to - 6 * dayMs).toISOString(), to: new Date(to).toISOString() };
const site = useInstallation(() => ({
  simulator: { seed: 5, calls: { count: 200, otherShare: 0, utterances: 2, ...range } },
}));
beforeAll(async () => {
  await site.startWorker();
  await (await site.backfill('all')).result;
});
const reconcile = async (name: string): Promise<{ handle: WorkflowHandle; progress: ReconcileProgress }> => {
  const [from, to] = [range.from, range.to].map((time) => Date.parse(time) * 1000) as [number, number];
  const request = { range: { from, to }, force: true };
  const handle = await startReconcile(site.client, site.prefix, { name, request });
  return { handle, progress: (await handle.result()) as ReconcileProgress };
};

test('reconcile proves, heals, and leaves no call in its history', async () => {
  const { progress: clean } = await reconcile('clean');
  expect(clean).toMatchObject({ done: 6, windows: 6, totals: { proven: 6, missing: 0, different: 0 } });

  const before = await digestTables(site.warehouse);
  await site.store.pool.query('DELETE FROM calls.calls WHERE call_id IN (SELECT call_id FROM calls.calls LIMIT 5)');
  await site.store.pool.query('DELETE FROM calls.tags WHERE call_id IN (SELECT max(call_id) FROM calls.calls)');
  const { handle, progress } = await reconcile('hurt');
  expect(progress.totals).toMatchObject({ missing: 5, different: 1, healedCalls: 6, unproven: 0 });
  expect({ ...(await digestTables(site.warehouse)), verdicts: '' }).toEqual({ ...before, verdicts: '' });
  expect(await handle.query(reconcileProgressQuery)).toEqual(progress);
  expect(await site.checkTruth()).toMatchObject({ lost: 0, duplicated: 0, stale: 0, mismatched: 0 });

  const history = Buffer.from(proto.api.history.v1.History.encode(await handle.fetchHistory()).finish());
  const { rows } = await site.store.pool.query<{ call_id: string }>('SELECT call_id FROM calls.calls');
  expect(rows.length).toBeGreaterThan(150);
  for (const { call_id } of rows) expect(history.includes(call_id)).toBe(false);
  expect(history.includes('reconcileWindows')).toBe(true);
});

test('reconcile: await says 5 before the proof and 0 after it, heals a tampered day, and says 4 when the service is away', async () => {
  const cli = await openCliFolder();
  const [from, to] = [site.simulator.range.from, new Date(Date.parse(site.simulator.range.to) + dayMs).toISOString()];
  const run = (...args: readonly string[]) =>
    cli.run(['await', '--proven', '--from', from, '--to', to, '--config', site.configPath, ...args]);
  const wait = async (...args: readonly string[]): Promise<number | null> => (await run(...args)).code;
  const { code, stdout } = await run('--no-start', '--json');
  expect(code).toBe(5);
  const [since, until] = [from, to].map((time) => new Date(time).toISOString());
  const { warehouses, ...rest } = JSON.parse(stdout);
  expect(rest).toMatchObject({ proven: false, from: since, to: until });
  expect(Object.values(warehouses).flat()).toContainEqual({ from: expect.stringMatching(/^\d{4}-.*Z$/), to: until });
  expect(await wait('--timeout', '100s')).toBe(0);
  // Readers of the warehouse start on it: nothing sweeps here, and yet the verdicts and the extent of the proof are
  // there.
  const { rows } = await site.store.pool.query(
    `SELECT (SELECT count(*)::int FROM callsync.verdicts) - (SELECT count(*)::int FROM calls.verdicts) AS missing,
              proven_axis, proven_through IS NOT NULL AS through FROM calls.sync_state`,
  );
  expect(rows).toEqual([{ missing: 0, proven_axis: 'timestamp', through: true }]);
  expect(await wait('--no-start')).toBe(0);

  expect(await wait('--no-start', '--warehouse-level', 'rows')).toBe(5);
  const before = await digestTables(site.warehouse);
  const last = '(SELECT max(call_id) FROM calls.calls)';
  await site.store.pool.query(`UPDATE calls.calls SET agent = agent || '!' WHERE call_id = ${last}`);
  expect(await digestTables(site.warehouse)).not.toEqual(before);
  expect(await wait('--timeout', '100s', '--warehouse-level', 'rows')).toBe(0);
  expect((await digestTables(site.warehouse)).calls).toEqual(before.calls);

  await site.control.configure({ faults: { rates: { unavailable_503: 1 } } });
  expect(await wait('--timeout', '5s', '--source-level', 'records')).toBe(4);
  await site.control.configure({ faults: { rates: { unavailable_503: 0 } } });
  expect(await wait('--timeout', '100s', '--source-level', 'records')).toBe(0);
  await cli.remove();
});

test('reconcile: late edits are re-read', async () => {
  const run = async () =>
    await site.client.workflow.execute('rereadLate', {
      workflowId: `${site.prefix}/reread-test`,
      taskQueue: taskQueuesOf(site.prefix).workflows,
      args: [{ queues: taskQueuesOf(site.prefix) }],
    });
  expect(await run()).toMatchObject({ changed: 0 });
  expect(await run()).toEqual({ changed: 0, requests: 0 });
  await site.control.edit({ random: 4, seed: 2, kinds: ['metadata'], requalify: false });
  await site.store.pool.query(`UPDATE reread_bands SET covered_at = covered_at - interval '1 day'`);
  expect(await run()).toMatchObject({ changed: 4 });
  expect(await site.checkTruth()).toMatchObject({ lost: 0, duplicated: 0, stale: 0, mismatched: 0 });
});
