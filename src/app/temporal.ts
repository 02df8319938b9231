/** Opens Temporal, maintains its schedules, and checks that workers for a task queue exist. */
import { join } from 'node:path';
import type { Client, WorkflowClient, WorkflowExecutionInfo, WorkflowHandle } from '@temporalio/client';
import { ScheduleNotFoundError } from '@temporalio/client';
import type { Config } from '../../schemas/config.ts';
import type { Range } from '../../schemas/orchestration.ts';
import { backfillId, progressQuery, type TaskQueues, taskQueuesOf } from '../../workflows/messages.ts';
import { makeDataDir, resolveDataDir } from '../config/data-dir.ts';
import { CallsyncError, terminal } from '../lib/errors.ts';
import { say } from '../lib/say.ts';
import { iso, nowMicros } from '../lib/timestamps.ts';
import { repeatEvery } from '../lib/timing.ts';
import { keepServer } from '../local/local-process.ts';
import { isTemporalRunning, startTemporalDevServer } from '../local/temporal-server.ts';
import { defaultAxis } from '../source/list/list-query.ts';
import { connectClient } from '../temporal/connect.ts';
import { ensureBackfillSchedules, ensureSchedules, scheduleIds } from '../temporal/schedules.ts';
import { startBackfill } from '../temporal/workflow-client.ts';
import { type CommonOptions, type Services, withServices } from './services.ts';

/** `prefix` begins the names of this installation in Temporal. */
export type TemporalService = Awaited<ReturnType<typeof openTemporal>>;

/** The configured cluster, or the development server, which this function starts if it does not run. */
export const openTemporal = async (services: Services<Pick<Config, 'store' | 'temporal'>>) => {
  const { temporal } = services.config;
  let address = temporal.address;
  let uiUrl = temporal.ui_url;
  if (address === undefined) {
    const dataDir = resolveDataDir(services.config.store.data_dir);
    await makeDataDir(dataDir);
    const start = (port: number) =>
      startTemporalDevServer({
        dataDir: join(dataDir, 'temporal'),
        port,
        uiPort: temporal.ui_port,
        cliPath: temporal.cli,
        namespace: temporal.namespace,
        log: services.say,
      });
    const server = await start(temporal.port);
    services.defer(keepServer(server, () => start(Number(server.address.split(':')[1])), services.say));
    address = server.address;
    uiUrl ??= server.uiUrl;
  }
  const { client, connection } = await connectClient(temporal, address);
  services.defer(() => connection.close());
  return { client, prefix: temporal.task_queue, address, uiUrl };
};

/** As `openTemporal`, but only for a running server. */
export const findTemporal = async (services: Services<Pick<Config, 'store' | 'temporal'>>) => {
  const { store, temporal } = services.config;
  const home = join(resolveDataDir(store.data_dir), 'temporal');
  if (temporal.address === undefined && !(await isTemporalRunning(home))) return undefined;
  return await openTemporal(services).catch((error: unknown) => {
    if (error instanceof CallsyncError && /^TEMPORAL_(NAMESPACE|UNREACHABLE)$/.test(error.code)) return undefined;
    throw error;
  });
};

/** Starts a backfill, or joins the running one of that name. Unset options come from the configuration. */
export const beginBackfill = (
  services: Services,
  { client, prefix }: TemporalService,
  asked: Pick<StartedBackfill, 'name' | 'range'> & Partial<StartedBackfill>,
): ReturnType<typeof startBackfill> => {
  const { sync, source } = services.config;
  return startBackfill(client, prefix, {
    ...asked,
    axis: asked.axis ?? defaultAxis(source.list).name,
    direction: asked.direction ?? sync.order,
    concurrency: asked.concurrency ?? sync.concurrency,
    force: asked.force ?? false,
  });
};

type StartedBackfill = Parameters<typeof startBackfill>[2];

/** Brings the schedules of continuous sync and those of configured backfills in line with the configuration. */
export const ensureConfiguredSchedules = async (
  services: Services,
  { client, prefix }: Pick<TemporalService, 'client' | 'prefix'>,
  wanted: 'all' | 'sweep' = 'all',
): Promise<void> => {
  const { sync, source } = services.config;
  await ensureSchedules(client, prefix, sync, wanted);
  if (wanted === 'sweep') return;
  const defaults = { axis: defaultAxis(source.list).name, sync };
  await ensureBackfillSchedules(client, prefix, { wanted: sync.backfills, defaults });
};

const lookMs = 30_000;

