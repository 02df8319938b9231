import type { Command } from 'commander';
import type { Config } from '../../../schemas/config.ts';
import { readCoverage } from '../../health/coverage/coverage.ts';
import { drawCoverage } from '../../health/coverage/draw-text.ts';
import { countOf } from '../../lib/count-of.ts';
import { chooseAxis } from '../../pipeline/read/choose-axis.ts';
import { forecastVerdicts, type JudgedDay, listDays } from '../../pipeline/reconcile/judged-days.ts';
import { rowsWithin } from '../../pipeline/reconcile/plan-reconcile.ts';
import type { Store } from '../../store/store.ts';
import { processedFieldOf } from '../parts/activity-deps.ts';
import { type CommonOptions, print, withCommonOptions, withStore } from '../shell/command.ts';
import { iso, tellTimes } from '../shell/output.ts';
import { parseTimestampArgument } from './backfill.ts';

const defaultDays = 30;

/** How many days that were read have no good verdict yet, and by when the schedule will have judged them. */
const describeUnjudged = async (config: Config, store: Store, now: number) => {
  const { reconcile } = config.sync;
  const chosen = chooseAxis(config.source.list, processedFieldOf(config));
  if (chosen === undefined) return { days: 0, judgedBy: null, lines: [] };
  const listed = await listDays(store, { axis: chosen.axis, warehouses: Object.keys(config.warehouses), to: now });
  const days = listed.filter((one) => !one.judged);
  const isCompared = (one: JudgedDay): boolean => one.judged && one.rowsAt >= now - rowsWithin;
  const rows = listed.filter(isCompared).length;
  const level = `Proven: of ${countOf(listed.length - days.length, 'day')}, the rows of ${rows} were compared in the last 30 days; of the others guards (docs/how-it-works.md).`;
  if (days.length === 0) return { days: 0, judgedBy: null, lines: listed.length === 0 ? [] : [level] };
  const head = `Days read and not judged yet: ${days.length}.`;
  if (!reconcile.enabled) {
    const hint = 'sync.reconcile is off: run callsync reconcile, or turn it on.';
    return { days: days.length, judgedBy: null, lines: [level, `${head} ${hint}`] };
  }
  const micros = { age: reconcile.age * 1000, span: reconcile.span * 1000, interval: reconcile.interval * 1000 };
  const by = forecastVerdicts(days, { ...micros, backlogDays: reconcile.backlog_days }, now);
  if (by === undefined || !Number.isFinite(by)) {
    const hint =
      'sync.reconcile.backlog_days is 0: days before sync.reconcile.span are judged only by callsync reconcile.';
    return { days: days.length, judgedBy: null, lines: [level, `${head} ${hint}`] };
  }
  const judgedBy = iso(by);
  const line = `${head} While a worker runs, all are judged by ${judgedBy.slice(0, 10)}; callsync reconcile judges them now.`;
  return { days: days.length, judgedBy, lines: [level, line] };
};

export const addCoverage = (command: Command): void => {
  withCommonOptions(command)
    .option('--from <instant>', `start of the range (UTC); ${defaultDays} days ago by default`, parseTimestampArgument)
    .option('--to <instant>', 'end of the range (UTC); now by default', parseTimestampArgument)
    .option(
      '--webhooks-since <instant>',
      'judge webhooks from here on, not from the first one received',
      parseTimestampArgument,
    )
    .addHelpText('after', '\nExamples:\n  callsync coverage\n  callsync coverage --from 2025-01-01')
    .action((options: CommonOptions & { from?: number; to?: number; webhooksSince?: number }) =>
      withStore(options, async (store, services) => {
        const now = Date.now() * 1000;
        const coverage = await readCoverage(store, {
          range: { from: options.from ?? now - defaultDays * 86_400_000_000, to: options.to ?? now },
          warehouses: Object.keys(services.config.warehouses),
          now,
          webhooksSince: options.webhooksSince,
        });
        const unjudged = await describeUnjudged(services.config, store, now);
        print(
          options,
          tellTimes({ ...coverage, unjudged }),
          [drawCoverage(coverage, process.stdout.columns), ...unjudged.lines].join('\n'),
        );
      }),
    );
};
