import type { ScheduleDescription, ScheduleHandle } from '@temporalio/client';
import { ScheduleNotFoundError, WorkflowNotFoundError } from '@temporalio/client';
import { type BackfillProgress, pauseUpdate, resumeUpdate, setConcurrencyUpdate } from '../../../workflows/messages.ts';
import { withServices } from '../../app/services.ts';
import type { TemporalService } from '../../app/temporal.ts';
import { beginBackfill, listBackfills, openTemporal, untilNow, withTemporal, wordOf } from '../../app/temporal.ts';
import { countOf, formatSpan } from '../../lib/count-of.ts';
import { terminal } from '../../lib/errors.ts';
import { iso } from '../../lib/timestamps.ts';
import { axisOf } from '../../source/list/list-query.ts';
import { backfillSchedule, listBackfillSchedules } from '../../temporal/schedules.ts';
import { backfillHandle } from '../../temporal/workflow-client.ts';
import { type Answer, argument, choice, flag, group, leaf, option, parsed, wholeNumber } from '../shell/define.ts';
import { needWorkers, watchBackfill } from '../shell/follow.ts';
import { lines, tellTimes, untilStopped } from '../shell/output.ts';
import { fromOption, toOption } from '../shell/range.ts';

/** Percent of the range, because a small number of calls alone would hide the skipped ones. */
const skippedOf = ({ totals: { skippedSeconds = 0 }, range }: BackfillProgress): number =>
  skippedSeconds > 0 ? Math.max(1, Math.floor((skippedSeconds * 100_000_000) / (range.to - range.from))) : 0;

const describeBackfill = (name: string, progress: BackfillProgress): string => {
  const { state, range, axis, totals } = progress;
  const skipped = skippedOf(progress);
  return lines(
    `backfill ${name}: ${state}, ${Math.floor(progress.share * 100)} % of ${iso(range.from)} … ${iso(range.to)} (${axis})`,
    `  ${countOf(totals.calls, 'call')} in ${countOf(totals.windows, 'window')}, ${totals.changed} written, ${countOf(totals.requests, 'request')}`,
    skipped > 0 && `  ${skipped} % of the range was read before and is skipped; --force reads it again`,
    totals.problems > 0 &&
      `  ${countOf(totals.problems, 'window')} could not be shown to be complete; callsync status names them`,
    state === 'running' && `  it continues in the workers: callsync backfill watch ${name}`,
    state === 'paused' && `  it waits: callsync backfill resume ${name}`,
  );
};

const tellBackfill = (name: string, progress: BackfillProgress, isIncomplete = false): Answer => {
  const json = tellTimes({ backfill: name, ...progress, startedAt: new Date(progress.startedAt) });
  return [json, describeBackfill(name, progress), isIncomplete && 'incomplete'];
};

/** Of a backfill that was watched: one that still runs is incomplete, and so is one with open problems. */
export const tellWatched = (name: string, progress: BackfillProgress): Answer =>
  tellBackfill(name, progress, progress.state !== 'done' || progress.totals.problems > 0);

/** A backfill that a command is about. */
type Found = Awaited<ReturnType<typeof find>>;

const watch = async ({ name, handle }: Omit<Found, 'status'>): Promise<Answer> => {
  const { signal } = untilStopped();
  return tellWatched(name, await watchBackfill(handle, name, signal));
};

/** A command that changes a running backfill, which its worker confirms with its progress. */
const control =
  (verb: string, change: (handle: Found['handle']) => Promise<BackfillProgress>) =>
  async ({ name, handle, status }: Found): Promise<Answer> => {
    if (status !== 'RUNNING')
      throw terminal('USAGE_BACKFILL', `The backfill “${name}” has ended (${wordOf(status)}): nothing to ${verb}.`, {
        hint: 'Run callsync backfill list to see running backfills.',
      });
    return tellBackfill(name, await needWorkers(handle, change(handle)));
  };

