import { type Command, Option } from 'commander';
import type { SourceLevel, WarehouseLevel } from '../../../schemas/orchestration.ts';
import { type ReconcileProgress, reconcileProgressQuery } from '../../../workflows/messages.ts';
import { terminal } from '../../lib/errors.ts';
import { startReconcile } from '../../temporal/workflow-client.ts';
import { followWorkflow } from '../parts/follow-workflow.ts';
import { openTemporal } from '../parts/open-temporal.ts';
import { type CommonOptions, print, say, untilStopped, withCommonOptions, withServices } from '../shell/command.ts';
import { exitCodes } from '../shell/failures.ts';
import { withExamples } from '../shell/output.ts';
import { parseTimestampArgument } from './backfill.ts';

const everyMs = 1_000;

const describe = ({ done, windows, totals }: ReconcileProgress): string =>
  [
    `${done} of ${windows} windows compared: ${totals.proven} proven, ${totals.healed} healed, ${totals.unproven} unproven, ${totals.suspicious} suddenly empty`,
    `  calls: ${totals.missing} missing, ${totals.different} different, ${totals.healedCalls} healed, ${totals.markedMissing} no longer listed; ${totals.requests} requests`,
    ...(totals.removed > 0 ? [`  ${totals.removed} surplus calls removed from warehouses`] : []),
    ...(totals.failed > 0
      ? [`  ${totals.failed} windows failed; the log of the worker says why, the next run takes them again`]
      : []),
    ...(totals.unreachable > 0 ? [`  ${totals.unreachable} warehouses did not answer`] : []),
  ].join('\n');

const sourceLevels: readonly SourceLevel[] = ['ids', 'fields', 'records'];
const warehouseLevels: readonly WarehouseLevel[] = ['guards', 'rows'];
export const levels: readonly (SourceLevel | WarehouseLevel)[] = [...sourceLevels, ...warehouseLevels];

/** The most thorough level of each kind. */
export const levelsOf = (named: readonly string[] = []) => {
  const mostThorough = <L extends string>(levels: readonly L[]): L | undefined =>
    levels.findLast((one) => named.includes(one));
  return { level: mostThorough(sourceLevels), warehouseLevel: mostThorough(warehouseLevels) };
};

interface ReconcileOptions extends CommonOptions {
  readonly from?: number;
  readonly to?: number;
  readonly level?: readonly (SourceLevel | WarehouseLevel)[];
  readonly force?: boolean;
  readonly acceptEmpty?: boolean;
}

const reconcile = (options: ReconcileOptions): Promise<void> =>
  withServices(options, async (services) => {
    const to = options.to ?? Date.now() * 1000;
    if (options.from !== undefined && options.from >= to)
      throw terminal('USAGE_RANGE', 'The range is empty: --from must be before --to and before now.');
    if (options.from === undefined && options.to !== undefined)
      throw terminal('USAGE_RANGE', '--to needs --from: without a range, windows without a verdict are compared.');
    const temporal = await openTemporal(services);
    const name = options.from === undefined ? 'asked' : `${options.from}-${to}`;
    const handle = await startReconcile(temporal.client, services.config.temporal.task_queue, {
      name,
      request: {
        ...(options.from === undefined ? {} : { range: { from: options.from, to } }),
        force: options.force,
        acceptEmpty: options.acceptEmpty,
        ...levelsOf(options.level),
      },
    });
    let last: ReconcileProgress | undefined;
    const followed = await followWorkflow<ReconcileProgress, ReconcileProgress>(handle, {
      what: 'reconciliation',
      look: {
        everyMs,
        ask: () => handle.query(reconcileProgressQuery),
        show: (now) => {
          if (now.windows > 0 && (now.done !== last?.done || now.windows !== last.windows))
            say(`${now.done} of ${now.windows} windows …`);
          last = now;
        },
      },
      signal: untilStopped().signal,
      say,
    });
    const progress = followed.ended ? followed.result : last;
    if (!followed.ended) {
      say('The reconciliation goes on in its workers; the same command joins it again.');
      process.exitCode = exitCodes.incomplete;
    }
    if (progress === undefined) return;
    print(options, progress, describe(progress));
    const { unproven, suspicious, failed, unreachable } = progress.totals;
    if (unproven + suspicious + failed + unreachable > 0) process.exitCode = exitCodes.incomplete;
  });

export const addReconcile = (command: Command): void => {
  withExamples(
    withCommonOptions(command),
    ['callsync reconcile', 'callsync reconcile --from 2025-01-01 --to 2025-02-01 --level records --level rows'],
    'Ctrl-C leaves it running. Exit code 5: windows stay unproven or are suddenly empty, or failed.',
  )
    .option('--from <instant>', 'start of the range (UTC); default: windows without a verdict', parseTimestampArgument)
    .option('--to <instant>', 'end of the range (UTC); now by default', parseTimestampArgument)
    .addOption(
      new Option(
        '--level <level...>',
        'with the service: ids, fields of a summary listing, whole records; in warehouses: guards, or the rows themselves',
      ).choices(levels),
    )
    .option('--force', 'also windows that have a good verdict')
    .option('--accept-empty', 'an empty window is right although its history says otherwise')
    .action(reconcile);
};
