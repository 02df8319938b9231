import { type Command, InvalidArgumentError, Option } from 'commander';
import {
  type BackfillProgress,
  pauseUpdate,
  progressQuery,
  resumeUpdate,
  setConcurrencyUpdate,
} from '../../../workflows/messages.ts';
import { parseTimestamp } from '../../calls/parse-values.ts';
import { terminal } from '../../errors.ts';
import { defaultAxis } from '../../source/list-query.ts';
import { backfillHandle, startBackfill } from '../../temporal/workflow-client.ts';
import { type CommonOptions, print, untilStopped, withCommonOptions, withServices } from '../command.ts';
import { exitCodes } from '../exit-codes.ts';
import { openTemporal } from '../services.ts';
import { watchBackfill } from '../watch-backfill.ts';

/** A date or date-time (UTC) → microseconds since the epoch. */
export const parseInstantArgument = (text: string): number => {
  const micros = parseTimestamp(/^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00:00Z` : text);
  if (micros === undefined)
    throw new InvalidArgumentError('Use a date or date-time such as 2025-01-31 or 2025-01-31T08:00:00Z.');
  return micros;
};

const iso = (micros: number): string => new Date(micros / 1000).toISOString();

export const describeBackfill = (name: string, progress: BackfillProgress): string =>
  [
    `backfill ${name}: ${progress.state}, ${Math.round(progress.share * 100)} % of ${iso(progress.range.from)} … ${iso(progress.range.to)} (${progress.axis})`,
    `  ${progress.totals.calls} calls in ${progress.totals.windows} windows, ${progress.totals.changed} written, ${progress.totals.requests} requests`,
    ...(progress.totals.problems > 0
      ? [`  ${progress.totals.problems} windows could not be shown to be complete: see callsync status`]
      : []),
  ].join('\n');

interface StartOptions extends CommonOptions {
  readonly from: number;
  readonly to?: number;
  readonly axis?: string;
  readonly order?: 'newest_first' | 'oldest_first';
  readonly concurrency?: string;
  readonly force?: boolean;
  readonly name?: string;
  readonly wait: boolean;
}

const start = (options: StartOptions): Promise<void> =>
  withServices(options, async (services) => {
    const { sync, source, temporal: config } = services.config;
    // A window that lies ahead would count as read, and continuous sync would begin behind it.
    const to = Math.min(options.to ?? Number.POSITIVE_INFINITY, Date.now() * 1000);
    if (options.from >= to)
      throw terminal('USAGE_RANGE', 'The range is empty: --from must be before --to and before now.');
    const temporal = await openTemporal(services);
    const name = options.name ?? `${iso(options.from).slice(0, 10)}_${iso(to).slice(0, 10)}`;
    const handle = await startBackfill(temporal.client, config.task_queue, {
      name,
      axis: options.axis ?? defaultAxis(source.list).name,
      range: { from: options.from, to },
      direction: options.order ?? sync.order,
      concurrency: options.concurrency === undefined ? sync.concurrency : Number(options.concurrency),
      force: options.force === true,
    });
    if (!options.wait) {
      print(options, { backfill: name, workflow: handle.workflowId }, `started: callsync backfill watch ${name}`);
      return;
    }
    await watch(options, name, handle);
  });

const watch = async (
  options: CommonOptions,
  name: string,
  handle: ReturnType<typeof backfillHandle>,
): Promise<void> => {
  const progress = await watchBackfill(handle, name, untilStopped().signal);
  print(options, { backfill: name, ...progress }, describeBackfill(name, progress));
  if (progress.state === 'done' && progress.totals.problems > 0) process.exitCode = exitCodes.incomplete;
};

const control = (
  program: Command,
  verb: string,
  text: string,
  act: (handle: ReturnType<typeof backfillHandle>, argument: string) => Promise<unknown>,
  argument?: string,
): void => {
  const command = program.command(`${verb} <name>`);
  if (argument !== undefined) command.argument(argument);
  withCommonOptions(command)
    .description(text)
    .action((name: string, ...rest: unknown[]) => {
      const value = argument === undefined ? '' : (rest[0] as string);
      const options = rest[argument === undefined ? 0 : 1] as CommonOptions;
      return withServices(options, async (services) => {
        const temporal = await openTemporal(services);
        const handle = backfillHandle(temporal.client, services.config.temporal.task_queue, name);
        const result = (await act(handle, value)) as BackfillProgress | undefined;
        if (result === undefined) print(options, { backfill: name, requested: verb }, `${verb}: requested for ${name}`);
        else print(options, { backfill: name, ...result }, describeBackfill(name, result));
      });
    });
};

export const addBackfill = (program: Command): void => {
  const backfill = program
    .command('backfill')
    .description('read all calls of a range; needs a running worker (callsync up or callsync worker)')
    .addHelpText(
      'after',
      `
Examples:
  callsync backfill --from 2025-01-01 --to 2025-07-01
  callsync backfill --from 2020-01-01 --concurrency 8 --no-wait
  callsync backfill watch 2025-01-01_2025-07-01

All options: callsync backfill start --help ("start" may be left out).`,
    );
  // A command of its own: its options would otherwise be demanded of, and taken from, the other commands.
  withCommonOptions(backfill.command('start', { isDefault: true }))
    .description('start a backfill, or join the one that runs under its name, and show it until it ends')
    .requiredOption('--from <instant>', 'start of the range, inclusive (UTC)', parseInstantArgument)
    .option('--to <instant>', 'end of the range, exclusive (UTC); now by default', parseInstantArgument)
    .option('--axis <name>', 'time axis of the range (default: the configured one)')
    .addOption(new Option('--order <order>', 'which end first').choices(['newest_first', 'oldest_first']))
    .option('--concurrency <n>', 'windows read at once, over all workers')
    .option('--force', 'read again what is proven complete already')
    .option('--name <name>', 'name of the backfill (default: its dates)')
    .option('--no-wait', 'start it and return at once')
    .action(start);
  control(backfill, 'watch', 'show a running backfill until it ends', async (handle) => {
    await handle.query(progressQuery);
    return watchBackfill(handle, handle.workflowId, untilStopped().signal);
  });
  control(backfill, 'pause', 'let running windows finish and start no more', (handle) =>
    handle.executeUpdate(pauseUpdate),
  );
  control(backfill, 'resume', 'go on after a pause', (handle) => handle.executeUpdate(resumeUpdate));
  control(backfill, 'cancel', 'stop; what was read is kept', (handle) => handle.cancel().then(() => undefined));
  control(
    backfill,
    'concurrency',
    'change how many windows are read at once',
    (handle, value) => handle.executeUpdate(setConcurrencyUpdate, { args: [Number(value)] }),
    '<n>',
  );
};
