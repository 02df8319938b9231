import { WorkflowNotFoundError } from '@temporalio/client';
import { type BackfillProgress, pauseUpdate, resumeUpdate, setConcurrencyUpdate } from '../../../workflows/messages.ts';
import { countOf } from '../../lib/count-of.ts';
import { terminal } from '../../lib/errors.ts';
import { axisOf } from '../../source/list/list-query.ts';
import { backfillHandle } from '../../temporal/workflow-client.ts';
import { needWorkers, shareOf, watchBackfill } from '../parts/follow.ts';
import { fromOption, toOption, untilNow } from '../parts/range.ts';
import { beginBackfill, listBackfills, openTemporal, withTemporal } from '../parts/temporal.ts';
import { withServices } from '../parts/with-services.ts';
import { argument, type CommonOptions, flag, type Given, group, leaf, option } from '../shell/define.ts';
import { endWith } from '../shell/exit.ts';
import { iso, print, renderTable, say, tellTimes } from '../shell/output.ts';
import { untilStopped } from '../shell/signals.ts';
import { concurrencyOf, schedule, windowOptions } from './backfill-schedule.ts';

const toJson = (name: string, { startedAt, ...progress }: BackfillProgress): unknown =>
  tellTimes({ backfill: name, ...progress, startedAt: new Date(startedAt) });

/** In percent of the range; whoever reads of few calls must see that the others were not forgotten. */
const skippedOf = ({ totals: { skippedSeconds = 0 }, range }: BackfillProgress): number =>
  skippedSeconds > 0 ? Math.max(1, Math.floor((skippedSeconds * 100_000_000) / (range.to - range.from))) : 0;

export const describeBackfill = (name: string, progress: BackfillProgress): string => {
  const { state, range, axis, totals } = progress;
  const skipped = skippedOf(progress);
  return [
    `backfill ${name}: ${state}, ${Math.floor(shareOf(progress) * 100)} % of ${iso(range.from)} … ${iso(range.to)} (${axis})`,
    `  ${countOf(totals.calls, 'call')} in ${countOf(totals.windows, 'window')}, ${totals.changed} written, ${countOf(totals.requests, 'request')}`,
    ...(skipped > 0 ? [`  ${skipped} % of the range was read before and is skipped: --force reads it again`] : []),
    ...(totals.problems > 0
      ? [`  ${countOf(totals.problems, 'window')} could not be shown to be complete: see callsync status`]
      : []),
  ].join('\n');
};

type StartOptions = Given<typeof startOptions>;

type Handle = ReturnType<typeof backfillHandle>;

const start = (options: StartOptions): Promise<void> =>
  withServices(options, async (services) => {
    const range = untilNow(options);
    const { axis, order: direction, concurrency, force } = options;
    if (axis !== undefined) axisOf(services.config.source.list, axis);
    const asked = { axis, direction, concurrency, force };
    const given = Object.fromEntries(Object.entries(asked).filter(([, value]) => value !== undefined));
    const name = options.name ?? `${iso(range.from).slice(0, 10)}_${iso(range.to).slice(0, 10)}`;
    const handle = await beginBackfill(services, await openTemporal(services), { name, range, ...given });
    if (options.wait) return await watch(options, name, handle);
    print(options, { backfill: name, workflow: handle.workflowId }, `started: callsync backfill watch ${name}`);
  });

