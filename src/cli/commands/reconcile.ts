import { type ReconcileProgress, reconcileProgressQuery } from '../../../workflows/messages.ts';
import { withServices } from '../../app/services.ts';
import { openTemporal, untilNow } from '../../app/temporal.ts';
import { countOf } from '../../lib/count-of.ts';
import { terminal } from '../../lib/errors.ts';
import { say } from '../../lib/say.ts';
import { iso } from '../../lib/timestamps.ts';
import { startReconcile } from '../../temporal/workflow-client.ts';
import { choice, flag, instant, leaf, parsed } from '../shell/define.ts';
import { followWorkflow } from '../shell/follow.ts';
import { endWith, lines, untilStopped } from '../shell/output.ts';
import { toOption } from '../shell/range.ts';

const describe = ({ done, windows, totals }: ReconcileProgress, until: number | undefined): string =>
  lines(
    `${done} of ${countOf(windows, 'window')} compared${until === undefined ? '' : ` up to ${iso(until)}`}: ${totals.proven} proven, ${totals.healed} healed, ${totals.unproven} unproven, ${totals.suspicious} suddenly empty`,
    `  calls: ${totals.missing} missing, ${totals.different} different, ${totals.healedCalls} healed, ${totals.markedMissing} no longer listed; ${totals.requests} requests`,
    totals.removed > 0 && `  ${totals.removed} unexpected calls removed from warehouses`,
    totals.failed > 0 &&
      `  ${countOf(totals.failed, 'window')} failed; the log of the worker has the reason, and the next run compares them again`,
    totals.unreachable > 0 &&
      `  no answer of a warehouse for ${countOf(totals.unreachable, 'window')}; callsync coverage --day DATE says why`,
  );

export const levelOptions = {
  sourceLevel: choice(
    '--source-level <level>',
    'data to compare with the service: ids only, also the fields in the list, or whole records',
    ['ids', 'fields', 'records'],
  ),
  warehouseLevel: choice('--warehouse-level <level>', 'data to compare in warehouses: guards only, or also the rows', [
    'guards',
    'rows',
  ]),
};

export default leaf({
  options: {
    from: parsed(
      '--from <instant>',
      'start of the range (UTC). Without it, callsync compares windows without a good verdict',
      instant,
    ),
    to: toOption,
    ...levelOptions,
    force: flag('--force', 'also compare windows with a good verdict'),
    acceptEmpty: flag('--accept-empty', 'accept empty windows that used to contain calls'),
  },
  examples: [
    'callsync reconcile',
    'callsync reconcile --from 2025-01-01 --to 2025-02-01 --source-level records --warehouse-level rows',
  ],
  remarks:
    'Ctrl-C stops the display; the reconciliation continues. Exit code 5: windows are unproven, suspiciously empty, or failed.',
  within: withServices,
  run: async ({ from, to, force, acceptEmpty, sourceLevel: level, warehouseLevel }, services) => {
    if (from === undefined && to !== undefined)
      throw terminal(
        'USAGE_RANGE',
        '--to needs --from. Without a range, callsync compares windows without a good verdict.',
      );
    const range = from === undefined ? undefined : untilNow({ from, to }, services.config.sync.settle);
    const { client, prefix } = await openTemporal(services);
    const handle = await startReconcile(client, prefix, {
      name: range === undefined ? 'asked' : `${range.from}-${range.to}`,
      request: { ...(range && { range }), force, acceptEmpty, level, warehouseLevel },
    });
    let last: ReconcileProgress | undefined;
    const followed = await followWorkflow<ReconcileProgress, ReconcileProgress>(handle, {
      what: 'reconciliation',
      look: {
        query: reconcileProgressQuery,
        show: (now) => {
          if (now.windows > 0 && (now.done !== last?.done || now.windows !== last.windows))
            say(`${now.done} of ${now.windows} windows …`);
          last = now;
        },
      },
      signal: untilStopped().signal,
    });
    const progress = followed.ended ? followed.result : last;
    if (!followed.ended) say('The reconciliation continues in the workers. Run the same command again to watch it.');
    if (progress === undefined) {
      endWith('incomplete');
      return;
    }
    const { unproven, suspicious, failed, unreachable } = progress.totals;
    const isShort = !followed.ended || unproven + suspicious + failed + unreachable > 0;
    return [progress, describe(progress, range?.to), isShort && 'incomplete'];
  },
});
