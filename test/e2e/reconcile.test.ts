/** Reconciling and re-reading as workflows, with workers of the built command. */

import type { WorkflowHandle } from '@temporalio/client';
import { temporal as proto } from '@temporalio/proto';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { readProvenThrough, withdrawnVerdicts } from '../../src/store/windows/verdicts.ts';
import { startReconcile } from '../../src/temporal/workflow-client.ts';
import { type ReconcileProgress, reconcileProgressQuery, taskQueuesOf } from '../../workflows/messages.ts';
import { callTool, openAssistant } from '../support/assistant.ts';
import { openCliFolder } from '../support/cli.ts';
import { digestTables } from '../support/digest-tables.ts';
import { endProcess, installForTest, useInstallation } from '../support/installation.ts';
import { column } from '../support/rows.ts';
import { until } from '../support/until.ts';

const dayMs = 86_400_000;

const to = Math.floor(Date.now() / dayMs) * dayMs - 8 * dayMs;
const range = { from: new Date(to - 6 * dayMs).toISOString(), to: new Date(to).toISOString() };
const calls = { count: 200, otherShare: 0, utterances: 2, ...range };
const site = useInstallation(() => ({ simulator: { seed: 5, calls } }));
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
  const ids = await column<string>(site.store, 'SELECT call_id FROM calls.calls');
  expect(ids.length).toBeGreaterThan(150);
  for (const id of ids) expect(history.includes(id)).toBe(false);
  expect(history.includes('reconcileWindows')).toBe(true);
});

test('reconcile: await says 5 before the proof, 0 after it, 4 when the service is away; a day is healed', async () => {
  const cli = await openCliFolder();
  const [from, to] = [site.simulator.range.from, new Date(Date.parse(site.simulator.range.to) + dayMs).toISOString()];
  const run = (...args: readonly string[]) =>
    cli.run(['await', '--proven', '--from', from, '--to', to, '--config', site.configPath, ...args]);
  const wait = async (...args: readonly string[]): Promise<number | null> => (await run(...args)).code;
  const { code, stdout } = await run('--timeout', '0', '--json');
  expect(code).toBe(5);
  const [since, until] = [from, to].map((time) => new Date(time).toISOString());
  const { warehouses, ...rest } = JSON.parse(stdout);
  expect(rest).toMatchObject({ proven: false, from: since, to: until });
  expect(Object.values(warehouses).flat()).toContainEqual({ from: expect.stringMatching(/^\d{4}-.*Z$/), to: until });
  expect(await wait('--timeout', '100s')).toBe(0);
  // Readers of the warehouse start on it: nothing sweeps here, and yet verdicts and extent of the proof are there.
  const state = `SELECT (SELECT count(*)::int FROM callsync.verdicts) - (SELECT count(*)::int FROM calls.verdicts) AS missing,
              proven_axis, proven_through IS NOT NULL AS through FROM calls.sync_state`;
  expect(await site.store.query(state)).toEqual([{ missing: 0, proven_axis: 'timestamp', through: true }]);
  expect(await wait('--timeout', '0')).toBe(0);

  expect(await wait('--timeout', '0', '--warehouse-level', 'rows')).toBe(5);
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
  const queues = taskQueuesOf(site.prefix);
  const asked = { workflowId: `${site.prefix}/reread-test`, taskQueue: queues.workflows, args: [{ queues }] };
  const run = () => site.client.workflow.execute('rereadLate', asked);
  expect(await run()).toMatchObject({ changed: 0 });
  expect(await run()).toEqual({ changed: 0, requests: 0 });
  await site.control.edit({ random: 4, seed: 2, kinds: ['metadata'], requalify: false });
  await site.store.pool.query(`UPDATE reread_bands SET covered_at = covered_at - interval '1 day'`);
  expect(await run()).toMatchObject({ changed: 4 });
  expect(await site.checkTruth()).toMatchObject({ lost: 0, duplicated: 0, stale: 0, mismatched: 0 });
});

const sinceMonth = new Date(to - 24 * dayMs).toISOString();
test('after an erasure, and after a call passed its limit, the proof is back within a minute', async () => {
  const old = await installForTest({
    simulator: { seed: 6, calls: { count: 150, otherShare: 0, utterances: 1, from: sinceMonth, to: range.to } },
    config: { operations: { enabled: true, port: 0 }, sync: { inbox_sweep: '2s' } },
  });
  const cli = await openCliFolder();
  onTestFinished(() => cli.remove());
  const run = async (input: string, ...args: readonly string[]) => {
    const { code, stderr } = await cli.run([...args, '--config', old.configPath], { input });
    expect(code, stderr).toBe(0);
  };
  const withdrawn = () => old.store.value<number>`SELECT count(*)::int FROM verdicts WHERE compared_by = 'none'`;
  const assistant = await openAssistant(old.configPath);
  onTestFinished(() => assistant.close());
  let page = '';
  const pageOf = (told: unknown) => (told as { operations: string }).operations;
  const lastDay = new Date(to - dayMs).toISOString().slice(0, 10);
  const isProven = async () => {
    const told = await column<Date | null>(old.store, 'SELECT proven_through FROM calls.sync_state');
    const { through } = await readProvenThrough(old.store, 'postgres');
    if (through !== Date.parse(range.to) * 1000 || told[0]?.toISOString() !== range.to) return false;
    // So say a tool of an assistant and the status page.
    const { proven_through } = await callTool(assistant, 'completeness');
    const shown = await fetch(page).then((one) => one.text());
    return Date.parse(proven_through ?? '') === to && new RegExp(`Proven through[^]{0,120}${lastDay}`).test(shown);
  };
  /** After `before` withdrawals there was another one, and the proof is whole again. */
  const isBack = async (before: number) => {
    const waiting = await withdrawnVerdicts(old.store, 'timestamp', ['postgres']);
    return (await withdrawn()) > before && waiting.length === 0 && (await isProven());
  };
  const worker = await old.startWorker(['--schedules']);
  page = pageOf(worker.told);
  await (await old.backfill('all')).result;
  await run('', 'reconcile', '--from', sinceMonth, '--to', range.to);
  await until('all is proven', isProven);

  const [first] = await column<string>(old.store, 'SELECT min(call_id) FROM ledger WHERE poll_at IS NOT NULL');
  await run(`${first}\n`, 'erase', '--by', 'call', '--yes');
  await until('the proof is back', () => isBack(0), 60_000);
  await endProcess(worker, 'SIGTERM');

  // The limit of calls lies just behind the second call.
  const [second] = await column<Date>(old.store, 'SELECT call_timestamp FROM ledger ORDER BY 1 OFFSET 1 LIMIT 1');
  const hour = Math.floor(Date.now() / 3_600_000) * 3_600_000;
  const calls = `${Math.floor((hour - (second as Date).getTime()) / 1000) - 1}s`;
  await old.reconfigure((config) => Object.assign(config, { privacy: { retention: { calls } } }));
  const before = await withdrawn();
  const again = await old.startWorker(['--schedules']);
  page = pageOf(again.told);
  await until('the proof is withdrawn', async () => (await withdrawn()) > before);
  await until('the proof is back again', () => isBack(before), 60_000);
  await run('', 'verdicts');
  await endProcess(again, 'SIGTERM');
});
