/** The comment of a function for other rooms states parameters and results with units, and thrown errors. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { expect, test } from 'vitest';

const root = resolve(import.meta.dirname, '../..');
const { roomOf }: { roomOf: (path: string) => { readonly room: string } | undefined } = await import(
  join(root, 'architecture/import-rules.js')
);

const sources = new Map(
  ['src', 'activities', 'workflows', 'schemas'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.name.endsWith('.ts'))
      .map((entry) => {
        const path = relative(root, join(entry.parentPath, entry.name));
        return [path, readFileSync(join(root, path), 'utf8')] as const;
      }),
  ),
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
  expect(usedAcrossRooms(sources).size).toBeGreaterThan(300);
  expect(undocumented(sources)).toEqual([]);
});

test('a function without one is found', () => {
  const texts = new Map([
    [
      'src/calls/a.ts',
      '/** Says it. */\nexport const said = (a: string): string => a;\n\nexport const unsaid = async () => {};\n',
    ],
    ['src/pipeline/load/b.ts', "import { said, unsaid } from '../../calls/a.ts';\n"],
  ]);
  expect(undocumented(texts)).toEqual(['src/calls/a.ts: unsaid']);
});
