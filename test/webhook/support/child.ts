/** Starts programs as processes of their own, compiled to a folder below node_modules where they find their packages. */
import { type ChildProcessWithoutNullStreams, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import type { Receiver } from '../../../src/webhook/server/receiver.ts';
import { useFolder } from '../../support/folder.ts';
import { useOpened } from '../../support/opened.ts';
import { useInboxDatabase } from './inbox-database.ts';
import type { ReceiverProcessOptions } from './receiver-process.ts';

type ReceiverStatus = ReturnType<Receiver['status']>;

/** A file of `test/`, such as `webhook/support/receiver-process`, with what it imports, compiled before the tests of a file or group. */
export const useProgram = (name: string) =>
  useOpened(
    async () => {
      const cache = resolve('node_modules/.cache');
      await mkdir(cache, { recursive: true });
      const folder = await mkdtemp(join(cache, 'program-'));
      const source = `test/${name}.ts`;
      // The type check of the whole project covers them.
      const compile = ['--ignoreConfig', '--noCheck', '--module', 'nodenext', '--target', 'es2023', '--types', 'node'];
      const files = ['--rewriteRelativeImportExtensions', '--rootDir', '.', '--outDir', folder, source];
      await promisify(execFile)(process.execPath, ['node_modules/typescript/bin/tsc', ...compile, ...files]);
      const schema = 'src/store/schema.sql';
      await cp(schema, join(folder, schema));
      return { folder, entry: join(folder, source.replace('.ts', '.js')) };
    },
    ({ folder }) => rm(folder, { recursive: true, force: true }),
  );

/** A database, and receivers of it as processes, with one spool, for the tests of a file or group. */
export const useReceiver = (name: string) => {
  const database = useInboxDatabase();
  const spoolDir = join(useFolder(name), 'spool');
  const program = useProgram('webhook/support/receiver-process');
  const start = (config: NonNullable<ReceiverProcessOptions['config']>) =>
    startChild(program.entry, { databaseUrl: database.url, spoolDir, config });
  return { database, start };
};

const startChild = async (entry: string, options: ReceiverProcessOptions) => {
  const child: ChildProcessWithoutNullStreams = spawn(process.execPath, [entry, JSON.stringify(options)]);
  child.stderr.pipe(process.stderr);
  const lines = createInterface({ input: child.stdout });
  const line = async () => JSON.parse(((await once(lines, 'line')) as [string])[0]);
  const exited = once(child, 'exit');
  const first = await Promise.race([line(), exited.then(() => undefined)]);
  if (first === undefined) throw new Error('the receiver did not start');
  return {
    address: (first as { address: string }).address,
    async status() {
      const answer = line();
      child.stdin.write('?\n');
      return (await answer) as ReceiverStatus & { rss: number };
    },
    async kill() {
      child.kill('SIGKILL');
      await exited;
    },
  };
};
