import { writeFile } from 'node:fs/promises';
import type { Command } from 'commander';
import type { Config } from '../../../schemas/config.ts';
import { drawCoverageHtml } from '../../coverage/draw-html.ts';
import { drawCoverage } from '../../coverage/draw-text.ts';
import { readCoverage } from '../../coverage/read-coverage.ts';
import { terminal } from '../../errors.ts';
import { chooseAxis } from '../../pipeline/read/choose-axis.ts';
import { forecastVerdicts, listDays } from '../../pipeline/reconcile/judged-days.ts';
import type { Store } from '../../store/store.ts';
import { type CommonOptions, print, withCommonOptions, withStore } from '../command.ts';
import { processedFieldOf } from '../services/activity-deps.ts';
import { iso, tellTimes } from '../tell-times.ts';
import { parseTimestampArgument } from './backfill.ts';

const defaultDays = 30;

const writePicture = async (file: string, html: string): Promise<void> => {
  try {
    await writeFile(file, html);
  } catch (cause) {
    throw terminal('USAGE_FILE', `The file ${file} cannot be written (${(cause as { code?: string }).code}).`, {
      hint: 'Name a file in a folder that exists and may be written to.',
      cause,
    });
  }
};

/** How many days that were read have no good verdict yet, and by when the schedule will have judged them. */
const describeUnjudged = async (config: Config, store: Store, now: number) => {
  const { reconcile } = config.sync;
  const chosen = chooseAxis(config.source.list, processedFieldOf(config));
  if (chosen === undefined) return { days: 0, judgedBy: null, lines: [] };
  const listed = await listDays(store, { axis: chosen.axis, warehouses: Object.keys(config.warehouses), to: now });
  const days = listed.filter((one) => !one.judged);
  if (days.length === 0) return { days: 0, judgedBy: null, lines: [] };
  const head = `Days read and not judged yet: ${days.length}.`;
  if (!reconcile.enabled) {
    const hint = 'sync.reconcile is off: run callsync reconcile, or turn it on.';
    return { days: days.length, judgedBy: null, lines: [`${head} ${hint}`] };
  }
  const micros = { age: reconcile.age * 1000, span: reconcile.span * 1000, interval: reconcile.interval * 1000 };
  const by = forecastVerdicts(days, { ...micros, backlogDays: reconcile.backlog_days }, now);
  if (by === undefined || !Number.isFinite(by)) {
    const hint =
      'sync.reconcile.backlog_days is 0: days before sync.reconcile.span are judged only by callsync reconcile.';
    return { days: days.length, judgedBy: null, lines: [`${head} ${hint}`] };
  }
  const judgedBy = iso(by);
  const line = `${head} While a worker runs, all are judged by ${judgedBy.slice(0, 10)}; callsync reconcile judges them now.`;
  return { days: days.length, judgedBy, lines: [line] };
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
    .option('--html <file>', 'also write it as a picture')
    .addHelpText(
      'after',
      '\nExamples:\n  callsync coverage\n  callsync coverage --from 2025-01-01 --html coverage.html',
    )
    .action((options: CommonOptions & { from?: number; to?: number; webhooksSince?: number; html?: string }) =>
      withStore(options, async (store, services) => {
        const now = Date.now() * 1000;
        const coverage = await readCoverage(store, {
          range: { from: options.from ?? now - defaultDays * 86_400_000_000, to: options.to ?? now },
          warehouses: Object.keys(services.config.warehouses),
          now,
          webhooksSince: options.webhooksSince,
        });
        if (options.html !== undefined) await writePicture(options.html, drawCoverageHtml(coverage));
        const unjudged = await describeUnjudged(services.config, store, now);
        print(
          options,
          tellTimes({ ...coverage, unjudged }),
          [drawCoverage(coverage, process.stdout.columns), ...unjudged.lines].join('\n'),
        );
        if (options.html !== undefined) services.say(`Written to ${options.html}.`);
      }),
    );
};
