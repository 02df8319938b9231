/**
 * Prints the weight of the code: lines without blanks and comments, files, exports, functions with many branches, tests.
 * `npm run measure -- [FOLDER] [--rooms] [--branches] [--json]`; FOLDER is a checkout, by default this one. `--rooms`
 * adds the lines of each room, `--branches` the functions that it counted.
 */
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';

/** A figure with the name under which it is printed. */
interface Weight {
  readonly name: string;
  readonly value: number;
}

const product = ['src', 'schemas', 'workflows', 'activities'];

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

const own = resolve(import.meta.dirname, '../..');

/** Functions with more than 15 branches, as oxlint counts them: `FILE:LINE what it says`. */
const findBranches = (root: string): readonly string[] => {
  const args = ['-c', join(own, 'scripts/branches.oxlintrc.json'), '--format', 'unix', ...product];
  const { stdout } = spawnSync(join(own, 'node_modules/.bin/oxlint'), args, { cwd: root, encoding: 'utf8' });
  return stdout.split('\n').filter((line) => line.includes('has a complexity of'));
};

/** @param root folder of the checkout. */
const measure = (root: string): readonly Weight[] => {
  const files = listFiles(root, product);
  const code = files.filter((path) => /\.(ts|sql)$/.test(path));
  const modules = code.filter((path) => path.endsWith('.ts'));
  const exported = /^export (const|async function|function|class|interface|type) /gm;
  const tests = listFiles(root, ['test']).filter((path) => path.endsWith('.ts'));
  return [
    { name: 'code lines', value: sum(code) },
    { name: 'files', value: files.length },
    {
      name: 'exports',
      value: modules.reduce((all, path) => all + (readFileSync(path, 'utf8').match(exported)?.length ?? 0), 0),
    },
    { name: 'functions with more than 15 branches', value: findBranches(root).length },
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
else {
  for (const { name, value } of figures) console.log(`${String(value).padStart(7)}  ${name}`);
  if (process.argv.includes('--branches')) for (const line of findBranches(root)) console.log(line);
}