const watch = async (options: CommonOptions, name: string, handle: Handle): Promise<void> => {
  const { signal } = untilStopped();
  const progress = await watchBackfill(handle, name, signal);
  print(options, toJson(name, progress), describeBackfill(name, progress));
  if (progress.state !== 'done')
    say(`The backfill goes on in its workers: callsync backfill watch ${name}, or callsync backfill cancel ${name}.`);
  if (progress.state !== 'done' || progress.totals.problems > 0) endWith('incomplete');
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
  withTemporal(options, async ({ client }, prefix) => {
    const handle = backfillHandle(client, prefix, name);
    await act(handle, await statusOf(handle, name));
  });

const wordOf = (status: string): string => status.toLowerCase().replaceAll('_', ' ');

/** A command that changes a running backfill, which its worker confirms with its progress. */
const control = (
  options: CommonOptions,
  { name, verb }: { readonly name: string; readonly verb: string },
  change: (handle: Handle) => Promise<BackfillProgress>,
): Promise<void> =>
  withBackfill(options, name, async (handle, status) => {
    if (status !== 'RUNNING')
      throw terminal('USAGE_BACKFILL', `The backfill “${name}” has ended (${wordOf(status)}): nothing to ${verb}.`);
    const progress = await needWorkers(handle, change(handle));
    print(options, toJson(name, progress), describeBackfill(name, progress));
  });

const update = (verb: string, change: typeof pauseUpdate) => (name: string, options: CommonOptions) =>
  control(options, { name, verb }, (handle) => handle.executeUpdate(change));

const changeConcurrency = (name: string, windows: number, options: CommonOptions) =>
  control(options, { name, verb: 'change' }, (handle) =>
    handle.executeUpdate(setConcurrencyUpdate, { args: [windows] }),
  );

const cancel = (name: string, options: CommonOptions): Promise<void> =>
  withBackfill(options, name, async (handle, status) => {
    if (status === 'RUNNING') await handle.cancel();
    const text = status === 'RUNNING' ? 'will stop; what was read is kept' : `has ended already (${wordOf(status)})`;
    print(options, { backfill: name, requested: 'cancel', status: wordOf(status) }, `backfill ${name}: ${text}`);
  });

const list = (options: CommonOptions): Promise<void> =>
  withTemporal(options, async (temporal, prefix) => {
    const rows = (await listBackfills(temporal.client, prefix)).map(({ status, ...one }) => ({
      ...one,
      state: wordOf(status),
    }));
    print(options, rows, renderTable(rows));
  });

/** A command about one backfill. */
const about = (verb: string, does: string, run: (...given: never[]) => Promise<void>, value?: number) =>
  leaf({
    does,
    args: [
      argument('<name>', 'name of the backfill'),
      ...(value === undefined ? [] : [argument('<n>', 'windows at once, 1 to 256', { parse: concurrencyOf })]),
    ],
    examples: [`callsync backfill ${verb} 2025-01-01_2025-07-01${value === undefined ? '' : ` ${value}`}`],
    run,
  });

const startOptions = {
  from: fromOption,
  to: toOption,
  ...windowOptions,
  force: flag('--force', 'read windows again that were read before and shown complete'),
  name: option('--name <name>', 'name of the backfill (default: its dates)'),
  wait: flag('--no-wait', 'start it and return at once'),
};

export const command = group({
  examples: [
    'callsync backfill --from 2025-01-01 --to 2025-07-01',
    'callsync backfill --from 2020-01-01 --concurrency 8 --no-wait',
    'callsync backfill watch 2025-01-01_2025-07-01',
  ],
  remarks: 'All options: callsync backfill start --help ("start" may be left out).',
  standard: 'start',
  commands: {
    // A command of its own: its options would otherwise be demanded of, and taken from, the other commands.
    start: leaf({
      does: 'start a backfill, or join the one that runs under its name, and show it until it ends',
      options: startOptions,
      examples: [
        'callsync backfill --from 2025-01-01',
        'callsync backfill --from 2025-01-01 --to 2025-07-01 --force',
        'callsync backfill --from 2020-01-01 --name everything --no-wait',
      ],
      remarks: `Ctrl-C stops the display; the backfill continues. Run the command again to watch it. Exit code 5: it goes on
without being watched, or windows could not be shown to be complete; 4: no worker answers.`,
      run: start,
    }),
    schedule,
    list: leaf({
      does: 'the backfills that Temporal knows, newest first',
      examples: ['callsync backfill list'],
      run: list,
    }),
    watch: about(
      'watch',
      'show a backfill until it ends; Ctrl-C leaves it running',
      (name: string, options: CommonOptions) => withBackfill(options, name, (handle) => watch(options, name, handle)),
    ),
    pause: about('pause', 'let running windows finish and start no more', update('pause', pauseUpdate)),
    resume: about('resume', 'go on after a pause', update('resume', resumeUpdate)),
    cancel: about('cancel', 'stop; what was read is kept', cancel),
    concurrency: about('concurrency', 'change how many windows are read at once', changeConcurrency, 8),
  },
});
