/**
 * Scheduled backfills while workers and servers are killed. About 2 minutes in all, each case as it says. In the suite,
 * temporal/backfill-schedules kills a worker.
 */

import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { scheduledBackfillSchema } from '../../schemas/config/backfills.ts';
import { backfillSchedule, createBackfillSchedule } from '../../src/temporal/schedules.ts';
import { backfillId, backfillScheduleId } from '../../workflows/messages.ts';
import { endProcess, type Installation, installForTest } from '../support/installation.ts';
import { listDue, temporalForTest } from '../support/temporal.ts';
import { until } from '../support/until.ts';

/**
 * Scheduled backfills run every 2 seconds while workers and the Temporal server are killed, and while the list is away.
 * Every due run happened once, was skipped by its policy, or is counted as missed. About 2 minutes.
 */
const everyMs = 2_000;
const defaults = { axis: 'qualified', sync: { order: 'newest_first', concurrency: 1 } } as const;
const policies = ['skip', 'buffer_one', 'buffer_all'] as const;

/** Runs that Temporal began, as `TIME STATE`. */
const listRuns = async ({ client, prefix }: Installation, name: string) => {
  const begin = `${backfillId(prefix, name)}-`;
  const runs: { due: string; state: string }[] = [];
  for await (const { workflowId, status } of client.workflow.list({ query: `WorkflowId STARTS_WITH '${begin}'` }))
    runs.push({ due: new Date(workflowId.slice(begin.length)).toISOString(), state: status.name });
  return runs;
};

/** Ends the schedule, waits until all that it began has ended, and compares with when it was due. */
const account = async (site: Installation, name: string) => {
  const handle = backfillSchedule(site.client, site.prefix, name);
  const { info, raw } = await handle.describe();
  const endAt = new Date(Math.ceil(Date.now() / everyMs) * everyMs + 3_000);
  await handle.update(({ spec, ...rest }) => ({ ...rest, spec: { ...spec, endAt } }));
  expect(raw.schedule?.policies?.catchupWindow?.seconds?.toString()).toBe('10');
  await delay(endAt.getTime() - Date.now() + 1_000);
  const isQuiet = async (): Promise<boolean> => {
    const { info: now, raw: rawNow } = await handle.describe();
    return now.nextActionTimes.length + now.runningActions.length + Number(rawNow.info?.bufferSize ?? 0) === 0;
  };
  // All buffered runs, one after the other.
  await until(`${name} has ended`, isQuiet, 900_000);
  const due = await listDue(site.client, backfillScheduleId(site.prefix, name), info.createdAt, endAt);
  const after = (await handle.describe()).info;
  await until('every run is listed', async () => (await listRuns(site, name)).length >= after.numActionsTaken);
  const { numActionsTaken: begun, numActionsSkippedOverlap: skipped, numActionsMissedCatchupWindow: missed } = after;
  return { due, runs: await listRuns(site, name), begun, skipped, missed };
};

test('backfills: every due run happened once, was skipped by its policy, or is counted as missed', async () => {
  const { address: temporalAddress, restart } = await temporalForTest();
  const site = await installForTest({ temporalAddress, simulator: { seed: 37, calls: { count: 20, utterances: 0 } } });
  for (const overlap of policies) {
    const often = { name: overlap, every: '2s', last: '900d', overlap_policy: overlap, catchup_window: '10s' };
    await createBackfillSchedule(site.client, site.prefix, { wanted: scheduledBackfillSchema.parse(often), defaults });
  }
  const first = await site.startWorker();
  await delay(8_000);
  await endProcess(first, 'SIGKILL');
  await delay(3_000);
  await site.startWorker();
  await restart(3_000);
  await delay(10_000);
  site.gate.shut();
  await delay(8_000);
  site.gate.open();
  await restart(25_000);
  await delay(10_000);
  for (const name of policies) {
    const { due, runs, begun, skipped, missed } = await account(site, name);
    process.stdout.write(`${JSON.stringify({ name, due: due.length, begun, runs: runs.length, skipped, missed })}\n`);
    const times = runs.map((run) => run.due);
    expect(new Set(times).size, 'none began twice').toBe(times.length);
    expect(due, 'none began that was not due').toEqual(expect.arrayContaining(times));
    expect(new Set(runs.map(({ state }) => state))).toEqual(new Set(['COMPLETED']));
    expect(runs.length + skipped + missed, 'all are accounted for').toBe(due.length);
    expect(missed).toBeGreaterThan(0);
    expect(skipped > 0).toBe(name !== 'buffer_all');
  }
  expect(await site.checkTruth()).toMatchObject({ lost: 0, duplicated: 0, stale: 0, mismatched: 0 });
});