/** The same, and again after the server has lost its database. */
export const keepSchedules = async (...input: Parameters<typeof ensureConfiguredSchedules>): Promise<void> => {
  const [services, { client, prefix }] = input;
  await ensureConfiguredSchedules(...input);
  const sweep = client.schedule.getHandle(scheduleIds(prefix).sweep);
  const look = async (): Promise<void> => {
    await sweep.describe().catch(async (error: unknown) => {
      if (error instanceof ScheduleNotFoundError) await ensureConfiguredSchedules(...input).catch(() => undefined);
    });
  };
  services.defer(repeatEvery(lookMs, look));
};

/** The message of the last failed attempt that a running workflow waits for, without personal data; null if there is none. */
export const lastFailure = async (handle: WorkflowHandle): Promise<string | null> => {
  const { raw } = await handle.describe();
  return raw.pendingActivities?.find(({ lastFailure }) => lastFailure)?.lastFailure?.message ?? null;
};

/** A status of Temporal. */
export const wordOf = (status: string): string => status.toLowerCase().replaceAll('_', ' ');

/** The backfills of one installation that Temporal still remembers, newest first, each with its last run. */
export const listBackfills = async (client: Client, prefix: string) => {
  const own = backfillId(prefix, '');
  const newest = new Map<string, WorkflowExecutionInfo>();
  for await (const run of client.workflow.list({ query: "WorkflowType = 'backfill'" })) {
    const known = newest.get(run.workflowId);
    if (run.workflowId.startsWith(own) && !(known && known.startTime >= run.startTime)) newest.set(run.workflowId, run);
  }
  const runs = [...newest.values()].sort((a, b) => b.startTime.getTime() - a.startTime.getTime());
  const listed = runs.map(async ({ workflowId, status, startTime, closeTime }) => {
    const name = workflowId.slice(own.length);
    const times = { startedAt: startTime.toISOString(), closedAt: closeTime?.toISOString() ?? null };
    if (closeTime !== undefined) return { name, state: wordOf(status.name), ...times, progress: null, error: null };
    const handle = client.workflow.getHandle(workflowId);
    const asked = client.withDeadline(Date.now() + 1_500, () => handle.query(progressQuery));
    const progress = await asked.catch(() => null);
    return {
      name,
      state: progress?.state ?? 'no worker answers',
      ...times,
      progress,
      error: await lastFailure(handle),
    };
  });
  return await Promise.all(listed);
};

export type QueueRole = keyof TaskQueues;

/**
 * A live worker polls at least once a minute, and Temporal remembers it for five minutes. The time is that of the server's clock.
 */
const silentMs = 180_000;

/** Task queues without a worker that polled recently. */
export const unpolledQueues = async (
  { workflowService, options: { namespace } }: Pick<WorkflowClient, 'workflowService' | 'options'>,
  prefix: string,
  roles?: readonly QueueRole[],
): Promise<readonly string[]> => {
  const unpolled: string[] = [];
  const queues = taskQueuesOf(prefix);
  for (const role of roles ?? (Object.keys(queues) as QueueRole[])) {
    const name = queues[role];
    const taskQueueType = role === 'workflows' ? 1 : 2;
    const { pollers } = await workflowService.describeTaskQueue({ namespace, taskQueue: { name }, taskQueueType });
    // A worker that is busy with long activities polls for no others meanwhile.
    const since = role === 'workflows' ? Date.now() - silentMs : 0;
    const isPolled = pollers?.some(({ lastAccessTime }) => Number(lastAccessTime?.seconds ?? 0) * 1000 >= since);
    if (!isPolled) unpolled.push(name);
  }
  return unpolled;
};

/** Runs a command with Temporal. */
export const withTemporal = <T>(
  options: CommonOptions,
  work: (temporal: TemporalService, services: Services) => Promise<T>,
): Promise<T> => withServices(options, async (services) => work(await openTemporal(services), services));

/** Failure messages of our activities have no personal data. The innermost has the cause. */
export const rootMessage = (error: unknown): string => {
  let current = error;
  while (current instanceof Error && current.cause instanceof Error) current = current.cause;
  return current instanceof Error ? current.message : String(current);
};

/** @throws CallsyncError USAGE_RANGE */
export const refuseEmptyRange = ({ from, to }: { from?: number | undefined; to?: number | undefined }): void => {
  if (from !== undefined && to !== undefined && from >= to)
    throw terminal('USAGE_RANGE', 'The range is empty: its start must be before its end and before now.');
};

/**
 * A range that ends now at the latest: a future window would count as read.
 * @param settle milliseconds before now, in which calls may still appear @throws CallsyncError USAGE_RANGE
 */
export const untilNow = (
  { from, to }: { readonly from: number; readonly to?: number | undefined },
  settle = 0,
  tell: (message: string) => void = say,
): Range => {
  const end = nowMicros() - settle * 1000;
  const range = { from, to: Math.min(to ?? end, end) };
  refuseEmptyRange(range);
  if (to !== undefined && to > end) tell(`The range ends at ${iso(end)}: later calls may still come.`);
  return range;
};
