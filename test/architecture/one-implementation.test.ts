/** Each of these ideas was once written several times. The text that an implementation needs stands in its file alone. */
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { expect, test } from 'vitest';

const root = resolve(import.meta.dirname, '../..');

const sources = ['src', 'activities', 'workflows', 'schemas'].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.name.endsWith('.ts'))
    .map((entry) => {
      const path = relative(root, join(entry.parentPath, entry.name));
      return { path, text: readFileSync(join(root, path), 'utf8').replaceAll(/^import[^;]*;$/gm, '') };
    }),
);

const ideas: readonly { idea: string; needs: RegExp; files: readonly string[] }[] = [
  { idea: 'the one way in: fold, then load', needs: /\bfoldIntoLedger\(/, files: ['src/pipeline/load/ingest.ts'] },
  { idea: 'fetching one call', needs: /\.fetchCall\(/, files: ['src/source/list/observe-call.ts'] },
  {
    idea: 'choosing the axis',
    needs: /find\(\(\w+\) => \w+\.end_of_processing\)/,
    files: ['src/source/list/list-query.ts'],
  },
  { idea: 'the heartbeat of an activity', needs: /\.heartbeat\(/, files: ['activities/activity.ts'] },
  { idea: 'retrying BigQuery', needs: /\bawait work\(attempt\)/, files: ['src/warehouse/bigquery/retry.ts'] },
  { idea: 'backoff', needs: /\* 2 \*\* attempt/, files: ['src/lib/timing.ts'] },
  { idea: 'reading a secret', needs: /\bwithoutLineEnd\(readFileSync\(/, files: ['src/lib/secret.ts'] },
  { idea: 'SQL of times', needs: /\bto_timestamp\(|\* 1000000\)::bigint/i, files: ['src/postgres/database.ts'] },
  { idea: 'a key and its value in `meta`', needs: /SELECT value FROM meta/, files: ['src/store/meta.ts'] },
];

test.each(ideas)('$idea has one implementation', ({ needs, files }) => {
  expect(sources.filter(({ text }) => needs.test(text)).map(({ path }) => path)).toEqual(files);
});
