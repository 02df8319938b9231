import { resolve } from 'node:path';
import { exportCalls, exportFormats } from '../../pipeline/export/export-calls.ts';
import { processedFieldOf } from '../parts/activity-deps.ts';
import { fromOption, toOption, untilNow } from '../parts/range.ts';
import { withStore } from '../parts/services.ts';
import { argument, choice, leaf } from '../shell/define.ts';
import { endWith, readVersion, untilStopped } from '../shell/output.ts';

export default leaf({
  args: [
    argument('<folder>', 'folder for the files; it must not exist. callsync creates it when all files are complete'),
  ],
  options: {
    format: choice('--format <format>', 'documents, a file for each table, or vCons', exportFormats, 'ndjson'),
    from: fromOption,
    to: toOption,
  },
  examples: [
    'callsync export january --from 2025-01-01 --to 2025-02-01',
    'callsync export january --format parquet --from 2025-01-01 --to 2025-02-01 --json',
  ],
  remarks: `The export reads the ledger, without erased calls. NDJSON has whole documents, for callsync import. Parquet has the rows of the
warehouse tables (times in microseconds UTC, JSON and exact decimals as text) and one file of words. A vCon file has one vCon a line
(draft-ietf-vcon-vcon-core-04, which may still change): parties, utterances and the original record. Utterances have times if
analytics.units is set. manifest.json counts the rows. If you stop an export, no files stay.`,
  within: withStore,
  run: async (given, options, store, { config, say }) => {
    const { signal } = untilStopped();
    const { format } = options;
    const folder = resolve(given);
    const about = { processedField: processedFieldOf(config), units: config.analytics.units, version: readVersion() };
    const onProgress = (calls: number) => {
      if (calls % 10_000 === 0) say(`${calls} calls written …`);
    };
    try {
      const input = { format, folder, ...untilNow(options), ...about };
      const { calls, files } = await exportCalls(store, input, { signal, onProgress });
      const rows = Object.entries(files).map(([name, count]) => `  ${name.padEnd(22)} ${count} rows`);
      return [{ folder, format, calls, files }, [`${calls} calls in ${given}`, ...rows].join('\n')];
    } catch (error) {
      if (!signal.aborted) throw error;
      say('Stopped; no files were written.');
      endWith('incomplete');
      return;
    }
  },
});
