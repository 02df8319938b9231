import { resolve } from 'node:path';
import { processedFieldOf } from '../../app/activity-deps.ts';
import { withStore } from '../../app/services.ts';
import { untilNow } from '../../app/temporal.ts';
import { countOf } from '../../lib/count-of.ts';
import { readVersion } from '../../lib/find-built.ts';
import { exportCalls, exportFormats } from '../../pipeline/export/export-calls.ts';
import { argument, choice, instant, leaf, parsed } from '../shell/define.ts';
import { endWith, untilStopped } from '../shell/output.ts';
import { toOption } from '../shell/range.ts';

export default leaf({
  args: [
    argument('<folder>', 'folder for the files; it must not exist. callsync creates it when all files are complete'),
  ],
  options: {
    format: choice('--format <format>', 'documents, a file for each table, or for each vCon', exportFormats, 'ndjson'),
    from: parsed('--from <instant>', 'start of the range, inclusive (UTC); the first call by default', instant),
    to: toOption,
  },
  examples: [
    'callsync export january --from 2025-01-01 --to 2025-02-01',
    'callsync export january --format parquet --from 2025-01-01 --to 2025-02-01 --json',
  ],
  remarks: `The export reads the ledger, without erased calls. Without --from and --to, it has all calls. With a range, it has no call
without a time; output and manifest count these calls. NDJSON has whole documents, for callsync import. Parquet has the tables
calls, utterances, words, tags, metadata, udfs, contacts and redactions (times in microseconds UTC, JSON and exact decimals as text). Whole documents
are in NDJSON. Tables changes, deliveries, loads, verdicts and sync_state are records of one warehouse, so no export has them.
A vCon file (draft-ietf-vcon-vcon-core-04, which may still change) has parties, utterances, tags and the original record. Utterances have
times if analytics.units is set. manifest.json counts the rows. If you stop an export, no files stay.`,
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
      const { from = -Infinity, to } = options;
      const range = from === -Infinity && to === undefined ? { from, to: Infinity } : untilNow({ from, to });
      const input = { format, folder, ...range, ...about };
      const { calls, undated, files } = await exportCalls(store, input, { signal, onProgress });
      if (undated > 0)
        say(`Left out: ${countOf(undated, 'call')} without a time. Omit --from and --to to export all calls.`);
      const rows = Object.entries(files).map(([name, count]) => `  ${name.padEnd(22)} ${countOf(count, 'row')}`);
      return [{ folder, format, calls, undated, files }, [`${countOf(calls, 'call')} in ${given}`, ...rows].join('\n')];
    } catch (error) {
      if (!signal.aborted) throw error;
      say('Stopped; no files were written.');
      endWith('incomplete');
      return;
    }
  },
});
