/** Workers of one process: workflows, reading and loading each poll their own task queue. */
import { DefaultLogger, MetricsBuffer, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { globalHandlers } from '@temporalio/worker/lib/workflow/vm-shared.js';
import * as activities from '../../activities/create-activities.ts';
import type { TemporalConfig } from '../../schemas/config/temporal.ts';
import { taskQueuesOf } from '../../workflows/messages.ts';
import { findBuilt } from '../lib/find-built.ts';
import { withinTime } from '../lib/timing.ts';
import { apiKeyOf, connectionOptions, connectTimeoutMs, explainUnreachable } from './connect.ts';

export const workerRoles = ['workflows', 'live', 'read', 'load'] as const;
export type WorkerRole = (typeof workerRoles)[number];

const activityFactories = {
  live: activities.createLiveActivities,
  read: activities.createReadActivities,
  load: activities.createLoadActivities,
};

/** A thread of their own would hold 25 MB, and workflows work for milliseconds. Workflows keep the usual limit of time. */
const inThisThread = { debugMode: true, isolateExecutionTimeout: '5s' };

let runtimeInstalled = false;

/** A worker under load makes some hundred updates a second, and they are fetched once a second. The buffer is made whole. */
const bufferedMetrics = 10_000;

/**
 * Sends warnings of the SDK and of its native core to our log; once per process, before the first connection. By itself the core
 * writes to standard output, where commands print their results. `countInto` is called with the buffer of the updates of the
 * SDK's own metrics, which somebody then has to empty.
 * @param log `isCore`: of the native core, which warns when the server does not answer
 */
export const installRuntime = (
  log: (message: string, isCore: boolean) => void,
  countInto: (buffer: Pick<MetricsBuffer, 'retrieveUpdates'>) => void,
): void => {
  if (runtimeInstalled) return;
  runtimeInstalled = true;
  const buffer = new MetricsBuffer({ maxBufferSize: bufferedMetrics, useSecondsForDurations: true });
  Runtime.install({
    logger: new DefaultLogger('WARN', ({ message, meta }) => log(message, meta?.sdkComponent === 'core')),
    shutdownSignals: [],
    telemetryOptions: { logging: { forward: {} }, metrics: { buffer } },
  });
  countInto(buffer);
};

/** Starts a worker for each task queue of the roles, all of them by default. Resolves once all are made; they poll from then on. */
export const startWorkers = async (input: {
  readonly connection: NativeConnection;
  readonly config: TemporalConfig;
  readonly deps: activities.ActivityDeps;
  readonly roles?: readonly WorkerRole[];
}) => {
  const { connection, config, deps, roles = workerRoles } = input;
  const { deployment } = config;
  const queues = taskQueuesOf(config.task_queue);
  const shared = {
    connection,
    namespace: config.namespace,
    shutdownGraceTime: config.shutdown_grace,
    shutdownForceTime: config.shutdown_grace + 10_000,
    // A workflow moves to the current version with its next task; recorded histories show that this is safe. Changes to
    // running workflows use `patched`. A backfill may outlive its build.
    workerDeploymentOptions: deployment && {
      useWorkerVersioning: true as const,
      version: { deploymentName: deployment.name, buildId: deployment.build_id },
      defaultVersioningBehavior: 'AUTO_UPGRADE' as const,
    },
  };
  const workers: Worker[] = [];
  for (const role of roles)
    workers.push(
      await Worker.create(
        role === 'workflows'
          ? {
              ...shared,
              taskQueue: queues.workflows,
              workflowBundle: { codePath: findBuilt('workflow-bundle.js') },
              ...inThisThread,
              maxCachedWorkflows: config.max_cached_workflows,
              maxConcurrentWorkflowTaskExecutions: config.concurrency.workflow_tasks,
            }
          : {
              ...shared,
              taskQueue: queues[role],
              activities: activityFactories[role](deps),
              maxConcurrentActivityTaskExecutions: config.concurrency[`${role}_activities`],
              // Progress is small and resuming from it is the point. Temporal Cloud, which takes an API key, bills each one.
              maxHeartbeatThrottleInterval: (config.api_key ?? config.api_key_file) ? '12s' : '2s',
            },
      ),
    );
  // The SDK follows each promise of the thread of workflows, to name the place where one waits.
  globalHandlers.uninstall();
  const runs = workers.map((worker) => worker.run());
  const finished = Promise.all(runs).then(() => undefined);
  finished.catch(() => undefined);
  return {
    /** Resolves when all have stopped; rejects with the error that ended one. */
    finished,
    /** Lets activities finish for the grace time, then cancels them. */
    stop: async () => {
      for (const worker of workers) if (worker.getState() === 'RUNNING') worker.shutdown();
      await Promise.allSettled(runs);
    },
  };
};

// The connection of a worker to a Temporal cluster.

const keyRefreshMs = 10_000;

/**
 * A key that was changed in its file takes effect within `refreshMs`.
 * @throws CallsyncError TEMPORAL_UNREACHABLE
 */
export const connectWorker = async (config: TemporalConfig, address: string, options: { refreshMs?: number } = {}) => {
  const readKey = apiKeyOf(config);
  const apiKey = readKey?.();
  try {
    const settings = { ...connectionOptions(config, address), ...(apiKey !== undefined && { apiKey }) };
    const connecting = NativeConnection.connect(settings);
    const connection = await withinTime(connecting, connectTimeoutMs, () => new Error('timed out'));
    if (readKey !== undefined) followKey(connection, readKey, options.refreshMs ?? keyRefreshMs);
    return connection;
  } catch (cause) {
    throw await explainUnreachable(config, address, cause);
  }
};

const followKey = (connection: NativeConnection, readKey: () => string, refreshMs: number): void => {
  const follow = async (): Promise<void> => connection.setApiKey(readKey());
  // A file that is being replaced, or a connection that was closed: the next time tells.
  setInterval(() => follow().catch(() => undefined), refreshMs).unref();
};