const halt = control('pause', (handle) => handle.executeUpdate(pauseUpdate));
const resume = control('resume', (handle) => handle.executeUpdate(resumeUpdate));

const cancel = async ({ name, handle, status }: Found): Promise<Answer> => {
  if (status === 'RUNNING') await handle.cancel();
  const text = status === 'RUNNING' ? 'will stop; calls that it read stay' : `has ended already (${wordOf(status)})`;
  return [{ backfill: name, requested: 'cancel', status: wordOf(status) }, `backfill ${name}: ${text}`];
};

const named = argument('<name>', 'name of the backfill');

/** @throws terminal USAGE_BACKFILL */
const find = async ({ client, prefix }: TemporalService, name: string) => {
  const handle = backfillHandle(client, prefix, name);
  const { status } = await handle.describe().catch((cause: unknown) => {
    if (!(cause instanceof WorkflowNotFoundError)) throw cause;
    throw terminal('USAGE_BACKFILL', `There is no backfill named “${name}”.`, {
      hint: 'Run callsync backfill list for the names.',
      cause,
    });
  });
  // As Temporal calls it.
  return { name, handle, status: status.name as string };
};

/** A command about one backfill that exists. */
const about = (verb: string, does: string, act: (found: Found) => Promise<Answer>) =>
  leaf({
    does,
    args: [named],
    examples: [`callsync backfill ${verb} 2025-01-01_2025-07-01`],
    within: withTemporal,
    run: async (name, _options, temporal) => act(await find(temporal, name)),
  });

/** The workflow takes no others. */
const concurrencyOf = wholeNumber(1, 256);

// `callsync backfill schedule`: backfills of a relative range at the times of a Temporal Schedule.

/** The server counts runs, also missed and skipped ones. */
const factsOf = (name: string, { info, policies, state }: ScheduleDescription) => ({
  name,
  paused: state.paused,
  overlapPolicy: policies.overlap,
  catchupWindowSeconds: policies.catchupWindow / 1000,
  nextRuns: (state.paused ? [] : info.nextActionTimes).slice(0, 5).map((time) => time.toISOString()),
  runs: info.numActionsTaken,
  running: info.runningActions.map(({ workflow }) => workflow.workflowId),
  skippedForOverlap: info.numActionsSkippedOverlap,
  missedBeyondCatchup: info.numActionsMissedCatchupWindow,
});

const describeSchedule = (facts: ReturnType<typeof factsOf>): string =>
  [
    `${facts.name}: ${facts.paused ? 'paused' : 'on'}`,
    `  next runs   ${facts.nextRuns.join(', ') || 'none'}`,
    `  overlap     ${facts.overlapPolicy?.toLowerCase()}; a missed run may begin up to ${formatSpan(facts.catchupWindowSeconds)} late`,
    `  runs        ${facts.runs} begun, ${facts.skippedForOverlap} skipped because an earlier run continued, ${facts.missedBeyondCatchup} missed beyond that`,
  ].join('\n');

const name = argument('<name>', 'name of the schedule');

/** A command that changes a schedule, and then tells how it is. A schedule that does not exist: USAGE_SCHEDULE. */
const aboutSchedule = (verb: string, does: string, act: (schedule: ScheduleHandle) => Promise<unknown>) =>
  leaf({
    does,
    args: [name],
    examples: [`callsync backfill schedule ${verb} nightly`],
    within: withTemporal,
    run: async (name, _options, { client, prefix }) => {
      const schedule = backfillSchedule(client, prefix, name);
      try {
        await act(schedule);
        const facts = factsOf(name, await schedule.describe());
        return [facts, describeSchedule(facts)];
      } catch (cause) {
        if (!(cause instanceof ScheduleNotFoundError)) throw cause;
        throw terminal('USAGE_SCHEDULE', `There is no scheduled backfill named “${name}”.`, { cause });
      }
    },
  });

