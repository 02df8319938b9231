/** Scheduled backfills on a real Temporal server: when they run, and that a run survives its worker. */
import { setTimeout as delay } from 'node:timers/promises';
import { Client, Connection, ScheduleOverlapPolicy } from '@temporalio/client';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { scheduledBackfillSchema } from '../../schemas/config/backfills.ts';
import * as schedules from '../../src/temporal/schedules.ts';
import { type BackfillProgress, backfillId, backfillScheduleId } from '../../workflows/messages.ts';
import { openCliFolder } from '../support/cli.ts';
import { endProcess, useInstallation } from '../support/installation.ts';
import { listDue, useTemporal } from '../support/temporal.ts';
import { until } from '../support/until.ts';

const defaults = { axis: 'qualified', sync: { order: 'newest_first', concurrency: 1 } } as const;
const wantedOf = (wanted: object) => scheduledBackfillSchema.parse(wanted);

describe('schedules', async () => {
  const { address, namespace, taskQueue: prefix } = await useTemporal();
  const connection = await Connection.connect({ address });
  const client = new Client({ connection, namespace });
  afterAll(async () => {
    for (const name of await schedules.listBackfillSchedules(client, prefix))
      await schedules.backfillSchedule(client, prefix, name).delete();
    await connection.close();
  });

  const ensure = (...wanted: object[]) =>
    schedules.ensureBackfillSchedules(client, prefix, { wanted: wanted.map(wantedOf), defaults });
  const names = () => schedules.listBackfillSchedules(client, prefix);

  const matching = (name: string, from: string, to: string): Promise<string[]> =>
    listDue(client, backfillScheduleId(prefix, name), new Date(from), new Date(to));

  test('run at local times across a change of the clock', async () => {
    const cron = { name: 'cron', cron: '30 3 * * *', time_zone: 'Europe/Paris' };
    await ensure(cron, { name: 'sundays', cron: '0 1 * 3 SUN' });
    // Summer time begins in Paris on 28 March 2027 at 01:00 UTC.
    const days = ['2027-03-27T02:30:00.000Z', '2027-03-28T01:30:00.000Z', '2027-03-29T01:30:00.000Z'];
    expect(await matching('cron', '2027-03-27T00:00:00Z', '2027-03-29T12:00:00Z')).toEqual(days);
    const expected = ['2027-03-21T01:00:00.000Z', '2027-03-28T01:00:00.000Z'];
    expect(await matching('sundays', '2027-03-20T00:00:00Z', '2027-04-10T00:00:00Z')).toEqual(expected);
  });

  test('follow the configuration, and stay paused', async () => {
    await ensure({ name: 'kept', every: '1h' }, { name: 'gone', every: '1h' });
    await until('the server lists all', async () => (await names()).join() === 'gone,kept');
    await schedules.backfillSchedule(client, prefix, 'kept').pause('by hand');

    await ensure({ name: 'kept', every: '2h' });
    await until('one is gone', async () => (await names()).join() === 'kept');
    const kept = await schedules.backfillSchedule(client, prefix, 'kept').describe();
    expect(kept.spec.intervals).toMatchObject([{ every: 7_200_000 }]);
    expect(kept.state).toMatchObject({ paused: true, note: 'by hand' });
  });

  test('are created and removed by workers that start at once', async () => {
    const ensureTogether = (...wanted: object[]) => Promise.all([1, 2, 3].map(() => ensure(...wanted)));
    await ensureTogether({ name: 'together', every: '1h' });
    await until('the server lists it', async () => (await names()).join() === 'together');
    await ensureTogether();
    await until('it is gone', async () => (await names()).length === 0);
  });
});

describe('a scheduled backfill', () => {
  const site = useInstallation(() => ({ simulator: { seed: 31, calls: { count: 60, utterances: 1 } } }));
  const schedule = async (over: { readonly name: string; readonly every: string; readonly last: string }) => {
    await schedules.createBackfillSchedule(site.client, site.prefix, { wanted: wantedOf(over), defaults });
    return schedules.backfillSchedule(site.client, site.prefix, over.name);
  };
  const resultOf = async (workflowId = '') =>
    (await site.client.workflow.getHandle(workflowId).result()) as BackfillProgress;
  test('that came due while no worker was there covers what it was to cover', async () => {
    const handle = await schedule({ name: 'often', every: '2s', last: '900d' });
    const first = async () => (await handle.describe()).info.recentActions[0];
    await until('a run is due', async () => (await first()) !== undefined);
    const run = await first();
    const dueAt = run?.scheduledAt.getTime() ?? 0;
    await delay(3_000);
    await endProcess(await site.startWorker(), 'SIGKILL');
    const worker = await site.startWorker();
    const { workflowId } = run?.action.workflow ?? {};
    expect(workflowId).toContain(backfillId(site.prefix, 'often'));
    const result = await resultOf(workflowId);
    // A due time is a whole second. The range ends at the service's present, less what sync.settle leaves out.
    expect(Math.abs(result.range.from / 1000 - (dueAt - 900 * 86_400_000))).toBeLessThan(1_000);
    expect(result.range.to / 1000).toBeGreaterThan(dueAt - 60_000);
    expect(result).toMatchObject({ state: 'done', totals: { problems: 0 } });
    expect(await site.checkTruth()).toMatchObject({ lost: 0, duplicated: 0, stale: 0, mismatched: 0 });
    await until('the next one ran', async () => (await handle.describe()).info.numActionsTaken > 1);
    await handle.delete();
    await endProcess(worker, 'SIGTERM');
  });

  test('that waits for the identity provider says why in a minute, in status and backfill list', async () => {
    const cli = await openCliFolder();
    onTestFinished(cli.remove);
    await site.control.configure({ faults: { rates: { unavailable_503: 1 }, scope: ['token'] } });
    const worker = await site.startWorker();
    const startedAt = performance.now();
    const { result } = await site.backfill('waits', { force: true });
    const error = expect.stringMatching(/The token endpoint .* is not available/);
    const waits = expect.objectContaining({ name: 'waits', error });
    const list = () => cli.json(['backfill', 'list', '--config', site.configPath]);
    await expect.poll(list, { interval: 1_000 }).toContainEqual(waits);
    expect(performance.now() - startedAt).toBeLessThan(60_000);
    expect((await cli.json(['status', '--config', site.configPath])).backfills).toContainEqual(waits);
    for (const [verb, state] of [
      ['pause', 'paused'],
      ['resume', 'running'],
    ] as const) {
      expect(await cli.json(['backfill', verb, 'waits', '--config', site.configPath])).toMatchObject({ state });
      expect(await list()).toContainEqual(expect.objectContaining({ name: 'waits', state }));
    }
    await site.control.configure({ faults: { rates: {}, scope: [] } });
    expect(await result).toMatchObject({ state: 'done' });
    expect(await list()).toContainEqual(expect.objectContaining({ name: 'waits', error: null }));
    await endProcess(worker, 'SIGTERM');
  });

  test('begins where the last one ended, where its own range would begin later', async () => {
    const handle = await schedule({ name: 'short', every: '300d', last: '1s' });
    const worker = await site.startWorker();
    const run = async (count: number) => {
      await handle.trigger(ScheduleOverlapPolicy.BUFFER_ONE);
      await until('it runs', async () => (await handle.describe()).info.recentActions.length === count);
      const { action } = (await handle.describe()).info.recentActions[count - 1] ?? {};
      return (await resultOf(action?.workflow.workflowId)).range;
    };
    const first = await run(1);
    expect((await run(2)).from).toBe(first.to);
    await handle.delete();
    await endProcess(worker, 'SIGTERM');
  });
});
