import { writeFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { drawCoverageHtml } from '../../coverage/draw-html.ts';
import { drawCoverage } from '../../coverage/draw-text.ts';
import { readCoverage } from '../../coverage/read-coverage.ts';
import { terminal } from '../../errors.ts';
import { type CommonOptions, print, withCommonOptions, withStore } from '../command.ts';
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
        print(options, coverage, drawCoverage(coverage, process.stdout.columns));
        if (options.html !== undefined) services.say(`Written to ${options.html}.`);
      }),
    );
};
