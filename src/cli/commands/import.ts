import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import type { Command } from 'commander';
import { countOf } from '../../lib/count-of.ts';
import { terminal } from '../../lib/errors.ts';
import { type ImportResult, importFile } from '../../pipeline/import/import-file.ts';
import { ingestDeps } from '../parts/activity-deps.ts';
import { claimSource, withAcceptSource } from '../parts/open-source.ts';
import { openWarehouses } from '../parts/open-warehouses.ts';
import { type CommonOptions, print, untilStopped, withCommonOptions, withStore } from '../shell/command.ts';
import { exitCodes } from '../shell/failures.ts';
import { createImportView } from '../shell/progress.ts';
import { parseTimestampArgument } from './backfill.ts';

interface ImportOptions extends CommonOptions {
  readonly observedAt?: number;
  readonly restart?: boolean;
  readonly acceptSource?: boolean;
}

interface FileResult extends ImportResult {
  readonly file: string;
}

const describe = ({ file, alreadyDone, records, refused, changed }: FileResult): string => {
  const counts = `${countOf(records, 'record')}, ${countOf(changed, 'call')} new or changed${refused > 0 ? `, ${refused} refused: callsync quarantine list` : ''}`;
  return alreadyDone ? `${file}: imported before (${counts}); --restart reads it again` : `${file}: ${counts}`;
};

/** Before anything is started: a mistyped name is said at once, and nothing is imported halfway. */
const checkReadable = async (files: readonly string[]): Promise<void> => {
  for (const file of files.filter((name) => name !== '-')) {
    const problem = await stat(file)
      .then(async (found) => (found.isDirectory() ? 'it is a folder' : await access(file, constants.R_OK)))
      .catch((cause: { code?: string }) => cause.code ?? 'no access');
    if (problem === undefined) continue;
    throw terminal('USAGE_FILE', `The file ${file} cannot be read (${problem}).`, {
      hint: 'Check that it exists, is a file, and may be read.',
    });
  }
};

const run = async (files: readonly string[], options: ImportOptions): Promise<void> => {
  await checkReadable(files);
  await importAll(files, options);
};

const importAll = (files: readonly string[], options: ImportOptions): Promise<void> =>
  withStore(options, async (store, services) => {
    const { signal } = untilStopped();
    await claimSource(store, services.config, options.acceptSource === true ? 'accept' : 'keep');
    const targets = await openWarehouses(services, store);
    const deps = ingestDeps(services, { store, targets });
    let refused = 0;
    for (const file of files) {
      const name = file === '-' ? 'stdin' : basename(file);
      const view = createImportView(name);
      const from = file === '-' ? { name, bytes: process.stdin as AsyncIterable<Buffer> } : file;
      const { observedAt, restart = false } = options;
      try {
        const input = { from, restart, observedAt };
        const result = { file, ...(await importFile(deps, input, { signal, onProgress: view.update })) };
        refused += result.refused;
        view.stop();
        print(options, result, describe(result));
      } catch (error) {
        view.stop();
        if (!signal.aborted) throw error;
        services.say(`Stopped in ${name}; the same command goes on from there.`);
        process.exitCode = exitCodes.incomplete;
        return;
      }
    }
    if (refused > 0) process.exitCode = exitCodes.incomplete;
  });

export const addImport = (command: Command): void => {
  withAcceptSource(withCommonOptions(command))
    .argument('<files...>', 'files of call records; - reads standard input')
    .option(
      '--observed-at <instant>',
      'when the records were as they are in the files (default: the end of processing of each, else its own time)',
      parseTimestampArgument,
    )
    .option('--restart', 'read files again from the beginning, also those that are done')
    .addHelpText(
      'after',
      `
Examples:
  callsync import calls-2024.ndjson.gz
  callsync import export/*.json --observed-at 2024-12-31T23:00:00Z
  zcat old.gz | callsync import -

An interrupted import of a file goes on where it was. Imported values never replace newer ones. Records that are no calls
go to quarantine with file and line. Exit code 5: some did.`,
    )
    .action(run);
};
