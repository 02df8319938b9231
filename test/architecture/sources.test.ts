/** The comment of a function for other rooms states parameters and results with units, and thrown errors. */
import { dirname, join, relative, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { modules, root } from '../support/repository.ts';

const { roomOf }: { roomOf: (path: string) => { readonly room: string } | undefined } = await import(
  join(root, 'architecture/import-rules.js')
);

/** `file: name` of what is imported from another room. */
const usedAcrossRooms = (texts: ReadonlyMap<string, string>): ReadonlySet<string> => {
  const used = new Set<string>();
  for (const [path, text] of texts) {
    for (const [, names = '', specifier = ''] of text.matchAll(/^import (?!type )\{([^}]*)\} from '(\.[^']+)';/gm)) {
      const target = relative(root, resolve(root, dirname(path), specifier));
      if (roomOf(target)?.room === roomOf(path)?.room) continue;
      for (const name of names.split(',')) used.add(`${target}: ${name.trim().split(' as ')[0]}`);
    }
  }
  return used;
};

const exportedFunction =
  /^(.*)\nexport (?:const (\w+)(?:: [^=\n]+)? = (?:async )?(?:<|\(|\w+ =>)|(?:async )?function\*? (\w+))/gm;

/** Exported functions that another room imports and above which no comment ends. */
const undocumented = (texts: ReadonlyMap<string, string>): readonly string[] => {
  const used = usedAcrossRooms(texts);
  return [...texts].flatMap(([path, text]) =>
    [...text.matchAll(exportedFunction)]
      .filter(([, above = '']) => !above.endsWith('*/'))
      .map(([, , constant, named]) => `${path}: ${constant ?? named}`)
      .filter((place) => used.has(place)),
  );
};

test('every function that another room uses has a docstring', () => {
  expect(usedAcrossRooms(modules).size).toBeGreaterThan(300);
  expect(undocumented(modules)).toEqual([]);
});

test('a function without one is found', () => {
  const said = '/** Says it. */\nexport const said = (a: string) => a;\n\nexport const unsaid = async () => {};\n';
  const user = "import { said, unsaid } from '../../calls/a.ts';\n";
  const texts = Object.entries({ 'src/calls/a.ts': said, 'src/pipeline/load/b.ts': user });
  expect(undocumented(new Map(texts))).toEqual(['src/calls/a.ts: unsaid']);
});

/** Each of these ideas was once written several times. The text that an implementation needs stands in its file alone. */
const sources = [...modules].map(([path, text]) => ({ path, text: text.replaceAll(/^import[^;]*;$/gm, '') }));

const ideas: readonly { idea: string; needs: RegExp; files: readonly string[] }[] = [
  { idea: 'the one way in: fold, then load', needs: /\bfoldIntoLedger\(/, files: ['src/pipeline/load/ingest.ts'] },
  { idea: 'fetching one call', needs: /\.fetchCall\(/, files: ['src/source/list/observe-call.ts'] },
  { idea: 'the axis', needs: /find\(\(\w+\) => \w+\.end_of_processing\)/, files: ['src/source/list/list-query.ts'] },
  { idea: 'the heartbeat of an activity', needs: /\.heartbeat\(/, files: ['activities/activity.ts'] },
  { idea: 'retrying BigQuery', needs: /\bawait work\(attempt\)/, files: ['src/warehouse/bigquery/retry.ts'] },
  { idea: 'backoff', needs: /\* 2 \*\* attempt/, files: ['src/lib/timing.ts'] },
  { idea: 'reading a secret', needs: /\bbareSecret\(readFileSync\(/, files: ['src/lib/secret.ts'] },
  { idea: 'SQL of times', needs: /\bto_timestamp\(|\* 1000000\)::bigint/i, files: ['src/postgres/database.ts'] },
  { idea: 'a key and its value in `meta`', needs: /SELECT value FROM meta/, files: ['src/store/meta.ts'] },
];

test.each(ideas)('$idea has one implementation', ({ needs, files }) => {
  expect(sources.filter(({ text }) => needs.test(text)).map(({ path }) => path)).toEqual(files);
});
