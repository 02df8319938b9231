/** Whether workers are there to do what was asked for: without one, everything would wait in silence. */
import { setTimeout as delay } from 'node:timers/promises';
import type { WorkflowClient, WorkflowHandle } from '@temporalio/client';
import { type TaskQueues, taskQueuesOf } from '../../../workflows/messages.ts';
import { transient } from '../../lib/errors.ts';

export type QueueRole = keyof TaskQueues;

const allRoles: readonly QueueRole[] = ['workflows', 'live', 'read', 'load'];
const graceMs = 15_000;
const everyMs = 2_000;
/**
 * A worker that lives asks for workflow tasks at least once a minute; Temporal remembers it for five. By the server's
 * clock, which may not be ours.
 */
const silentMs = 180_000;

const askedAt = (time: { seconds?: unknown } | null | undefined): number => Number(time?.seconds ?? 0) * 1000;

/** Task queues that no worker asked for work of late. */
export const unpolledQueues = async (
  { workflowService }: Pick<WorkflowClient, 'workflowService'>,
  namespace: string,
  prefix: string,
  roles: readonly QueueRole[] = allRoles,
): Promise<readonly string[]> => {
  const unpolled: string[] = [];
  for (const role of roles) {
    const name = taskQueuesOf(prefix)[role];
    const { pollers } = await workflowService.describeTaskQueue({
      namespace,
      taskQueue: { name },
      taskQueueType: role === 'workflows' ? 1 : 2,
    });
    // One that is busy with long activities asks for no others meanwhile.
    const since = role === 'workflows' ? Date.now() - silentMs : 0;
    if (!(pollers ?? []).some(({ lastAccessTime }) => askedAt(lastAccessTime) >= since)) unpolled.push(name);
  }
  return unpolled;
};

export interface WorkerWatch {
  /** Rejects with NO_WORKER once task queues have been without a worker for a quarter of a minute; never resolves. */
  readonly lost: Promise<never>;
  stop(): void;
}

/** Watches for workers that can do a workflow. @param say tells the first time that there are none. */
export const watchWorkers = (
  handle: WorkflowHandle,
  say: (message: string) => void,
  roles: readonly QueueRole[] = allRoles,
): WorkerWatch => {
  const stopped = new AbortController();
  const watch = async (): Promise<never> => {
    const { client } = handle;
    const prefix = (await handle.describe()).taskQueue;
    let since: number | undefined;
    for (;;) {
      // When the server does not answer, the command that waits for the result reports it.
      const missing = await unpolledQueues(client, client.options.namespace, prefix, roles).catch(() => []);
      const where = `task queue${missing.length > 1 ? 's' : ''} ${missing.join(', ')}`;
      if (missing.length === 0) since = undefined;
      else if (since === undefined) {
        since = Date.now();
        say(`No worker answers on ${where} yet; waiting ${graceMs / 1000} s for one …`);
      } else if (Date.now() - since >= graceMs) throw noWorker(where);
      await delay(everyMs, undefined, { signal: stopped.signal });
    }
  };
  const lost = watch();
  lost.catch(() => undefined);
  return { lost, stop: () => stopped.abort() };
};

const noWorker = (where: string) =>
  transient('NO_WORKER', `No worker answers on ${where}.`, {
    hint: 'Start one with callsync worker or callsync up; what was asked for is kept and goes on then.',
  });

/** The outcome of `work`, which a worker must do. @throws transient NO_WORKER */
export const needWorkers = async <T>(
  handle: WorkflowHandle,
  say: (message: string) => void,
  work: Promise<T>,
): Promise<T> => {
  const workers = watchWorkers(handle, say, ['workflows']);
  try {
    return await Promise.race([work, workers.lost]);
  } finally {
    workers.stop();
  }
};
