/** Schedules: when continuous sync and the sweep run. Work is computed from stored state, never from these times. */
import type { Client, ScheduleHandle, ScheduleSpec } from '@temporalio/client';
import { ScheduleAlreadyRunning, ScheduleNotFoundError, ScheduleOverlapPolicy } from '@temporalio/client';
import type { Duration } from '@temporalio/common';
import type { ScheduledBackfill } from '../../schemas/config/backfills.ts';
import type { SyncConfig } from '../../schemas/config/sync.ts';
import { planningInterval } from '../../schemas/orchestration.ts';
import { type BackfillInput, backfillId, backfillScheduleId, taskQueuesOf } from '../../workflows/messages.ts';
import { dayMs } from '../lib/timestamps.ts';

/** Missed actions are not caught up: one run reads everything since the watermark. */
const policies = { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: '1m', pauseOnFailure: false } as const;

/** Ids of the schedules of an installation, by kind. */
export const scheduleIds = (prefix: string) => ({
  sync: `${prefix}/sync-recent`,
  sweep: `${prefix}/sweep`,
  reread: `${prefix}/reread-late`,
  reconcile: `${prefix}/reconcile`,
});

/** Ids of the schedules that every installation has. */
export const schedulesOf = (prefix: string): readonly string[] => Object.values(scheduleIds(prefix));

type Kind = keyof ReturnType<typeof scheduleIds>;

/** `runTimeout` = longest duration of a run, even if it hangs. The next one plans anew. */
type Planned = readonly [workflowType: string, runTimeout: Duration, everyMs: number, note: string];

const plan = ({ interval, inbox_sweep, reread, reconcile }: SyncConfig): Readonly<Record<Kind, Planned>> => ({
  sync: ['syncRecent', '1h', interval, 'Continuous sync: reads from the stored watermark to now.'],
  sweep: ['sweep', '1h', inbox_sweep, 'Sweep: waiting deliveries, calls to read again, pending calls.'],
  reread: [
    'rereadLate',
    '1d',
    planningInterval(reread.delay * 1000) / 1000,
    'Reads older windows again, as far back as calls change.',
  ],
  reconcile: [
    'reconcile',
    '2d',
    reconcile.interval,
    'Reconcile: compares windows in the API, the ledger and every warehouse.',
  ],
});

/**
 * Creates or updates the schedules; a pause of an operator stays. A sweep runs at once, to finish the work of a killed
 * process.
 * @param only `sweep`: merge and load waiting data, and read nothing new
 */
export const ensureSchedules = async (
  client: Client,
  prefix: string,
  sync: SyncConfig,
  only: 'all' | 'sweep' = 'all',
): Promise<void> => {
  const queues = taskQueuesOf(prefix);
  const inputs = { sync: {}, sweep: { prefix }, reread: {}, reconcile: { request: {} } };
  for (const [kind, [workflowType, runTimeout, everyMs, note]] of Object.entries(plan(sync)) as [Kind, Planned][]) {
    const scheduleId = scheduleIds(prefix)[kind];
    if (only === 'sweep' ? kind !== 'sweep' : kind === 'reconcile' && !sync.reconcile.enabled) {
      if (only === 'all') await ifThere(client.schedule.getHandle(scheduleId).delete());
      continue;
    }
    const definition = {
      spec: { intervals: [{ every: everyMs }] },
      action: {
        type: 'startWorkflow' as const,
        workflowType,
        workflowId: scheduleId,
        taskQueue: queues.workflows,
        args: [{ queues, ...inputs[kind] }],
        workflowRunTimeout: runTimeout,
        staticSummary: note,
      },
      // A run of the sync that lasts longer than the interval is followed at once: new calls do not wait for the next time.
      policies: { ...policies, overlap: kind === 'sync' ? ScheduleOverlapPolicy.BUFFER_ONE : policies.overlap },
    };
    const handle = client.schedule.getHandle(scheduleId);
    try {
      await handle.update((previous) => ({ ...definition, state: { ...previous.state, note } }));
      if (kind === 'sweep') await handle.trigger(ScheduleOverlapPolicy.SKIP);
    } catch (error) {
      if (!(error instanceof ScheduleNotFoundError)) throw error;
      await skipTaken(client.schedule.create({ scheduleId, ...definition, state: { note, triggerImmediately: true } }));
    }
  }
};

