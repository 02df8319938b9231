/** Schedules: when continuous sync and the sweep run. Work is computed from stored state, never from these times. */
import { type Client, ScheduleAlreadyRunning, ScheduleNotFoundError, ScheduleOverlapPolicy } from '@temporalio/client';
import type { Duration } from '@temporalio/common';
import type { SyncConfig } from '../../schemas/config/sync.ts';
import { planningInterval } from '../../schemas/orchestration.ts';
import { taskQueuesOf } from '../../workflows/messages.ts';
import { searchAttributesFor, type WorkflowFacts } from './search-attributes.ts';

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

type Kind = keyof ReturnType<typeof scheduleIds> & WorkflowFacts['kind'];

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
        ...(await searchAttributesFor(client, { kind })),
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
      // Workers that start at once want the same schedule, so the second one can skip it.
      await client.schedule
        .create({ scheduleId, ...definition, state: { note, triggerImmediately: true } })
        .catch((cause: unknown) => {
          if (!(cause instanceof ScheduleAlreadyRunning)) throw cause;
        });
    }
  }
};

const ifThere = async (work: Promise<unknown>): Promise<void> => {
  await work.catch((error: unknown) => {
    if (!(error instanceof ScheduleNotFoundError)) throw error;
  });
};

/** Runs a sweep at once if its schedule exists, because the last worker may have been killed. */
export const triggerSweep = (client: Client, prefix: string): Promise<void> =>
  ifThere(client.schedule.getHandle(scheduleIds(prefix).sweep).trigger(ScheduleOverlapPolicy.SKIP));
