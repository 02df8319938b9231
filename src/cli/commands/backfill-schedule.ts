/** `callsync backfill schedule`: backfills of a relative range at the times of a Temporal Schedule. */

import { ScheduleAlreadyRunning, type ScheduleDescription, ScheduleNotFoundError } from '@temporalio/client';
import { type Command, Option } from 'commander';
import { overlapPolicies, scheduledBackfillSchema } from '../../../schemas/config/backfills.ts';
import { terminal } from '../../lib/errors.ts';
import { axisOf } from '../../source/list/list-query.ts';
import { backfillSchedule, createBackfillSchedule, listBackfillSchedules } from '../../temporal/backfill-schedules.ts';
import { backfillDefaults } from '../parts/ensure-schedules.ts';
import { openTemporal, type TemporalService } from '../parts/open-temporal.ts';
import type { Services } from '../parts/services.ts';
import { type CommonOptions, print, wholeNumber, withCommonOptions, withServices } from '../shell/command.ts';
import { withExamples } from '../shell/output.ts';

interface CreateOptions extends CommonOptions {
  readonly cron?: string;
  readonly every?: string;
  readonly timeZone: string;
  readonly last: string;
  readonly axis?: string;
  readonly order?: string;
  readonly concurrency?: number;
  readonly force: boolean;
  readonly jitter: string;
  readonly catchupWindow: string;
  readonly overlap: string;
}

type Handle = ReturnType<typeof backfillSchedule>;

const withTemporal = (
  options: CommonOptions,
  work: (temporal: TemporalService, prefix: string, services: Services) => Promise<void>,
): Promise<void> =>
  withServices(options, async (services) =>
    work(await openTemporal(services), services.config.temporal.task_queue, services),
  );

const create = (name: string, options: CreateOptions): Promise<void> =>
  withTemporal(options, async ({ client }, prefix, services) => {
    const { cron, every, last, axis, order, concurrency, force, jitter, overlap } = options;
    const parsed = scheduledBackfillSchema.safeParse({
      ...{ name, cron, every, last, axis, order, concurrency, force, jitter, overlap },
      time_zone: options.timeZone,
      catchup_window: options.catchupWindow,
    });
    if (!parsed.success) {
      const problems = parsed.error.issues.map(({ path, message }) => `${path.join('.') || 'the schedule'} ${message}`);
      throw terminal('USAGE_SCHEDULE', `The schedule cannot be made: ${problems.join('; ')}.`);
    }
    if (axis !== undefined) axisOf(services.config.source.list, axis);
    try {
      await createBackfillSchedule(client, prefix, {
        wanted: parsed.data,
        defaults: backfillDefaults(services),
        owner: 'operator',
      });
    } catch (cause) {
      if (!(cause instanceof ScheduleAlreadyRunning)) throw cause;
      throw terminal('USAGE_SCHEDULE', `There is a schedule named “${name}” already.`, {
        hint: 'callsync backfill schedule delete removes one; those of sync.backfills follow the configuration.',
        cause,
      });
    }
    await tell(options, name, backfillSchedule(client, prefix, name));
  });

const times = (all: readonly Date[]): string =>
  all.length === 0 ? 'none' : all.map((time) => time.toISOString()).join(', ');

/** What happened is counted by the server, runs that were missed or skipped too. */
const factsOf = (name: string, { info, memo, policies, state }: ScheduleDescription) => ({
  name,
  owner: memo?.owner === 'config' ? 'config' : 'operator',
  paused: state.paused,
  overlap: policies.overlap,
  catchupWindowSeconds: policies.catchupWindow / 1000,
  nextRuns: info.nextActionTimes.slice(0, 5).map((time) => time.toISOString()),
  runs: info.numActionsTaken,
  running: info.runningActions.map(({ workflow }) => workflow.workflowId),
  skippedForOverlap: info.numActionsSkippedOverlap,
  missedBeyondCatchup: info.numActionsMissedCatchupWindow,
});

const describe = (description: ScheduleDescription, facts: ReturnType<typeof factsOf>): string =>
  [
    `${facts.name}: ${facts.paused ? 'paused' : 'on'}, owned by ${facts.owner === 'config' ? 'sync.backfills' : 'an operator'}`,
    `  next runs   ${times(description.info.nextActionTimes.slice(0, 5))}`,
    `  overlap     ${facts.overlap}; a missed run may begin up to ${facts.catchupWindowSeconds} s late`,
    `  runs        ${facts.runs} begun, ${facts.skippedForOverlap} skipped for overlap, ${facts.missedBeyondCatchup} missed beyond that`,
  ].join('\n');

interface Result {
  readonly backfill: string;
  readonly dueAt: string;
  readonly state: string;
}

/** The last runs, newest first; Temporal forgets a workflow after its retention time. */
const lastResults = async (
  { client }: TemporalService,
  prefix: string,
  { info }: ScheduleDescription,
): Promise<readonly Result[]> =>
  await Promise.all(
    [...info.recentActions].reverse().map(async ({ scheduledAt, action: { workflow } }) => ({
      backfill: workflow.workflowId.slice(`${prefix}/backfill/`.length),
      dueAt: scheduledAt.toISOString(),
      state: await client.workflow
        .getHandle(workflow.workflowId)
        .describe()
        .then(
          ({ status }) => status.name.toLowerCase(),
          () => 'forgotten',
        ),
    })),
  );

