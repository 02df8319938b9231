/**
 * `npm run bench -- NAME [options]` and `npm run campaign -- NAME [CASE …] [--write]`: each file of bench/ and each test file of
 * test/campaigns is one name. The first comment of its file describes it and, after "About", gives its duration. The cases
 * of a campaign are its outermost `describe` blocks, and tests whose titles begin with `CASE: `; without a case, all run. With
 * `--write`, results of other software are kept for the table of docs/reference/compatibility.md.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '../..');

interface Program {
  readonly program: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

interface Kind {
  readonly folder: string;
  readonly ending: string;
  command(name: string, args: readonly string[]): Program;
}

const writing = '--write';

const kinds: Readonly<Record<string, Kind>> = {
  bench: {
    folder: 'bench',
    ending: '.ts',
    command: (name, args) => ({ program: process.execPath, args: [join(root, 'dist/bench', `${name}.js`), ...args] }),
  },
  campaign: {
    folder: 'test/campaigns',
    ending: '.test.ts',
    command: (name, args) => {
      const cases = args.filter((arg) => arg !== writing);
      return {
        program: join(root, 'node_modules/.bin/vitest'),
        args: [
          'run',
          `test/campaigns/${name}.test.ts`,
          ...(cases.length > 0 ? ['-t', `^(${cases.join('|')})[: ]`] : []),
        ],
        env: { CALLSYNC_CAMPAIGNS: '1', ...(args.includes(writing) ? { CALLSYNC_WRITE: '1' } : {}) },
      };
    },
  },
};

interface Entry {
  readonly name: string;
  readonly does: string;
  readonly takes: string;
  readonly cases: readonly string[];
}

const listEntries = async ({ folder, ending }: Kind): Promise<readonly Entry[]> => {
  const files = (await readdir(join(root, folder))).filter((file) => file.endsWith(ending)).sort();
  return await Promise.all(
    files.map(async (file) => {
      const text = await readFile(join(root, folder, file), 'utf8');
      const comment = /^\/\*\*([\s\S]*?)\*\//.exec(text)?.[1] ?? '';
      const words = comment.replaceAll(/\s*\n \*\s*/g, ' ').trim();
      const found = text.matchAll(/^(?:describe\('([^']+)'|test(?:\.\w+\(.*\))?\(\s*['`]([\w-]+): )/gm);
      const cases = [...new Set(Array.from(found, ([, group, test]) => group ?? test ?? ''))];
      const does = /^(.*?\.)(\s|$)/.exec(words)?.[1] ?? '';
      return { name: basename(file, ending), does, takes: /About ([^.,;]+)/.exec(words)?.[1] ?? '', cases };
    }),
  );
};

const describeEntries = (kind: string, entries: readonly Entry[]): string => {
  const width = Math.max(...entries.map(({ name }) => name.length));
  const lines = entries.map(({ name, does, takes, cases }) => {
    const line = `  ${name.padEnd(width)}  ${does} (${takes})`;
    return cases.length > 1 ? `${line}\n  ${' '.repeat(width)}  cases: ${cases.join(', ')}` : line;
  });
  return [`npm run ${kind} -- NAME [${kind === 'bench' ? 'options' : 'CASE …'}], with one of:`, ...lines, ''].join(
    '\n',
  );
};

const [kindName = '', name, ...args] = process.argv.slice(2);
const kind = kinds[kindName];
if (kind === undefined) throw new Error('Call this by npm run bench or npm run campaign.');
const entries = await listEntries(kind);
const entry = entries.find((one) => one.name === name);
const unknown =
  entry && kindName === 'campaign' ? args.find((arg) => arg !== writing && !entry.cases.includes(arg)) : undefined;
if (unknown !== undefined) {
  process.stderr.write(`The campaign ${name} has no case ${unknown}. Its cases: ${entry?.cases.join(', ')}.\n`);
  process.exitCode = 2;
} else if (entry) {
  const { program, args: own, env } = kind.command(entry.name, args);
  const child = spawn(program, own, { cwd: root, stdio: 'inherit', env: { ...process.env, ...env } });
  const [code] = (await once(child, 'exit')) as [number | null];
  process.exitCode = code ?? 1;
} else {
  const asked = name === undefined || name === '--help';
  if (!asked) process.stderr.write(`There is no ${kindName} named ${name}.\n`);
  process.stdout.write(describeEntries(kindName, entries));
  process.exitCode = asked ? 0 : 2;
}
