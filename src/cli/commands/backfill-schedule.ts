/** `callsync backfill schedule`: backfills of a relative range at the times of a Temporal Schedule. */
import { ScheduleAlreadyRunning, type ScheduleDescription, ScheduleNotFoundError } from '@temporalio/client';
import { overlapPolicies, scheduledBackfillSchema } from '../../../schemas/config/backfills.ts';
import { terminal } from '../../lib/errors.ts';
import { axisOf } from '../../source/list/list-query.ts';
import { backfillSchedule, createBackfillSchedule, listBackfillSchedules } from '../../temporal/backfill-schedules.ts';
import { backfillDefaults, type TemporalService, withTemporal } from '../parts/temporal.ts';
import { argument, choice, flag, group, leaf, option, parsed, wholeNumber } from '../shell/define.ts';
import { print } from '../shell/output.ts';

/** The workflow takes no others. */
export const concurrencyOf = wholeNumber(1, 256);

/** How a backfill reads its windows. */
export const windowOptions = {
  axis: option('--axis <name>', 'time axis of the range (default: source.list.axis)'),
  order: choice('--order <order>', 'end of the range to read first', ['newest_first', 'oldest_first']),
  concurrency: parsed('--concurrency <n>', 'windows read at once, over all workers, 1 to 256', concurrencyOf),
};

type Handle = ReturnType<typeof backfillSchedule>;

/** The server counts runs, also missed and skipped ones. */
const factsOf = (name: string, { info, memo, policies, state }: ScheduleDescription) => ({
  name,
  owner: memo?.owner === 'config' ? 'config' : 'operator',
  paused: state.paused,
  overlapPolicy: policies.overlap,
  catchupWindowSeconds: policies.catchupWindow / 1000,
  nextRuns: info.nextActionTimes.slice(0, 5).map((time) => time.toISOString()),
  runs: info.numActionsTaken,
  running: info.runningActions.map(({ workflow }) => workflow.workflowId),
  skippedForOverlap: info.numActionsSkippedOverlap,
  missedBeyondCatchup: info.numActionsMissedCatchupWindow,
});

const describe = (facts: ReturnType<typeof factsOf>): string =>
  [
    `${facts.name}: ${facts.paused ? 'paused' : 'on'}, owned by ${facts.owner === 'config' ? 'sync.backfills' : 'an operator'}`,
    `  next runs   ${facts.nextRuns.join(', ') || 'none'}`,
    `  overlap     ${facts.overlapPolicy}; a missed run may begin up to ${facts.catchupWindowSeconds} s late`,
    `  runs        ${facts.runs} begun, ${facts.skippedForOverlap} skipped because an earlier run continued, ${facts.missedBeyondCatchup} missed beyond that`,
  ].join('\n');

/** The last runs, newest first; Temporal forgets a workflow after its retention time. */
const lastResults = async ({ client, prefix }: Place, { info }: ScheduleDescription) =>
  await Promise.all(
    [...info.recentActions].reverse().map(async ({ scheduledAt, action: { workflow } }) => {
      const described = client.workflow.getHandle(workflow.workflowId).describe();
      const state = await described.then(
        ({ status }) => status.name.toLowerCase(),
        () => 'forgotten',
      );
      const backfill = workflow.workflowId.slice(`${prefix}/backfill/`.length);
      return { backfill, dueAt: scheduledAt.toISOString(), state };
    }),
  );

/** Acts on one schedule, and returns the facts and the text to print. */
type Act = (handle: Handle, name: string, at: Place) => Promise<readonly [result: unknown, text: string]>;
type Place = Pick<TemporalService, 'client'> & { readonly prefix: string };

const tell = async (handle: Handle, name: string) => {
  const facts = factsOf(name, await handle.describe());
  return [facts, describe(facts)] as const;
};

const show: Act = async (handle, name, at) => {
  const description = await handle.describe();
  const facts = factsOf(name, description);
  const results = await lastResults(at, description);
  const lines = results.map(({ backfill, dueAt, state }) => `  due ${dueAt}  ${state.padEnd(9)}  ${backfill}`);
  return [{ ...facts, results }, [describe(facts), ...lines].join('\n')];
};

/** Changes a schedule, and then tells how it is. */
const change =
  (act: (handle: Handle) => Promise<unknown>): Act =>
  async (handle, name) => {
    await act(handle);
    return await tell(handle, name);
  };

const remove: Act = async (handle, name) => {
  await handle.delete();
  return [{ deleted: name }, `${name} is deleted; a running backfill of it continues.`];
};

