/**
 * Runs the commands of the documentation. Those of the quickstart run one after the other, then those of all other
 * pages in its installation. Ports are replaced by free ones, days by recent ones, and the service has fewer calls and
 * no limit.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { findFreePort } from '../../src/local/local-process.ts';
import { useFolder } from '../support/folder.ts';
import { endProcess } from '../support/installation.ts';
import { program } from '../support/program.ts';
import { type DocumentedCommand, isRunnable, readAllCommands } from './support/read-commands.ts';

const deadlineMs = 120_000;
/** Accepted exit codes: done, or finished and reported as incomplete. */
const allowed = [0, 5];
/** The installation of the quickstart has neither privacy rules nor limits of age. */
const notConfigured = /: (PRIVACY|RETENTION)_OFF: /;

const folder = useFolder('docs');
let ports: Readonly<Record<string, number>>;
let env: NodeJS.ProcessEnv;
const running: ChildProcess[] = [];
/** Words of the processes that go on. */
let told = '';

const daysAgo = (days: number): string => new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10);

const adapt = (text: string): string =>
  text
    .replace(/^npx /, '')
    .replace(/^[0-9*/ ]+ {2}/, '')
    .replace(/ && dbt build$/, '')
    .replace(/ --timeout \w+/, '')
    .replace(/--parallel-run \w+/, '--parallel-run 2s')
    .replace('callsync await', 'callsync await --timeout 20s')
    .replaceAll(/\b(9000|8780)\b/g, (port) => String(ports[port]))
    .replaceAll(/--from \d{4}-\d\d-\d\d/g, `--from ${daysAgo(2)}`)
    .replaceAll(/--to \d{4}-\d\d-\d\d/g, `--to ${daysAgo(1)}`)
    .replace(
      '{live: {callsPerSecond: 1}}',
      '{live: {callsPerSecond: 2}, rateLimit: {requests: 0}, calls: {utterances: 3}}',
    )
    .replace('callsync simulate', `callsync simulate --calls 300`);

const start = (line: string) =>
  spawn('bash', ['-o', 'pipefail', '-c', line], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });

/** @returns what it ended with, and what it said. */
const run = async (line: string) => {
  const child = start(line);
  const timer = setTimeout(() => child.kill('SIGKILL'), deadlineMs);
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (said += chunk));
  const [code] = (await once(child, 'close')) as [number | null];
  clearTimeout(timer);
  return { code, said };
};

const commands = readAllCommands();
const [first, rest] = [true, false].map((isFirst) =>
  commands.filter((one) => isRunnable(one) && (one.page === 'docs/tutorials/quickstart.md') === isFirst),
) as [DocumentedCommand[], DocumentedCommand[]];

/** @returns the output of all commands that end. */
const runAll = async (some: readonly DocumentedCommand[]): Promise<string> => {
  let all = '';
  const refused: string[] = [];
  for (const command of some) {
    const where = `${command.page}:${command.line} ${adapt(command.text)}`;
    if (command.background) {
      const child = start(`exec ${adapt(command.text)}`);
      running.push(child);
      for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (told += chunk));
      const ended = once(child, 'exit').then(([code]) => `ended with ${code}`);
      expect(await Promise.race([ended, once(child.stdout, 'data').then(() => 'runs')]), where).toBe('runs');
    } else {
      const { code, said } = await run(adapt(command.text));
      all += said;
      const isDone = code !== null && allowed.includes(code);
      if (!isDone && !notConfigured.test(said)) refused.push(`${where} ended with ${code}\n${said}`);
    }
  }
  expect(refused, told.slice(-4_000)).toEqual([]);
  return all;
};

/**
 * @param scope the quickstart alone, or all
 * @param findProgram line of shell that runs callsync; by default the build
 */
export const testCommands = (scope: 'quickstart' | 'all', findProgram = () => `"${process.execPath}" "${program}"`) => {
  beforeAll(async () => {
    await mkdir(join(folder, 'bin'));
    await writeFile(join(folder, 'bin/callsync'), `#!/bin/sh\nexec ${findProgram()} "$@"\n`, { mode: 0o755 });
    ports = { '9000': await findFreePort(), '8780': await findFreePort() };
    env = {
      ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('CALLSYNC_'))),
      PATH: `${join(folder, 'bin')}:${process.env.PATH}`,
      CALLSYNC_STORE__DATA_DIR: join(folder, 'data'),
      CALLSYNC_WEBHOOK__PORT: String(ports['8780']),
      CALLSYNC_OPERATIONS__PORT: '0',
      CALLSYNC_WEBHOOK__SHUTDOWN_DELAY_S: '0',
      CALLSYNC_SOURCE__LIMITS__REQUESTS: '1000',
    };
  });
  afterAll(async () => {
    for (const child of running.reverse()) await endProcess(child, 'SIGTERM');
  });

  test('the quickstart fills the marts with figures, in at most twelve commands', async () => {
    expect(commands.filter(({ page }) => page === 'docs/tutorials/quickstart.md').length).toBeLessThanOrEqual(12);
    // A share of the talk needs units and the side of the agent.
    expect(await runAll(first)).toMatch(/agent-\d+ .*\b0\.\d/);
  });

  if (scope === 'all') test('every other command of the documentation', async () => void (await runAll(rest)), 900_000);
};
