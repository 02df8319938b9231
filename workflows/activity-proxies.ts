/** Time-outs and retries of activities, stated once. */
import { proxyActivities } from '@temporalio/workflow';
import type { createLoadActivities, createReadActivities, LiveActivities } from '../activities/create-activities.ts';
import type { TaskQueues } from './messages.ts';

const retry = { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '1m' } as const;

/**
 * A list that cannot be cut is one window, and an attempt that ended before it would begin at its first page again. A
 * request that hangs ends by a time-out of its own, and a worker that died is noticed by its heartbeat.
 */
const reading = '1d';

/**
 * A worker that died is noticed after the heartbeat time-out: another one goes on within half a minute.
 * @param more attempts are limited for callers that continue if the service does not answer.
 */
export const liveActivities = (queues: TaskQueues, more: { readonly maximumAttempts?: number } = {}) =>
  proxyActivities<LiveActivities>({
    taskQueue: queues.live,
    startToCloseTimeout: reading,
    heartbeatTimeout: '20s',
    retry: { ...retry, maximumInterval: '15s', ...more },
  });

export const readActivities = (queues: TaskQueues) =>
  proxyActivities<ReturnType<typeof createReadActivities>>({
    taskQueue: queues.read,
    startToCloseTimeout: reading,
    heartbeatTimeout: '30s',
    retry,
  });

/** @param more attempts are limited for callers that continue if the warehouse does not answer. */
export const loadActivities = (queues: TaskQueues, more: { readonly maximumAttempts?: number } = {}) =>
  proxyActivities<ReturnType<typeof createLoadActivities>>({
    taskQueue: queues.load,
    startToCloseTimeout: '15m',
    heartbeatTimeout: '30s',
    retry: { ...retry, ...more },
  });
