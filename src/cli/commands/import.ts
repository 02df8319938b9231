import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { openIngest } from '../../app/activity-deps.ts';
import { claimSource } from '../../app/open-source.ts';
import { withStore } from '../../app/services.ts';
import { countOf } from '../../lib/count-of.ts';
import { terminal } from '../../lib/errors.ts';
import { type ImportProgress, importFile } from '../../pipeline/import/import-file.ts';
import { acceptSource, argument, instant, leaf, parsed } from '../shell/define.ts';
import { endWith, print, untilStopped } from '../shell/output.ts';
import { createImportView } from '../shell/progress.ts';

const describe = (file: string, { records, refused, added, changed }: ImportProgress) =>
  `${file}: ${countOf(records, 'record')}, ${countOf(added, 'new call')}, ${changed - added} changed or seen earlier${refused > 0 ? `, ${refused} refused: callsync quarantine list` : ''}`;

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

export default leaf({
  args: [argument('<files...>', 'files of call records or of answers of the call list, or - for standard input')],
  options: {
    acceptSource,
    observedAt: parsed(
      '--observed-at <instant>',
      'time of the records in the files (default: the end of processing of each, else its own time)',
      instant,
    ),
  },
  examples: [
    'callsync import calls-2024.ndjson.gz',
    'callsync import export/*.json --observed-at 2024-12-31T23:00:00Z',
    'zcat old.gz | callsync import -',
  ],
  remarks: `If an import is interrupted, run the command again; it changes nothing that is imported. Imported values never
replace newer values. Unreadable records go to quarantine with file and line. Exit code 5: records went to quarantine.`,
  run: async (files, options) => {
    await checkReadable(files);
    await withStore(options, async (store, services) => {
      const { signal } = untilStopped();
      await claimSource(store, services.config, options.acceptSource === true ? 'accept' : 'keep');
      const deps = await openIngest(services, store);
      const { observedAt } = options;
      for (const file of files) {
        const name = file === '-' ? 'stdin' : basename(file);
        const view = createImportView(name);
        const from = file === '-' ? { name, bytes: process.stdin as AsyncIterable<Buffer> } : file;
        const input = { from, observedAt, records: services.config.source.list.records };
        const imported = importFile(deps, input, { signal, onProgress: view.update }).finally(view.stop);
        const result = await imported.catch((error: unknown) => {
          if (!signal.aborted) throw error;
        });
        if (result === undefined) {
          services.say(`Stopped in ${name}. Run the command again to import all; calls that are imported stay.`);
          return endWith('incomplete');
        }
        print(options, { file, ...result }, describe(file, result));
        if (result.refused > 0) endWith('incomplete');
      }
    });
  },
});
