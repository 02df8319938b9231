import { WorkflowNotFoundError } from '@temporalio/client';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { type BackfillProgress, pauseUpdate, resumeUpdate, setConcurrencyUpdate } from '../../../workflows/messages.ts';
import { countOf } from '../../lib/count-of.ts';
import { terminal } from '../../lib/errors.ts';
import { parseTimestamp } from '../../lib/timestamps.ts';
import { axisOf, defaultAxis } from '../../source/list/list-query.ts';
import { backfillHandle, startBackfill } from '../../temporal/workflow-client.ts';
import { listBackfills } from '../parts/list-backfills.ts';
import { openTemporal } from '../parts/open-temporal.ts';
import { shareOf, watchBackfill } from '../parts/watch-backfill.ts';
import { needWorkers } from '../parts/watch-workers.ts';
import {
  type CommonOptions,
  print,
  say,
  untilStopped,
  wholeNumber,
  withCommonOptions,
  withServices,
} from '../shell/command.ts';
import { exitCodes } from '../shell/failures.ts';
import { iso, tellTimes, withExamples } from '../shell/output.ts';
import { addBackfillSchedule } from './backfill-schedule.ts';

/** A date or date-time (UTC) → microseconds since the epoch. */
export const parseTimestampArgument = (text: string): number => {
  const micros = /^\d{4}-/.test(text) ? parseTimestamp(text) : undefined;
  if (micros === undefined)
    throw new InvalidArgumentError('Use a date or date-time such as 2025-01-31 or 2025-01-31T08:00:00Z.');
  return micros;
};

/** @throws CallsyncError USAGE_RANGE */
export const refuseEmptyRange = ({ from, to }: { readonly from?: number; readonly to?: number }): void => {
  if (from !== undefined && to !== undefined && from >= to)
    throw terminal('USAGE_RANGE', 'The range is empty: --from must be before --to.');
};

const toJson = (name: string, { startedAt, ...progress }: BackfillProgress): unknown =>
  tellTimes({ backfill: name, ...progress, startedAt: new Date(startedAt) });

/** In percent of the range; whoever reads of few calls must see that the others were not forgotten. */
const skippedOf = ({ totals: { skippedSeconds = 0 }, range }: BackfillProgress): number =>
  skippedSeconds > 0 ? Math.max(1, Math.floor((skippedSeconds * 100_000_000) / (range.to - range.from))) : 0;

export const describeBackfill = (name: string, progress: BackfillProgress): string =>
  [
    `backfill ${name}: ${progress.state}, ${Math.floor(shareOf(progress) * 100)} % of ${iso(progress.range.from)} … ${iso(progress.range.to)} (${progress.axis})`,
    `  ${countOf(progress.totals.calls, 'call')} in ${countOf(progress.totals.windows, 'window')}, ${progress.totals.changed} written, ${countOf(progress.totals.requests, 'request')}`,
    ...(skippedOf(progress) > 0
      ? [`  ${skippedOf(progress)} % of the range was read before and is skipped: --force reads it again`]
      : []),
    ...(progress.totals.problems > 0
      ? [`  ${countOf(progress.totals.problems, 'window')} could not be shown to be complete: see callsync status`]
      : []),
  ].join('\n');

interface StartOptions extends CommonOptions {
  readonly from: number;
  readonly to?: number;
  readonly axis?: string;
  readonly order?: 'newest_first' | 'oldest_first';
  readonly concurrency?: number;
  readonly force?: boolean;
  readonly name?: string;
  readonly wait: boolean;
}

/** The workflow takes no others. */
const parseConcurrency = wholeNumber(1, 256);

type Handle = ReturnType<typeof backfillHandle>;

const start = (options: StartOptions): Promise<void> =>
  withServices(options, async (services) => {
    const { sync, source, temporal: config } = services.config;
    // A future window would count as read, and continuous sync would begin behind it.
    const to = Math.min(options.to ?? Number.POSITIVE_INFINITY, Date.now() * 1000);
    if (options.from >= to)
      throw terminal('USAGE_RANGE', 'The range is empty: --from must be before --to and before now.');
    const axis = options.axis ?? defaultAxis(source.list).name;
    axisOf(source.list, axis);
    const temporal = await openTemporal(services);
    const name = options.name ?? `${iso(options.from).slice(0, 10)}_${iso(to).slice(0, 10)}`;
    const handle = await startBackfill(temporal.client, config.task_queue, {
      name,
      axis,
      range: { from: options.from, to },
      direction: options.order ?? sync.order,
      concurrency: options.concurrency ?? sync.concurrency,
      force: options.force === true,
    });
    if (!options.wait) {
      print(options, { backfill: name, workflow: handle.workflowId }, `started: callsync backfill watch ${name}`);
      return;
    }
    await watch(options, name, handle);
  });

const watch = async (options: CommonOptions, name: string, handle: Handle): Promise<void> => {
  const { signal } = untilStopped();
  const progress = await watchBackfill(handle, name, signal);
  print(options, toJson(name, progress), describeBackfill(name, progress));
  if (progress.state !== 'done')
    say(`The backfill goes on in its workers: callsync backfill watch ${name}, or callsync backfill cancel ${name}.`);
  if (progress.state !== 'done' || progress.totals.problems > 0) process.exitCode = exitCodes.incomplete;
};

const statusOf = async (handle: Handle, name: string): Promise<string> => {
  try {
    return (await handle.describe()).status.name;
  } catch (cause) {
    if (!(cause instanceof WorkflowNotFoundError)) throw cause;
    throw terminal('USAGE_BACKFILL', `There is no backfill named “${name}”.`, {
      hint: 'callsync backfill list shows the names of all.',
      cause,
    });
  }
};

