/** Starts programs as processes of their own, compiled to a folder below node_modules where they find their packages. */
import { execFile, spawn } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { onTestFinished } from 'vitest';
import type { Receiver } from '../../../src/webhook/server/receiver.ts';
import { useFolder } from '../../support/folder.ts';
import { endProcess } from '../../support/installation.ts';
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

/** A program that says a line, and then answers each line of its input with a line, until the end of the test at most. @param wrapper that runs it */
export const converse = async (entry: string, args: readonly string[], wrapper: readonly string[] = []) => {
  const [command = '', ...all] = [...wrapper, process.execPath, entry, ...args];
  const child = spawn(command, all);
  const kill = () => endProcess(child, 'SIGKILL');
  onTestFinished(kill);
  child.stderr.pipe(process.stderr);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const line = async () => String((await lines.next()).value);
  return {
    child,
    first: await line(),
    ask: (text: string): Promise<string> => {
      child.stdin.write(`${text}\n`);
      return line();
    },
    kill,
  };
};

/** A database, and receivers of it as processes, with one spool, for the tests of a file or group. */
export const useReceiver = (name: string) => {
  const database = useInboxDatabase();
  const spoolDir = join(useFolder(name), 'spool');
  const program = useProgram('webhook/support/receiver-process');
  const start = async (config: ReceiverProcessOptions['config'] = {}) => {
    const options: ReceiverProcessOptions = { databaseUrl: database.url, spoolDir, config };
    const { first, ask, kill } = await converse(program.entry, [JSON.stringify(options)]);
    const port = Number(new URL((JSON.parse(first) as { address: string }).address).port);
    return { port, status: async () => JSON.parse(await ask('?')) as ReceiverStatus & { rss: number }, kill };
  };
  return { database, start };
};
