/** Temporal Schedules of backfills: those that the configuration owns, and those that an operator created. */

import type { Client, ScheduleHandle, ScheduleSpec } from '@temporalio/client';
import { ScheduleNotFoundError, ScheduleOverlapPolicy } from '@temporalio/client';
import type { ScheduledBackfill } from '../../schemas/config/backfills.ts';
import type { SyncConfig } from '../../schemas/config/sync.ts';
import { type BackfillInput, backfillId, backfillScheduleId, taskQueuesOf } from '../../workflows/messages.ts';
import { dayMs } from '../lib/day.ts';

type ScheduleOwner = 'config' | 'operator';

/** Defaults of a schedule from the rest of the configuration. */
export type BackfillDefaults = { readonly axis: string; readonly sync: Pick<SyncConfig, 'order' | 'concurrency'> };

const overlaps = {
  skip: ScheduleOverlapPolicy.SKIP,
  buffer_one: ScheduleOverlapPolicy.BUFFER_ONE,
  buffer_all: ScheduleOverlapPolicy.BUFFER_ALL,
  allow_all: ScheduleOverlapPolicy.ALLOW_ALL,
} as const;

const monthNames = [
  ...(['JANUARY', 'FEBRUARY', 'MARCH', 'APRIL', 'MAY', 'JUNE'] as const),
  ...(['JULY', 'AUGUST', 'SEPTEMBER', 'OCTOBER', 'NOVEMBER', 'DECEMBER'] as const),
];

const specOf = ({ cron, calendar, every, time_zone: timezone, jitter }: ScheduledBackfill): ScheduleSpec => ({
  timezone,
  jitter,
  ...(cron === undefined ? {} : { cronExpressions: [cron] }),
  ...(every === undefined ? {} : { intervals: [{ every }] }),
  ...(calendar === undefined
    ? {}
    : {
        calendars: [
          {
            minute: calendar.minute ?? [0],
            hour: calendar.hour ?? [0],
            dayOfMonth: calendar.day_of_month ?? '*',
            month: calendar.month?.flatMap((month) => monthNames[month - 1] ?? []) ?? '*',
            dayOfWeek: calendar.day_of_week ?? '*',
          },
        ],
      }),
});

const definitionOf = (prefix: string, wanted: ScheduledBackfill, { axis, sync }: BackfillDefaults) => {
  const queues = taskQueuesOf(prefix);
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
    policies: { overlap: overlaps[wanted.overlap_policy], catchupWindow: wanted.catchup_window, pauseOnFailure: false },
  };
};

/** The handle of a backfill schedule; whether there is one shows at its first use. */
export const backfillSchedule = (client: Client, prefix: string, name: string): ScheduleHandle =>
  client.schedule.getHandle(backfillScheduleId(prefix, name));

/** @throws ScheduleAlreadyRunning when there is one of that name. */
export const createBackfillSchedule = async (
  client: Client,
  prefix: string,
  input: { readonly wanted: ScheduledBackfill; readonly defaults: BackfillDefaults; readonly owner: ScheduleOwner },
): Promise<void> => {
  const { wanted, defaults, owner } = input;
  await client.schedule.create({
    scheduleId: backfillScheduleId(prefix, wanted.name),
    ...definitionOf(prefix, wanted, defaults),
    memo: { owner },
    state: { note: `Backfill of the last ${wanted.last / dayMs} days` },
  });
};

const ownerOf = (memo: Record<string, unknown> | undefined) => (memo?.owner === 'config' ? 'config' : 'operator');

type ListedSchedule = { readonly name: string; readonly owner: ScheduleOwner; readonly paused: boolean };

/** All schedules of one installation, by name. The server's list may lag behind by a moment. */
export const listBackfillSchedules = async (client: Client, prefix: string): Promise<readonly ListedSchedule[]> => {
  const own = backfillScheduleId(prefix, '');
  const found: ListedSchedule[] = [];
  for await (const { scheduleId, memo, state } of client.schedule.list()) {
    if (!scheduleId.startsWith(own)) continue;
    found.push({ name: scheduleId.slice(own.length), owner: ownerOf(memo), paused: state.paused });
  }
  return found.sort((a, b) => (a.name < b.name ? -1 : 1));
};

/**
 * Creates and updates the configured schedules, and removes schedules that left the configuration. Schedules of
 * operators are left alone, and a pause stays. Returns the names that an operator's schedule has taken.
 */
export const ensureBackfillSchedules = async (
  client: Client,
  prefix: string,
  input: { readonly wanted: readonly ScheduledBackfill[]; readonly defaults: BackfillDefaults },
): Promise<readonly string[]> => {
  const { wanted, defaults } = input;
  const taken: string[] = [];
  for (const one of wanted) {
    const handle = backfillSchedule(client, prefix, one.name);
    try {
      const { memo } = await handle.describe();
      if (ownerOf(memo) === 'operator') taken.push(one.name);
      else await handle.update(({ state }) => ({ ...definitionOf(prefix, one, defaults), state }));
    } catch (error) {
      if (!(error instanceof ScheduleNotFoundError)) throw error;
      await createBackfillSchedule(client, prefix, { wanted: one, defaults, owner: 'config' });
    }
  }
  const kept = new Set(wanted.map(({ name }) => name));
  for (const { name, owner } of await listBackfillSchedules(client, prefix)) {
    if (owner === 'config' && !kept.has(name)) await backfillSchedule(client, prefix, name).delete();
  }
  return taken;
};