const name = argument('<name>', 'name of the schedule');

/** A command about one schedule that exists: else it ends with USAGE_SCHEDULE. */
const about = (verb: string, does: string, act: Act) =>
  leaf({
    does,
    args: [name],
    examples: [`callsync backfill schedule ${verb} nightly`],
    within: withTemporal,
    run: async (name, options, { client }, prefix) => {
      const done = act(backfillSchedule(client, prefix, name), name, { client, prefix });
      const told = await done.catch((cause: unknown) => {
        if (!(cause instanceof ScheduleNotFoundError)) throw cause;
        throw terminal('USAGE_SCHEDULE', `There is no scheduled backfill named “${name}”.`, {
          hint: 'Run callsync backfill schedule list for the names.',
          cause,
        });
      });
      print(options, ...told);
    },
  });

export const schedule = group({
  does: 'manage scheduled backfills',
  remarks: 'callsync up and callsync worker --schedules update the schedules of sync.backfills at their start.',
  commands: {
    create: leaf({
      does: 'create a schedule',
      args: [name],
      options: {
        cron: option('--cron <expression>', 'times of the runs, such as "0 3 * * *"'),
        every: option('--every <duration>', 'interval between runs, such as 6h'),
        timeZone: option('--time-zone <name>', 'time zone of --cron', 'UTC'),
        last: option('--last <duration>', 'range of each run before its scheduled time', '30d'),
        ...windowOptions,
        force: flag('--no-force', 'skip windows that callsync has read'),
        jitter: option('--jitter <duration>', 'longest random delay of a run', '0s'),
        catchupWindow: option('--catchup-window <duration>', 'longest delay of a missed run', '7d'),
        overlapPolicy: choice(
          '--overlap-policy <policy>',
          'treatment of a run that is due while another runs',
          overlapPolicies,
          'buffer_one',
        ),
      },
      examples: [
        'callsync backfill schedule create nightly --cron "0 3 * * *" --time-zone Europe/Paris --last 30d',
        'callsync backfill schedule create often --every 6h --last 2d',
      ],
      within: withTemporal,
      run: async (name, options, { client }, prefix, services) => {
        const {
          config,
          json,
          logLevel,
          timeZone: time_zone,
          catchupWindow: catchup_window,
          overlapPolicy: overlap_policy,
          ...wanted
        } = options;
        const parsed = scheduledBackfillSchema.safeParse({
          ...wanted,
          name,
          time_zone,
          catchup_window,
          overlap_policy,
        });
        if (!parsed.success) {
          const problems = parsed.error.issues.map(
            ({ path, message }) => `${path.join('.') || 'the schedule'} ${message}`,
          );
          throw terminal('USAGE_SCHEDULE', `The schedule cannot be created: ${problems.join('; ')}.`);
        }
        if (options.axis !== undefined) axisOf(services.config.source.list, options.axis);
        try {
          const defaults = backfillDefaults(services);
          await createBackfillSchedule(client, prefix, { wanted: parsed.data, defaults, owner: 'operator' });
        } catch (cause) {
          if (!(cause instanceof ScheduleAlreadyRunning)) throw cause;
          throw terminal('USAGE_SCHEDULE', `There is a schedule named “${name}” already.`, {
            hint: 'Run callsync backfill schedule delete first. If the schedule is from sync.backfills, change the configuration.',
            cause,
          });
        }
        print(options, ...(await tell(backfillSchedule(client, prefix, name), name)));
      },
    }),
    list: leaf({
      does: 'list schedules with their next runs',
      examples: ['callsync backfill schedule list'],
      within: withTemporal,
      run: async (options, { client }, prefix) => {
        const all = await Promise.all(
          (await listBackfillSchedules(client, prefix)).map(async ({ name }) =>
            factsOf(name, await backfillSchedule(client, prefix, name).describe()),
          ),
        );
        print(options, all, all.map(describe).join('\n') || 'There is none.');
      },
    }),
    show: about('show', 'show a schedule with its last results', show),
    pause: about(
      'pause',
      'stop starting runs',
      change((handle) => handle.pause('Paused by an operator.')),
    ),
    resume: about(
      'resume',
      'start runs again',
      change((handle) => handle.unpause('Resumed by an operator.')),
    ),
    run: about(
      'run',
      'start a run now, in addition to its schedule',
      change((handle) => handle.trigger()),
    ),
    delete: about('delete', 'remove the schedule; calls that it read stay', remove),
  },
});