/** Workers that start at once want the same schedule, so the second one can skip it. */
const skipTaken = async (creation: Promise<unknown>): Promise<void> => {
  await creation.catch((error: unknown) => {
    if (!(error instanceof ScheduleAlreadyRunning)) throw error;
  });
};

const ifThere = async (work: Promise<unknown>): Promise<void> => {
  await work.catch((error: unknown) => {
    if (!(error instanceof ScheduleNotFoundError)) throw error;
  });
};

/** Runs a sweep at once if its schedule exists, because the last worker may have been killed. */
export const triggerSweep = (client: Client, prefix: string): Promise<void> =>
  ifThere(client.schedule.getHandle(scheduleIds(prefix).sweep).trigger(ScheduleOverlapPolicy.SKIP));

// Temporal Schedules of backfills, which the configuration owns.

/** Defaults of a schedule from the rest of the configuration. */
type BackfillDefaults = { readonly axis: string; readonly sync: Pick<SyncConfig, 'order' | 'concurrency'> };

const specOf = ({ cron, every, time_zone: timezone, jitter }: ScheduledBackfill): ScheduleSpec => ({
  timezone,
  jitter,
  cronExpressions: cron === undefined ? undefined : [cron],
  intervals: every === undefined ? undefined : [{ every }],
});

const definitionOf = (prefix: string, wanted: ScheduledBackfill, { axis, sync }: BackfillDefaults) => {
  const queues = taskQueuesOf(prefix);
  const overlap = wanted.overlap_policy.toUpperCase() as Uppercase<typeof wanted.overlap_policy>;
  const input: BackfillInput = {
    queues,
    name: wanted.name,
    axis: wanted.axis ?? axis,
    last: wanted.last * 1000,
    direction: wanted.order ?? sync.order,
    concurrency: wanted.concurrency ?? sync.concurrency,
    force: wanted.force,
  };
  return {
    spec: specOf(wanted),
    action: {
      type: 'startWorkflow' as const,
      workflowType: 'backfill',
      workflowId: backfillId(prefix, wanted.name),
      taskQueue: queues.workflows,
      args: [input],
    },
    policies: { overlap, catchupWindow: wanted.catchup_window, pauseOnFailure: false },
  };
};

/** The handle of a backfill schedule; whether there is one shows at its first use. */
export const backfillSchedule = (client: Client, prefix: string, name: string): ScheduleHandle =>
  client.schedule.getHandle(backfillScheduleId(prefix, name));

/** @throws ScheduleAlreadyRunning when there is one of that name. */
export const createBackfillSchedule = async (
  client: Client,
  prefix: string,
  { wanted, defaults }: { readonly wanted: ScheduledBackfill; readonly defaults: BackfillDefaults },
): Promise<void> => {
  await client.schedule.create({
    scheduleId: backfillScheduleId(prefix, wanted.name),
    ...definitionOf(prefix, wanted, defaults),
    state: { note: `Backfill of the last ${wanted.last / dayMs} days` },
  });
};

/** Names of all backfill schedules of one installation. The server's list may lag behind by a moment. */
export const listBackfillSchedules = async (client: Client, prefix: string): Promise<readonly string[]> => {
  const own = backfillScheduleId(prefix, '');
  const found: string[] = [];
  for await (const { scheduleId } of client.schedule.list())
    if (scheduleId.startsWith(own)) found.push(scheduleId.slice(own.length));
  return found.sort();
};

/** Creates and updates the configured schedules, and removes all others of the installation. A pause stays. */
export const ensureBackfillSchedules = async (
  client: Client,
  prefix: string,
  { wanted, defaults }: { readonly wanted: readonly ScheduledBackfill[]; readonly defaults: BackfillDefaults },
): Promise<void> => {
  for (const one of wanted) {
    const updated = backfillSchedule(client, prefix, one.name).update(({ state }) => ({
      ...definitionOf(prefix, one, defaults),
      state,
    }));
    await updated.catch(async (error: unknown) => {
      if (!(error instanceof ScheduleNotFoundError)) throw error;
      await skipTaken(createBackfillSchedule(client, prefix, { wanted: one, defaults }));
    });
  }
  const kept = new Set(wanted.map(({ name }) => name));
  for (const name of await listBackfillSchedules(client, prefix))
    if (!kept.has(name)) await ifThere(backfillSchedule(client, prefix, name).delete());
};
