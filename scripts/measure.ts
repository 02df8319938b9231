/**
 * Prints the weight of the code: lines without blanks and comments, files, exports, small files, tests.
 * `npm run measure -- [FOLDER] [--rooms] [--json]`; FOLDER is a checkout, by default this one.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';

/** A figure with the name under which it is printed. */
interface Weight {
  readonly name: string;
  readonly value: number;
}

const product = ['src', 'schemas', 'workflows', 'activities'];
const smallFile = 45;

const listFiles = (root: string, folders: readonly string[]): string[] =>
  folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name)),
  );

const comment = { '.ts': /^\s*($|\/\/|\/?\*)/, '.sql': /^\s*($|--)/ };

const countLines = (path: string): number => {
  const pattern = comment[path.endsWith('.sql') ? '.sql' : '.ts'];
  return readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => !pattern.test(line)).length;
};

const sum = (paths: readonly string[]): number => paths.reduce((total, path) => total + countLines(path), 0);

/** How many of the files import each file: path → importers. */
const countImporters = (paths: readonly string[]): Map<string, number> => {
  const importers = new Map(paths.map((path) => [path, 0]));
  for (const path of paths) {
    const found = readFileSync(path, 'utf8').matchAll(/(?:from|import\()\s*'(\.{1,2}\/[^']+\.ts)'/g);
    for (const target of new Set([...found].map((match) => resolve(dirname(path), match[1] ?? '')))) {
      const known = importers.get(target);
      if (known !== undefined) importers.set(target, known + 1);
    }
  }
  return importers;
};

/** @param root folder of the checkout. */
const measure = (root: string): readonly Weight[] => {
  const files = listFiles(root, product);
  const code = files.filter((path) => /\.(ts|sql)$/.test(path));
  const modules = code.filter((path) => path.endsWith('.ts'));
  const exported = /^export (const|async function|function|class|interface|type) /gm;
  const importers = countImporters(modules);
  const tests = listFiles(root, ['test']).filter((path) => path.endsWith('.ts'));
  return [
    { name: 'code lines', value: sum(code) },
    { name: 'files', value: files.length },
    {
      name: 'exports',
      value: modules.reduce((all, path) => all + (readFileSync(path, 'utf8').match(exported)?.length ?? 0), 0),
    },
    {
      name: `files of at most ${smallFile} lines with one importer`,
      value: modules.filter((path) => countLines(path) <= smallFile && importers.get(path) === 1).length,
    },
    { name: 'lines of tests', value: sum(tests) },
    { name: 'test files', value: tests.filter((path) => basename(path).endsWith('.test.ts')).length },
  ];
};

/** Code lines by room: every folder directly below src, and the other folders whole. */
const byRoom = (root: string): readonly Weight[] => {
  const rooms = [
    ...product.slice(1),
    ...readdirSync(join(root, 'src'), { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map((entry) => `src/${entry.name}`),
  ];
  return rooms.map((name) => ({
    name,
    value: sum(listFiles(root, [name]).filter((path) => /\.(ts|sql)$/.test(path))),
  }));
};

const root = resolve(process.argv.slice(2).find((given) => !given.startsWith('-')) ?? '.');
const figures = [...measure(root), ...(process.argv.includes('--rooms') ? byRoom(root) : [])];
if (process.argv.includes('--json'))
  console.log(JSON.stringify(Object.fromEntries(figures.map((f) => [f.name, f.value]))));
else for (const { name, value } of figures) console.log(`${String(value).padStart(7)}  ${name}`);
