import { resolve } from 'node:path';
import { type Command, Option } from 'commander';
import { type ExportFormat, exportCalls, exportFormats } from '../../pipeline/export/export-calls.ts';
import { processedFieldOf } from '../parts/activity-deps.ts';
import { type CommonOptions, print, untilStopped, withCommonOptions, withStore } from '../shell/command.ts';
import { exitCodes } from '../shell/failures.ts';
import { readVersion } from '../shell/version.ts';
import { parseTimestampArgument, refuseEmptyRange } from './backfill.ts';

interface ExportOptions extends CommonOptions {
  readonly format: ExportFormat;
  readonly from: number;
  readonly to?: number;
}

const run = (folder: string, options: ExportOptions): Promise<void> =>
  withStore(options, async (store, services) => {
    refuseEmptyRange(options);
    const { signal } = untilStopped();
    const { format, from, to = Date.now() * 1000 } = options;
    const processedField = processedFieldOf(services.config);
    const { units } = services.config.analytics;
    const input = { format, folder: resolve(folder), from, to, processedField, units, version: readVersion() };
    const onProgress = (calls: number) => {
      if (calls % 10_000 === 0) services.say(`${calls} calls written …`);
    };
    try {
      const { calls, files } = await exportCalls(store, input, { signal, onProgress });
      const rows = Object.entries(files).map(([name, count]) => `  ${name.padEnd(22)} ${count} rows`);
      print(
        options,
        { folder: input.folder, format, calls, files },
        [`${calls} calls in ${folder}`, ...rows].join('\n'),
      );
    } catch (error) {
      if (!signal.aborted) throw error;
      services.say('Stopped; nothing was left behind.');
      process.exitCode = exitCodes.incomplete;
    }
  });

export const addExport = (command: Command): void => {
  withCommonOptions(command)
    .argument('<folder>', 'where the files go; must not exist, and appears when they are complete')
    .addOption(
      new Option('--format <format>', 'documents, a file for each table, or vCons')
        .choices(exportFormats)
        .default('ndjson'),
    )
    .requiredOption('--from <instant>', 'calls from then on (UTC)', parseTimestampArgument)
    .option('--to <instant>', 'calls before then (UTC); now by default', parseTimestampArgument)
    .addHelpText(
      'after',
      `
Examples:
  callsync export january --from 2025-01-01 --to 2025-02-01
  callsync export january --format parquet --from 2025-01-01 --to 2025-02-01 --json

It reads the ledger, each call as it is when its turn comes; erased calls are left out. ndjson has the whole documents, as
callsync import reads them; parquet has the rows of the warehouse tables (times in microseconds UTC, JSON and exact decimals as
text) and one file of words; vcon has a vCon a line (draft-ietf-vcon-vcon-core-04, which may still change): who called, every
utterance, and the record as it was sent, with times of utterances where analytics.units says their unit. manifest.json counts the rows. An export that is stopped leaves nothing.`,
    )
    .action(run);
};
