import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { openIngest } from '../../app/activity-deps.ts';
import { claimSource } from '../../app/open-source.ts';
import { withStore } from '../../app/services.ts';
import { countOf } from '../../lib/count-of.ts';
import { checkReadable, type ImportProgress, importFile } from '../../pipeline/import/import-file.ts';
import { acceptSource, argument, instant, leaf, parsed } from '../shell/define.ts';
import { endWith, print, untilStopped } from '../shell/output.ts';
import { createImportView } from '../shell/progress.ts';

const describe = (file: string, { records, refused, added, changed, earlier }: ImportProgress) =>
  `${file}: ${countOf(records, 'record')}, ${countOf(added, 'new call')}, ${changed - added - earlier} with a change, ${earlier} with an earlier first sight alone${refused > 0 ? `, ${refused} refused: callsync quarantine list` : ''}`;

/** As `callsync export` writes it beside the calls: a short file. */
const isManifest = async (file: string): Promise<boolean> =>
  basename(file) === 'manifest.json' &&
  (await checkReadable(file)) < 1e6 &&
  (await readFile(file)).includes('"made_by": "callsync ');

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
  remarks: `If an import is interrupted, run the command again; it changes nothing that is imported. An import
may date the first sight of a known call back, once; warehouses then load the call again. Imported values never
replace newer values. Unreadable records go to quarantine with file and line. Exit code 5: records went to quarantine.`,
  run: async (files, options) => {
    // Before anything is started: a mistyped name is said at once, and nothing is imported halfway.
    for (const file of files) if (file !== '-') await checkReadable(file);
    await withStore(options, async (store, services) => {
      const { signal } = untilStopped();
      await claimSource(store, services.config, options.acceptSource === true ? 'accept' : 'keep');
      const deps = await openIngest(services, store);
      for (const file of files) {
        if (await isManifest(file)) {
          services.say(`${file} describes an export and has no calls; callsync skips it.`);
          continue;
        }
        const name = file === '-' ? 'stdin' : basename(file);
        const view = createImportView(name);
        const from = file === '-' ? { name, bytes: process.stdin as AsyncIterable<Buffer> } : file;
        const input = { from, observedAt: options.observedAt, records: services.config.source.list.records };
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
