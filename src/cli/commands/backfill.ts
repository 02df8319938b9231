import { WorkflowNotFoundError } from '@temporalio/client';
import { type BackfillProgress, pauseUpdate, resumeUpdate, setConcurrencyUpdate } from '../../../workflows/messages.ts';
import { countOf } from '../../lib/count-of.ts';
import { terminal } from '../../lib/errors.ts';
import { iso } from '../../lib/timestamps.ts';
import { axisOf } from '../../source/list/list-query.ts';
import { backfillHandle } from '../../temporal/workflow-client.ts';
import { needWorkers, shareOf, watchBackfill } from '../parts/follow.ts';
import { fromOption, toOption, untilNow } from '../parts/range.ts';
import { beginBackfill, listBackfills, openTemporal, type TemporalService, withTemporal } from '../parts/temporal.ts';
import { withServices } from '../parts/with-services.ts';
import { argument, type CommonOptions, flag, group, leaf, option } from '../shell/define.ts';
import { endWith, untilStopped } from '../shell/exit.ts';
import { lines, print, renderTable, say, tellTimes } from '../shell/output.ts';
import { concurrencyOf, schedule, windowOptions } from './backfill-schedule.ts';

const toJson = (name: string, { startedAt, ...progress }: BackfillProgress): unknown =>
  tellTimes({ backfill: name, ...progress, startedAt: new Date(startedAt) });

/** Percent of the range, because a small number of calls alone would hide the skipped ones. */
const skippedOf = ({ totals: { skippedSeconds = 0 }, range }: BackfillProgress): number =>
  skippedSeconds > 0 ? Math.max(1, Math.floor((skippedSeconds * 100_000_000) / (range.to - range.from))) : 0;

export const describeBackfill = (name: string, progress: BackfillProgress): string => {
  const { state, range, axis, totals } = progress;
  const skipped = skippedOf(progress);
  return lines(
    `backfill ${name}: ${state}, ${Math.floor(shareOf(progress) * 100)} % of ${iso(range.from)} … ${iso(range.to)} (${axis})`,
    `  ${countOf(totals.calls, 'call')} in ${countOf(totals.windows, 'window')}, ${totals.changed} written, ${countOf(totals.requests, 'request')}`,
    skipped > 0 && `  ${skipped} % of the range was read before and is skipped; --force reads it again`,
    totals.problems > 0 &&
      `  ${countOf(totals.problems, 'window')} could not be shown to be complete; callsync status names them`,
  );
};

type Handle = ReturnType<typeof backfillHandle>;

/** A backfill that a command is about. */
type Found = Awaited<ReturnType<typeof find>>;

const watch = async ({ options, name, handle }: Omit<Found, 'status'>): Promise<void> => {
  const { signal } = untilStopped();
  const progress = await watchBackfill(handle, name, signal);
  print(options, toJson(name, progress), describeBackfill(name, progress));
  if (progress.state !== 'done')
    say(`The backfill continues. Commands: callsync backfill watch ${name}, or callsync backfill cancel ${name}.`);
  if (progress.state !== 'done' || progress.totals.problems > 0) endWith('incomplete');
};

const wordOf = (status: string): string => status.toLowerCase().replaceAll('_', ' ');

/** A command that changes a running backfill, which its worker confirms with its progress. */
const control =
  (verb: string, change: (handle: Handle) => Promise<BackfillProgress>) =>
  async ({ options, name, handle, status }: Found): Promise<void> => {
    if (status !== 'RUNNING')
      throw terminal('USAGE_BACKFILL', `The backfill “${name}” has ended (${wordOf(status)}): nothing to ${verb}.`, {
        hint: 'Run callsync backfill list to see running backfills.',
      });
    const progress = await needWorkers(handle, change(handle));
    print(options, toJson(name, progress), describeBackfill(name, progress));
  };

const cancel = async ({ options, name, handle, status }: Found): Promise<void> => {
  if (status === 'RUNNING') await handle.cancel();
  const text = status === 'RUNNING' ? 'will stop; calls that it read stay' : `has ended already (${wordOf(status)})`;
  print(options, { backfill: name, requested: 'cancel', status: wordOf(status) }, `backfill ${name}: ${text}`);
};

const named = argument('<name>', 'name of the backfill');

/** @throws terminal USAGE_BACKFILL */
const find = async (name: string, options: CommonOptions, { client }: TemporalService, prefix: string) => {
  const handle = backfillHandle(client, prefix, name);
  const { status } = await handle.describe().catch((cause: unknown) => {
    if (!(cause instanceof WorkflowNotFoundError)) throw cause;
    throw terminal('USAGE_BACKFILL', `There is no backfill named “${name}”.`, {
      hint: 'Run callsync backfill list for the names.',
      cause,
    });
  });
  // As Temporal calls it.
  return { name, options, handle, status: status.name as string };
};

/** A command about one backfill that exists. */
const about = (verb: string, does: string, act: (found: Found) => Promise<void>) =>
  leaf({
    does,
    args: [named],
    examples: [`callsync backfill ${verb} 2025-01-01_2025-07-01`],
    within: withTemporal,
    run: async (name, options, temporal, prefix) => act(await find(name, options, temporal, prefix)),
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
        ...windowOptions,
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
        const asked = { axis, direction, concurrency, force };
        const given = Object.fromEntries(Object.entries(asked).filter(([, value]) => value !== undefined));
        const name = options.name ?? `${iso(range.from).slice(0, 10)}_${iso(range.to).slice(0, 10)}`;
        const handle = await beginBackfill(services, await openTemporal(services), { name, range, ...given });
        if (options.wait) return await watch({ options, name, handle });
        print(options, { backfill: name, workflow: handle.workflowId }, `started: callsync backfill watch ${name}`);
      },
    }),
    schedule,
    list: leaf({
      does: 'list backfills, newest first',
      examples: ['callsync backfill list'],
      within: withTemporal,
      run: async (options, temporal, prefix) => {
        const rows = (await listBackfills(temporal.client, prefix)).map(({ status, ...one }) => ({
          ...one,
          state: wordOf(status),
        }));
        print(options, rows, renderTable(rows));
      },
    }),
    watch: about('watch', 'show a backfill until it ends; Ctrl-C leaves it running', watch),
    pause: about(
      'pause',
      'finish running windows and start no others',
      control('pause', (handle) => handle.executeUpdate(pauseUpdate)),
    ),
    resume: about(
      'resume',
      'continue after a pause',
      control('resume', (handle) => handle.executeUpdate(resumeUpdate)),
    ),
    cancel: about('cancel', 'stop the backfill; calls that it read stay', cancel),
    concurrency: leaf({
      does: 'change the number of windows that are read at once',
      args: [named, argument('<n>', 'windows at once, 1 to 256', concurrencyOf)],
      examples: ['callsync backfill concurrency 2025-01-01_2025-07-01 8'],
      within: withTemporal,
      run: async (name, windows, options, temporal, prefix) =>
        control('change', (handle) => handle.executeUpdate(setConcurrencyUpdate, { args: [windows] }))(
          await find(name, options, temporal, prefix),
        ),
    }),
  },
});