const schedule = group({
  does: 'watch and pause scheduled backfills',
  remarks:
    'The schedules stand in sync.backfills. callsync up and callsync worker --schedules create, change and delete them.',
  commands: {
    list: leaf({
      does: 'list schedules with their next runs',
      examples: ['callsync backfill schedule list'],
      within: withTemporal,
      run: async (_options, { client, prefix }) => {
        const all = await Promise.all(
          (await listBackfillSchedules(client, prefix)).map(async (name) =>
            factsOf(name, await backfillSchedule(client, prefix, name).describe()),
          ),
        );
        return [
          all,
          all.map(describeSchedule).join('\n') ||
            'No backfill is scheduled. Name one in sync.backfills, then restart callsync up.',
        ];
      },
    }),
    pause: aboutSchedule('pause', 'stop starting runs', (one) => one.pause('Paused by an operator.')),
    resume: aboutSchedule('resume', 'start runs again', (one) => one.unpause('Resumed by an operator.')),
  },
});

export default group({
  remarks: 'All options: callsync backfill start --help. You can omit "start".',
  standard: 'start',
  commands: {
    // A separate command, because its options would otherwise apply to the other commands too.
    start: leaf({
      does: 'start a backfill, or watch a running one of the same name',
      options: {
        from: fromOption,
        to: toOption,
        axis: option('--axis <name>', 'time axis of the range (default: source.list.axis)'),
        order: choice('--order <order>', 'end of the range to read first', ['newest_first', 'oldest_first']),
        concurrency: parsed('--concurrency <n>', 'windows read at once, over all workers, 1 to 256', concurrencyOf),
        force: flag('--force', 'read windows again that callsync has read'),
        name: option('--name <name>', 'name of the backfill (default: its dates)'),
        wait: flag('--no-wait', 'start it and return at once'),
      },
      examples: [
        'callsync backfill --from 2025-01-01',
        'callsync backfill --from 2025-01-01 --to 2025-07-01 --force',
        'callsync backfill --from 2020-01-01 --name everything --no-wait',
      ],
      remarks: `Ctrl-C stops the display; the backfill continues. Run the command again to watch it. Exit code 5: you
stopped watching, or windows were not shown complete. Exit code 4: no worker answers.`,
      within: withServices,
      run: async (options, services) => {
        const range = untilNow(options);
        const { axis, order: direction, concurrency, force } = options;
        if (axis !== undefined) axisOf(services.config.source.list, axis);
        const name = options.name ?? `${iso(range.from).slice(0, 10)}_${iso(range.to).slice(0, 10)}`;
        const asked = { name, range, axis, direction, concurrency, force };
        const handle = await beginBackfill(services, await openTemporal(services), asked);
        if (options.wait) return await watch({ name, handle });
        return [{ backfill: name, workflow: handle.workflowId }, `started: callsync backfill watch ${name}`];
      },
    }),
    schedule,
    list: leaf({
      does: 'list backfills, newest first',
      examples: ['callsync backfill list'],
      within: withTemporal,
      run: async (_options, { client, prefix }) => [
        (await listBackfills(client, prefix)).map(({ progress, ...one }) => one),
      ],
    }),
    watch: about('watch', 'show a backfill until it ends; Ctrl-C leaves it running', watch),
    pause: about('pause', 'finish running parts (5,000 calls or a minute each), and start no others', halt),
    resume: about('resume', 'continue after a pause', resume),
    cancel: about('cancel', 'stop the backfill; calls that it read stay', cancel),
    concurrency: leaf({
      does: 'change the number of windows that are read at once',
      args: [named, argument('<n>', 'windows at once, 1 to 256', concurrencyOf)],
      examples: ['callsync backfill concurrency 2025-01-01_2025-07-01 8'],
      within: withTemporal,
      run: async (name, windows, _options, temporal) => {
        const set = control('change', (handle) => handle.executeUpdate(setConcurrencyUpdate, { args: [windows] }));
        return await set(await find(temporal, name));
      },
    }),
  },
});