const unknown = (name: string, cause: unknown): unknown =>
  cause instanceof ScheduleNotFoundError
    ? terminal('USAGE_SCHEDULE', `There is no scheduled backfill named “${name}”.`, {
        hint: 'callsync backfill schedule list shows all.',
        cause,
      })
    : cause;

const tell = async (options: CommonOptions, name: string, handle: Handle): Promise<void> => {
  const description = await handle.describe();
  const facts = factsOf(name, description);
  print(options, facts, describe(description, facts));
};

const list = (options: CommonOptions): Promise<void> =>
  withTemporal(options, async ({ client }, prefix) => {
    const all = await Promise.all(
      (await listBackfillSchedules(client, prefix)).map(async ({ name }) => {
        const description = await backfillSchedule(client, prefix, name).describe();
        const facts = factsOf(name, description);
        return { facts, text: describe(description, facts) };
      }),
    );
    print(
      options,
      all.map(({ facts }) => facts),
      all.length === 0 ? 'There is none.' : all.map(({ text }) => text).join('\n'),
    );
  });

const show = (name: string, options: CommonOptions): Promise<void> =>
  withTemporal(options, async (temporal, prefix) => {
    const description = await backfillSchedule(temporal.client, prefix, name)
      .describe()
      .catch((cause: unknown) => {
        throw unknown(name, cause);
      });
    const facts = factsOf(name, description);
    const results = await lastResults(temporal, prefix, description);
    const lines = results.map(({ backfill, dueAt, state }) => `  due ${dueAt}  ${state.padEnd(9)}  ${backfill}`);
    print(options, { ...facts, results }, [describe(description, facts), ...lines].join('\n'));
  });

/** A command that changes one schedule, and then tells how it is. */
const change =
  (act: (handle: Handle) => Promise<unknown>) =>
  (name: string, options: CommonOptions): Promise<void> =>
    withTemporal(options, async ({ client }, prefix) => {
      const handle = backfillSchedule(client, prefix, name);
      await act(handle).catch((cause: unknown) => {
        throw unknown(name, cause);
      });
      await tell(options, name, handle);
    });

const remove = (name: string, options: CommonOptions): Promise<void> =>
  withTemporal(options, async ({ client }, prefix) => {
    await backfillSchedule(client, prefix, name)
      .delete()
      .catch((cause: unknown) => {
        throw unknown(name, cause);
      });
    print(options, { deleted: name }, `${name} is deleted; a backfill that it began goes on.`);
  });

export const addBackfillSchedule = (backfill: Command): void => {
  const schedule = withExamples(
    backfill.command('schedule').description('backfills of a relative range that run by a schedule'),
    [
      'callsync backfill schedule create nightly --cron "0 3 * * *" --time-zone Europe/Paris --last 30d',
      'callsync backfill schedule list',
      'callsync backfill schedule show nightly',
    ],
    'Those of sync.backfills in the configuration follow it at each start of callsync up or callsync worker --schedules.',
  );
  const leaf = (usage: string, text: string): Command =>
    withExamples(withCommonOptions(schedule.command(usage)), [
      `callsync backfill schedule ${usage.replace('<name>', 'nightly')}${usage.startsWith('create') ? ' --every 6h' : ''}`,
    ]).description(text);
  leaf('create <name>', 'make a schedule')
    .option('--cron <expression>', 'when, such as "0 3 * * *"')
    .option('--every <duration>', 'when, as an interval such as 6h')
    .option('--time-zone <name>', 'time zone of --cron', 'UTC')
    .option('--last <duration>', 'how far back each run reads', '30d')
    .option('--axis <name>', 'time axis of the range (default: the configured one)')
    .addOption(new Option('--order <order>', 'which end first').choices(['newest_first', 'oldest_first']))
    .option('--concurrency <n>', 'windows read at once, 1 to 256', wholeNumber(1, 256))
    .option('--no-force', 'leave out what is read already')
    .option('--jitter <duration>', 'begin up to this much later, at random', '0s')
    .option('--catchup-window <duration>', 'how late a missed run may begin', '7d')
    .addOption(
      new Option('--overlap <policy>', 'a run that is due while one goes on')
        .choices([...overlapPolicies])
        .default('buffer_one'),
    )
    .action(create);
  leaf('list', 'all schedules, with their next runs').action(list);
  leaf('show <name>', 'one schedule with its last results').action(show);
  leaf('pause <name>', 'begin no further runs').action(change((handle) => handle.pause('Paused by an operator.')));
  leaf('resume <name>', 'begin runs again').action(change((handle) => handle.unpause('Resumed by an operator.')));
  leaf('run <name>', 'begin a run now, beside its times').action(change((handle) => handle.trigger()));
  leaf('delete <name>', 'remove the schedule; what it read is kept').action(remove);
};
