/** The dbt package with the real dbt on PostgreSQL: it builds, and each of its marts has the rows of the view of the same meaning. */
import { execFile } from 'node:child_process';
import { access, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { marts } from '../../src/marts/marts.ts';
import { modelNameOf } from '../../src/marts/render-dbt.ts';
import { analytics, changeCall } from './analytics.ts';
import { type FilledPostgres, fillPostgres, readChangedCalls, sortRows } from './two-warehouses.ts';

const run = promisify(execFile);
const requirements = ['dbt-core==1.11.16', 'dbt-postgres==1.11.0'];
const home = join(homedir(), '.cache/callsync', 'dbt-1.11.16');
const dbt = join(home, 'bin/dbt');

const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

/** Why dbt cannot be had here; undefined once it is in the cache. */
const installDbt = async (): Promise<string | undefined> => {
  if (await isThere(join(home, 'ready'))) return undefined;
  try {
    await mkdir(join(home, '..'), { recursive: true });
    console.warn(`Installing ${requirements.join(' and ')} into ${home}, once, in about a minute …`);
    await run('python3', ['-m', 'venv', home]);
    await run(join(home, 'bin/pip'), ['install', '--quiet', ...requirements], { timeout: 300_000 });
    await writeFile(join(home, 'ready'), '');
    return undefined;
  } catch (error) {
    return (error as Error).message.split('\n')[0];
  }
};

const missing = await installDbt();
if (missing !== undefined) console.warn(`The dbt package is not run: dbt cannot be installed here (${missing}).`);

describe.skipIf(missing !== undefined)('the dbt package', () => {
  let here: FilledPostgres;
  let folder: string;
  beforeAll(async () => {
    here = await fillPostgres(await readChangedCalls(changeCall));
    await here.postgres.applyMarts(analytics);
    folder = await mkdtemp(join(tmpdir(), 'callsync-dbt-'));
    const { hostname: host, port, username: user, password, pathname } = new URL(here.postgresUrl);
    const target = {
      type: 'postgres',
      host,
      port: Number(port),
      user,
      password,
      dbname: pathname.slice(1),
      schema: 'dbt',
      threads: 2,
    };
    await writeFile(
      join(folder, 'profiles.yml'),
      stringify({ callsync: { target: 'test', outputs: { test: target } } }),
    );
  });
  afterAll(async () => {
    await here?.close();
    if (folder !== undefined) await rm(folder, { recursive: true });
  });

  const runDbt = async (...args: readonly string[]): Promise<string> => {
    const vars = {
      callsync_time_zone: analytics.time_zone,
      callsync_agent_side_by_direction: analytics.agent_side.by_direction,
      callsync_units: analytics.units,
      callsync_silence_gap_s: analytics.silence_gap_s,
      callsync_fields: analytics.fields,
    };
    const places = ['--project-dir', resolve(import.meta.dirname, '../../dbt'), '--profiles-dir', folder];
    const kept = ['--target-path', join(folder, 'target'), '--log-path', join(folder, 'logs')];
    const env = { ...process.env, DBT_SEND_ANONYMOUS_USAGE_STATS: 'false' };
    const failed = (error: { readonly stdout?: string }): never => {
      throw new Error(error.stdout?.slice(-4_000) ?? String(error));
    };
    const options = { env, maxBuffer: 64_000_000 };
    return (
      await run(dbt, ['--no-use-colors', ...args, ...places, ...kept, '--vars', JSON.stringify(vars)], options).catch(
        failed,
      )
    ).stdout;
  };

  test('builds, with all its tests and unit tests', async () => {
    const said = await runDbt('build');
    console.log(said.trim().split('\n').at(-1));
    expect(said).toMatch(/Done\. PASS=\d+ WARN=0 ERROR=0 SKIP=0/);
    for (const mart of marts) {
      const schema = mart.intermediate === true ? 'dbt_int_callsync' : 'dbt';
      const rows = sortRows(await here.postgres.ask(`SELECT * FROM "${schema}".${modelNameOf(mart)}`));
      expect(rows.length).toBeGreaterThan(0);
      expect(rows, mart.name).toEqual(await here.postgres.readMart(mart.name));
    }
  }, 180_000);

  test('takes the freshness of its sources from sync_state: a heartbeat long ago is an error', async () => {
    await expect(runDbt('source', 'freshness', '--select', 'source:callsync.calls')).rejects.toThrow(/ERROR STALE/);
    const now = Date.now() * 1000;
    await here.postgres.warehouse.recordState(['main', now, now, 'timestamp', now, 0, now, null, 1, now]);
    expect(await runDbt('source', 'freshness', '--select', 'source:callsync.calls')).toMatch(/PASS freshness/);
  }, 120_000);
});
