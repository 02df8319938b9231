/** Schedules: when continuous sync and the sweep run. Work is computed from stored state, never from these times. */
import { type Client, ScheduleAlreadyRunning, ScheduleNotFoundError, ScheduleOverlapPolicy } from '@temporalio/client';
import type { Duration } from '@temporalio/common';
import type { SyncConfig } from '../../schemas/config/sync.ts';
import { planningInterval } from '../../schemas/orchestration.ts';
import {
  reconcileScheduleId,
  rereadScheduleId,
  sweepScheduleId,
  syncScheduleId,
  taskQueuesOf,
} from '../../workflows/messages.ts';
import { searchAttributesFor, type WorkflowFacts } from './search-attributes.ts';

/** Missed actions are not caught up: one run reads everything since the watermark. */
const policies = { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: '1m', pauseOnFailure: false } as const;

interface Planned {
  readonly scheduleId: string;
  readonly workflowType: string;
  readonly everyMs: number;
  readonly args: unknown[];
  readonly note: string;
  readonly kind: WorkflowFacts['kind'];
  /** Longest duration of a run, even if it hangs; the next one plans anew. */
  readonly runTimeout: Duration;
}

const plan = (prefix: string, sync: SyncConfig): readonly Planned[] => {
  const queues = taskQueuesOf(prefix);
  return [
    {
      scheduleId: syncScheduleId(prefix),
      workflowType: 'syncRecent',
      kind: 'sync',
      runTimeout: '1h',
      everyMs: sync.interval,
      args: [{ queues }],
      note: 'Continuous sync: reads from the stored watermark to now.',
    },
    {
      scheduleId: sweepScheduleId(prefix),
      workflowType: 'sweep',
      kind: 'sweep',
      runTimeout: '1h',
      everyMs: sync.inbox_sweep,
      args: [{ queues, prefix }],
      note: 'Sweep: waiting deliveries, calls to read again, pending calls.',
    },
    {
      scheduleId: rereadScheduleId(prefix),
      workflowType: 'rereadLate',
      kind: 'reread',
      runTimeout: '1d',
      everyMs: planningInterval(sync.reread.delay * 1000) / 1000,
      args: [{ queues }],
      note: 'Reads older windows again, as far back as calls change.',
    },
    ...(sync.reconcile.enabled ? [reconcilePlan(prefix, sync)] : []),
  ];
};

const reconcilePlan = (prefix: string, sync: SyncConfig): Planned => ({
  scheduleId: reconcileScheduleId(prefix),
  workflowType: 'reconcile',
  kind: 'reconcile',
  runTimeout: '2d',
  everyMs: sync.reconcile.interval,
  args: [{ queues: taskQueuesOf(prefix), request: {} }],
  note: 'Reconcile: compares windows in the API, the ledger and every warehouse.',
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
  const wanted = plan(prefix, sync).filter(({ kind }) => only === 'all' || kind === only);
  for (const { scheduleId, workflowType, everyMs, args, note, kind, runTimeout } of wanted) {
    const definition = {
      spec: { intervals: [{ every: everyMs }] },
      action: {
        type: 'startWorkflow' as const,
        workflowType,
        workflowId: scheduleId,
        taskQueue: taskQueuesOf(prefix).workflows,
        args,
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
  if (only === 'all' && !sync.reconcile.enabled) await removeSchedule(client, reconcileScheduleId(prefix));
};

const removeSchedule = async (client: Client, scheduleId: string): Promise<void> => {
  try {
    await client.schedule.getHandle(scheduleId).delete();
  } catch (error) {
    if (!(error instanceof ScheduleNotFoundError)) throw error;
  }
};

/** Ids of the schedules that every installation has. */
export const schedulesOf = (prefix: string): readonly string[] => [
  syncScheduleId(prefix),
  sweepScheduleId(prefix),
  rereadScheduleId(prefix),
  reconcileScheduleId(prefix),
];

/** Runs a sweep at once if its schedule exists, because the last worker may have been killed. */
export const triggerSweep = async (client: Client, prefix: string): Promise<void> => {
  try {
    await client.schedule.getHandle(sweepScheduleId(prefix)).trigger(ScheduleOverlapPolicy.SKIP);
  } catch (error) {
    if (!(error instanceof ScheduleNotFoundError)) throw error;
  }
};
