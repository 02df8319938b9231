/** Checks of Temporal: server, namespace, workers on the task queues, schedules. */
import { ScheduleNotFoundError } from '@temporalio/client';
import { taskQueuesOf } from '../../../../workflows/messages.ts';
import { terminal } from '../../../lib/errors.ts';
import { lazily } from '../../../lib/timing.ts';
import { findTemporalCli, locateTemporalCli } from '../../../local/temporal/locate-cli.ts';
import { schedulesOf } from '../../../temporal/schedules.ts';
import type { Services } from '../../parts/services.ts';
import { ensureConfiguredSchedules, openTemporal, type TemporalService, unpolledQueues } from '../../parts/temporal.ts';
import { type Checks, type Finding, NotChecked, ok, warning } from './check.ts';

const notFound = 5;

/** @param fix create schedules that are not there, instead of reporting them. */
export const temporalChecks = (services: Services, fix: boolean): Checks => {
  const { config } = services;
  const prefix = config.temporal.task_queue;
  const open = lazily(async () => {
    const temporal = await openPresent(services);
    await describeNamespace(temporal, config.temporal.namespace);
    return temporal;
  });
  const need = (): Promise<TemporalService> =>
    open().catch(() => {
      throw new NotChecked('Needs Temporal.');
    });
  return {
    temporal: async () => ok(`${(await open()).address} has the namespace ${config.temporal.namespace}.`),
    workers: async () => checkWorkers(await need(), config.temporal.namespace, prefix),
    schedules: async () => checkSchedules(services, await need(), fix),
  };
};

/** Fetches or builds the program of the development server if it is missing. No check does this, because it takes minutes. */
export const provideTemporalCli = async ({ config, say }: Services): Promise<void> => {
  if (config.temporal.address !== undefined) return;
  await locateTemporalCli({ configured: config.temporal.cli, log: say });
};

/** Never builds the development server’s program: that takes minutes. */
const openPresent = async (services: Services): Promise<TemporalService> => {
  const { temporal } = services.config;
  if (temporal.address === undefined && (await findTemporalCli({ configured: temporal.cli })) === undefined)
    throw terminal('TEMPORAL_CLI', 'The Temporal CLI for the development server is not installed.', {
      hint: 'Run callsync doctor --fix, which downloads the Temporal CLI, or builds it with Go in 3 minutes. Or set temporal.address.',
    });
  return openTemporal(services);
};

const describeNamespace = async ({ client, address }: TemporalService, namespace: string): Promise<void> => {
  try {
    await client.workflowService.describeNamespace({ namespace });
  } catch (cause) {
    const code = (cause as { code?: number }).code;
    if (code === notFound)
      throw terminal('TEMPORAL_NAMESPACE', `${address} has no namespace ${namespace}.`, {
        hint: `Create it (temporal operator namespace create ${namespace}), or correct temporal.namespace.`,
        cause,
      });
    throw terminal('TEMPORAL_REFUSED', `${address} refuses access to the namespace ${namespace}.`, {
      hint: 'Check temporal.api_key_file or the client certificate (temporal.tls).',
      cause,
    });
  }
};

const checkWorkers = async (temporal: TemporalService, namespace: string, prefix: string): Promise<Finding> => {
  const unpolled = await unpolledQueues(temporal.client.workflow, namespace, prefix);
  if (unpolled.length === 0) return ok(`Workers poll ${Object.values(taskQueuesOf(prefix)).join(', ')}.`);
  return warning(`No worker polls ${unpolled.join(', ')}.`, 'Start callsync up or callsync worker.');
};

const checkSchedules = async (services: Services, temporal: TemporalService, fix: boolean): Promise<Finding> => {
  const { client } = temporal;
  const { config } = services;
  const missing: string[] = [];
  const paused: string[] = [];
  const wanted = schedulesOf(config.temporal.task_queue).filter(
    (id) => config.sync.reconcile.enabled || !id.endsWith('/reconcile'),
  );
  for (const id of wanted) {
    try {
      const { state } = await client.schedule.getHandle(id).describe();
      if (state.paused) paused.push(id);
    } catch (error) {
      if (!(error instanceof ScheduleNotFoundError)) throw error;
      missing.push(id);
    }
  }
  if (missing.length > 0 && fix) {
    await ensureConfiguredSchedules(services, temporal);
    return ok(`Created: ${missing.join(', ')}.`);
  }
  if (missing.length > 0)
    return warning(
      `Not there: ${missing.join(', ')}.`,
      'callsync doctor --fix, callsync up or callsync go-live creates them.',
    );
  if (paused.length > 0)
    return warning(`Paused: ${paused.join(', ')}.`, 'Resume them in the Temporal UI when the reason is gone.');
  return ok(`${wanted.length} schedules are on.`);
};
