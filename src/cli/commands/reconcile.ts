import { type Command, Option } from 'commander';
import { verifyVerdicts } from '../../../activities/verify-verdicts.ts';
import type { ReconcileLevel } from '../../../schemas/orchestration.ts';
import { type ReconcileProgress, reconcileProgressQuery } from '../../../workflows/messages.ts';
import { startReconcile } from '../../temporal/workflow-client.ts';
import { type CommonOptions, print, withCommonOptions, withServices } from '../command.ts';
import { exitCodes } from '../exit-codes.ts';
import { openStoreService, openTemporal, openWarehouses } from '../services.ts';
import { parseInstantArgument } from './backfill.ts';

const everyMs = 1_000;

const describe = ({ done, windows, totals }: ReconcileProgress): string =>
  [
    `${done} of ${windows} windows compared: ${totals.proven} proven, ${totals.healed} healed, ${totals.unproven} unproven, ${totals.suspicious} suddenly empty`,
    `  calls: ${totals.missing} missing, ${totals.different} different, ${totals.healedCalls} healed, ${totals.markedMissing} no longer listed; ${totals.requests} requests`,
    ...(totals.unreachable > 0 ? [`  ${totals.unreachable} warehouses did not answer`] : []),
  ].join('\n');

interface ReconcileOptions extends CommonOptions {
  readonly from?: number;
  readonly to?: number;
  readonly level?: ReconcileLevel;
  readonly force?: boolean;
  readonly acceptEmpty?: boolean;
}

const reconcile = (options: ReconcileOptions): Promise<void> =>
  withServices(options, async (services) => {
    const temporal = await openTemporal(services);
    const to = options.to ?? Date.now() * 1000;
    const name = options.from === undefined ? 'asked' : `${options.from}-${to}`;
    const handle = await startReconcile(temporal.client, services.config.temporal.task_queue, {
      name,
      request: {
        ...(options.from === undefined ? {} : { range: { from: options.from, to } }),
        ...(options.force === true ? { force: true } : {}),
        ...(options.level === undefined ? {} : { level: options.level }),
        ...(options.acceptEmpty === true ? { acceptEmpty: true } : {}),
      },
    });
    let ended = false;
    const result = (handle.result() as Promise<ReconcileProgress>).finally(() => {
      ended = true;
    });
    result.catch(() => undefined);
    let shown = -1;
    while (!ended) {
      const progress = await handle.query(reconcileProgressQuery).catch(() => undefined);
      if (progress !== undefined && progress.done !== shown)
        services.say(`${progress.done} of ${progress.windows} windows …`);
      shown = progress?.done ?? shown;
      await Promise.race([result.catch(() => undefined), new Promise((resolve) => setTimeout(resolve, everyMs))]);
    }
    const progress = await result;
    print(options, progress, describe(progress));
    if (progress.totals.unproven + progress.totals.suspicious > 0) process.exitCode = exitCodes.incomplete;
  });

export const addReconcile = (program: Command): void => {
  withCommonOptions(program.command('reconcile'))
    .description('compare windows in the API with every warehouse, heal what differs, record verdicts; needs a worker')
    .option('--from <instant>', 'start of the range (UTC); default: windows without a verdict', parseInstantArgument)
    .option('--to <instant>', 'end of the range (UTC); now by default', parseInstantArgument)
    .addOption(new Option('--level <level>', 'what is compared').choices(['ids', 'light', 'full']))
    .option('--force', 'also windows that have a good verdict')
    .option('--accept-empty', 'an empty window is right although its history says otherwise')
    .addHelpText('after', '\nExample:\n  callsync reconcile --from 2025-01-01 --to 2025-02-01')
    .action(reconcile);
  const verdicts = program.command('verdicts').description('the recorded outcomes of reconciling');
  withCommonOptions(verdicts.command('verify'))
    .description('check that no verdict was changed: the chain of digests in the store and its copy in each warehouse')
    .action((options: CommonOptions) =>
      withServices(options, async (services) => {
        const store = await openStoreService(services);
        const checks = await verifyVerdicts(store, await openWarehouses(services, store));
        print(
          options,
          checks,
          checks
            .map(({ warehouse, verdicts: count, intact, broken }) =>
              intact
                ? `${warehouse}: ${count} verdicts, chain intact`
                : `${warehouse}: CHANGED (${broken.length} broken links of ${count})`,
            )
            .join('\n'),
        );
        if (checks.some((check) => !check.intact)) process.exitCode = exitCodes.incomplete;
      }),
    );
};
