/** The demo command as a user runs it, and its status page in a real browser while it stays up. */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { pictures, testInBrowser } from '../operations/browser-cases.ts';
import { useFolder } from '../support/folder.ts';
import { type Running, startProgram } from '../support/program.ts';
import { until } from '../support/until.ts';

/** Pictures show more than a test needs. */
const calls = pictures === undefined ? '150' : '1000';
const folder = useFolder('demo');

/** The ports that the demo wishes for; another process may have one of them anyway. */
const takeWishedPorts = (): Server[] =>
  [8780, 9464].map((port) =>
    createServer()
      .on('error', () => undefined)
      .listen(port, '127.0.0.1'),
  );

test('--break without an earlier demo is refused, and names the command that makes one', async () => {
  const run = startProgram(['demo', '--break', '--exit', '--data-dir', folder]);
  expect({ code: await run.ended, said: run.stderr() }).toEqual({
    code: 2,
    said: expect.stringMatching(/^callsync: USAGE_DEMO: There is no demo [\s\S]*callsync demo --exit/),
  });
});

test('ends with the truth intact and every settled day proven', async () => {
  const first = startProgram(['demo', '--exit', '--json', '--calls', calls, '--data-dir', folder]);
  expect(await first.ended, first.stderr()).toBe(0);
  const result = JSON.parse(first.stdout().trim().split('\n').at(-1) ?? '');
  expect(result.truth).toMatchObject({ lost: 0, duplicated: 0, stale: 0, mismatched: 0 });
  expect(result.truth.calls).toBeGreaterThan(130);
  expect(result.rows.calls).toBe(result.calls);
  expect(result.proof).toMatchObject({ warehouse: 'postgres', level: 'rows', days: result.proof.proven });
  expect(result.proof.days).toBeGreaterThanOrEqual(29);
  expect(result.proof.calls).toBeGreaterThan(100);
  expect(result.rows.words).toBeGreaterThan(1_000);
  expect(Object.keys(result.seconds)).toEqual(expect.arrayContaining(['start', 'backfill', 'live', 'check', 'total']));
  expect(first.stderr()).not.toMatch(/\n\s+at /);
});

describe('a second start finds its data again, heals the rows that --break alters, stays up, and', () => {
  let second: Running;
  let store: pg.Pool;
  let operations = '';
  let password = '';
  let taken: Server[] = [];
  beforeAll(async () => {
    taken = takeWishedPorts();
    second = startProgram(['demo', '--json', '--break', '--calls', calls, '--data-dir', folder]);
    const failed = second.ended.then((code) => {
      throw new Error(`the demo ended with ${code}: ${second.stderr()}`);
    });
    await Promise.race([until('the summary', async () => /password in \S+\)/.test(second.stderr()), 250_000), failed]);
    failed.catch(() => undefined);
    // Standard output has the result alone, once it ends.
    expect(second.stdout()).toBe('');
    const said = second.stderr();
    expect(said).toMatch(/over \d+ calls: lost 0, duplicated 0, stale 0, mismatched 0/);
    const [, page = '', file = ''] = /Status page: (\S+) .*password in (\S+)\)/.exec(said) ?? [];
    expect(page).not.toMatch(/:9464/);
    expect(parse(readFileSync(join(folder, 'demo/callsync.yaml'), 'utf8'))).toMatchObject({
      operations: { port: Number(new URL(page).port) },
      webhook: { port: expect.not.toBeOneOf([0, 8780]) },
    });
    const [, secretFile = '', host, port, user, database] =
      /PGPASSWORD=\$\(cat '([^']+)'\) psql -h (\S+) -p (\d+) -U (\S+) (\S+)/.exec(said) ?? [];
    operations = page;
    password = readFileSync(file, 'utf8').trim();
    store = new pg.Pool({
      host,
      port: Number(port),
      user,
      password: readFileSync(secretFile, 'utf8').trim(),
      database,
      max: 1,
      options: '-c search_path=callsync',
    });
  });
  afterAll(async () => {
    await store?.end();
    for (const server of taken) server.close();
    second?.child.kill('SIGINT');
    // Ctrl-C finishes what is under way and keeps the data.
    expect(await second?.ended).toBe(0);
    const { truth, proof, broken } = JSON.parse(second.stdout());
    expect(truth).toMatchObject({ lost: 0 });
    expect(broken).toEqual({ altered: 20, deleted: 5, found: 25, healed: 25 });
    expect(proof.proven).toBe(proof.days);
  });

  test('refuses a third one in its folder before anything is started', async () => {
    const third = startProgram(['demo', '--exit', '--calls', '150', '--data-dir', folder]);
    expect({ code: await third.ended, said: third.stderr() }).toEqual({
      code: 6,
      said: expect.stringMatching(
        /^callsync: DEMO_RUNS: A demo already runs in the folder \S+\.\n {2}End it, or .*--data-dir/,
      ),
    });
  });

  testInBrowser(() => ({
    operations,
    actor: { username: 'demo', password },
    stopService: async () => {
      const line = `ps --ppid ${second.child.pid} -o pid=,args= | grep simulator | awk '{print $1}' | xargs kill`;
      return await promisify(execFile)('bash', ['-c', line]);
    },
    proveAgain: async () => {
      const [from, to] = [40, 0.5].map((days) => new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10));
      const range = ['--from', from ?? '', '--to', to ?? '', '--force'];
      expect(await startProgram(['reconcile', ...range, '--config', join(folder, 'demo/callsync.yaml')]).ended).toBe(0);
    },
    said: () => second.stderr().split('\r').join('\n').split('\n').slice(-21).join('\n'),
    query: async (sql, values = []) => (await store.query(sql, [...values])).rows,
  }));
});
