/**
 * `npm run bench -- NAME [options]` and `npm run campaign -- NAME`: each file of bench/ and each test file of
 * test/campaigns is one name. Its first comment says what it does and, after "About", how long that takes.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '../..');

interface Kind {
  readonly folder: string;
  readonly ending: string;
  command(name: string): { program: string; args: readonly string[]; env?: Readonly<Record<string, string>> };
}

const kinds: Readonly<Record<string, Kind>> = {
  bench: {
    folder: 'bench',
    ending: '.ts',
    command: (name) => ({ program: process.execPath, args: [join(root, 'dist/bench', `${name}.js`)] }),
  },
  campaign: {
    folder: 'test/campaigns',
    ending: '.test.ts',
    command: (name) => ({
      program: join(root, 'node_modules/.bin/vitest'),
      args: ['run', `test/campaigns/${name}.test.ts`],
      env: { CALLSYNC_CAMPAIGNS: '1' },
    }),
  },
};

interface Entry {
  readonly name: string;
  readonly does: string;
  readonly takes: string;
}

const listEntries = async ({ folder, ending }: Kind): Promise<readonly Entry[]> => {
  const files = (await readdir(join(root, folder))).filter((file) => file.endsWith(ending)).sort();
  return await Promise.all(
    files.map(async (file) => {
      const text = await readFile(join(root, folder, file), 'utf8');
      const comment = /^\/\*\*([\s\S]*?)\*\//.exec(text)?.[1] ?? '';
      const words = comment.replaceAll(/\s*\n \*\s*/g, ' ').trim();
      const does = /^(.*?\.)(\s|$)/.exec(words)?.[1] ?? '';
      return { name: basename(file, ending), does, takes: /About ([^.,;]+)/.exec(words)?.[1] ?? '' };
    }),
  );
};

const describeEntries = (kind: string, entries: readonly Entry[]): string => {
  const width = Math.max(...entries.map(({ name }) => name.length));
  const lines = entries.map(({ name, does, takes }) => `  ${name.padEnd(width)}  ${does} (${takes})`);
  return [`npm run ${kind} -- NAME [options], with one of:`, ...lines, ''].join('\n');
};

const [kindName = '', name, ...args] = process.argv.slice(2);
const kind = kinds[kindName];
if (kind === undefined) throw new Error('Call this by npm run bench or npm run campaign.');
const entries = await listEntries(kind);
if (entries.some((entry) => entry.name === name)) {
  const { program, args: own, env } = kind.command(name as string);
  const child = spawn(program, [...own, ...args], { cwd: root, stdio: 'inherit', env: { ...process.env, ...env } });
  const [code] = (await once(child, 'exit')) as [number | null];
  process.exitCode = code ?? 1;
} else {
  const asked = name === undefined || name === '--help';
  if (!asked) process.stderr.write(`There is no ${kindName} named ${name}.\n`);
  process.stdout.write(describeEntries(kindName, entries));
  process.exitCode = asked ? 0 : 2;
}