/** Runs `act` on a backfill that exists. @throws terminal USAGE_BACKFILL */
const withBackfill = (options: CommonOptions, name: string, act: (handle: Handle, status: string) => Promise<void>) =>
  withServices(options, async (services) => {
    const temporal = await openTemporal(services);
    const handle = backfillHandle(temporal.client, services.config.temporal.task_queue, name);
    await act(handle, await statusOf(handle, name));
  });

/** A command that changes a running backfill, which its worker confirms with its progress. */
const control = (
  options: CommonOptions,
  { name, verb }: { readonly name: string; readonly verb: string },
  change: (handle: Handle) => Promise<BackfillProgress>,
): Promise<void> =>
  withBackfill(options, name, async (handle, status) => {
    if (status !== 'RUNNING') {
      throw terminal('USAGE_BACKFILL', `The backfill “${name}” has ended (${wordOf(status)}): nothing to ${verb}.`);
    }
    const progress = await needWorkers(handle, say, change(handle));
    print(options, toJson(name, progress), describeBackfill(name, progress));
  });

const wordOf = (status: string): string => status.toLowerCase().replaceAll('_', ' ');

const cancel = (name: string, options: CommonOptions): Promise<void> =>
  withBackfill(options, name, async (handle, status) => {
    if (status === 'RUNNING') await handle.cancel();
    const text = status === 'RUNNING' ? 'will stop; what was read is kept' : `has ended already (${wordOf(status)})`;
    print(options, { backfill: name, requested: 'cancel', status: wordOf(status) }, `backfill ${name}: ${text}`);
  });

const list = (options: CommonOptions): Promise<void> =>
  withServices(options, async (services) => {
    const temporal = await openTemporal(services);
    const all = await listBackfills(temporal.client, services.config.temporal.task_queue);
    const rows = all.map(({ status, ...one }) => ({ ...one, state: wordOf(status) }));
    const width = Math.max(0, ...rows.map(({ name }) => name.length));
    const text = rows.map(
      ({ name, state, startedAt }) => `${name.padEnd(width)}  ${state.padEnd(9)}  since ${startedAt}`,
    );
    print(options, rows, text.length === 0 ? 'There is none.' : text.join('\n'));
  });

export const addBackfill = (command: Command): void => {
  const backfill = withExamples(
    command,
    [
      'callsync backfill --from 2025-01-01 --to 2025-07-01',
      'callsync backfill --from 2020-01-01 --concurrency 8 --no-wait',
      'callsync backfill watch 2025-01-01_2025-07-01',
    ],
    'All options: callsync backfill start --help ("start" may be left out).',
  );
  addStart(backfill);
  addBackfillSchedule(backfill);
  const leaf = (usage: string, text: string, ...examples: string[]): Command =>
    withExamples(withCommonOptions(backfill.command(usage)), examples).description(text);
  leaf('list', 'the backfills that Temporal knows, newest first', 'callsync backfill list').action(list);
  leaf(
    'watch <name>',
    'show a backfill until it ends; Ctrl-C leaves it running',
    'callsync backfill watch 2025-01-01_2025-07-01',
  ).action((name: string, options: CommonOptions) =>
    withBackfill(options, name, (handle) => watch(options, name, handle)),
  );
  leaf(
    'pause <name>',
    'let running windows finish and start no more',
    'callsync backfill pause 2025-01-01_2025-07-01',
  ).action((name: string, options: CommonOptions) =>
    control(options, { name, verb: 'pause' }, (handle) => handle.executeUpdate(pauseUpdate)),
  );
  leaf('resume <name>', 'go on after a pause', 'callsync backfill resume 2025-01-01_2025-07-01').action(
    (name: string, options: CommonOptions) =>
      control(options, { name, verb: 'resume' }, (handle) => handle.executeUpdate(resumeUpdate)),
  );
  leaf('cancel <name>', 'stop; what was read is kept', 'callsync backfill cancel 2025-01-01_2025-07-01').action(cancel);
  leaf(
    'concurrency <name>',
    'change how many windows are read at once',
    'callsync backfill concurrency 2025-01-01_2025-07-01 8',
  )
    .argument('<n>', 'windows at once, 1 to 256', parseConcurrency)
    .action((name: string, windows: number, options: CommonOptions) =>
      control(options, { name, verb: 'change' }, (handle) =>
        handle.executeUpdate(setConcurrencyUpdate, { args: [windows] }),
      ),
    );
};

/** A command of its own: its options would otherwise be demanded of, and taken from, the other commands. */
const addStart = (backfill: Command): void => {
  withExamples(
    withCommonOptions(backfill.command('start', { isDefault: true })),
    [
      'callsync backfill --from 2025-01-01',
      'callsync backfill --from 2025-01-01 --to 2025-07-01 --force',
      'callsync backfill --from 2020-01-01 --name everything --no-wait',
    ],
    `Ctrl-C leaves the view, not the backfill; the same command joins it again. Exit code 5: it goes on without being
watched, or windows could not be shown to be complete; 4: no worker answers.`,
  )
    .description('start a backfill, or join the one that runs under its name, and show it until it ends')
    .requiredOption('--from <instant>', 'start of the range, inclusive (UTC)', parseTimestampArgument)
    .option('--to <instant>', 'end of the range, exclusive (UTC); now by default', parseTimestampArgument)
    .option('--axis <name>', 'time axis of the range (default: the configured one)')
    .addOption(new Option('--order <order>', 'which end first').choices(['newest_first', 'oldest_first']))
    .option('--concurrency <n>', 'windows read at once, over all workers, 1 to 256', parseConcurrency)
    .option('--force', 'read windows again that were read before and shown complete')
    .option('--name <name>', 'name of the backfill (default: its dates)')
    .option('--no-wait', 'start it and return at once')
    .action(start);
};
