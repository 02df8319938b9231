/** The real dbt, installed once into the cache, and runs of the package in dbt/ with the settings of the test marts. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { stringify } from 'yaml';
import { analytics } from './analytics.ts';

const run = promisify(execFile);
/** The first is the default. */
export const dbtCores = ['1.11.16', '1.12.6'] as const;
type DbtCore = (typeof dbtCores)[number];
const adapters = { postgres: 'dbt-postgres==1.11.0', bigquery: 'dbt-bigquery==1.12.1' } as const;
const cache = join(homedir(), '.cache/callsync');
const homeOf = (adapter: DbtAdapter, core: DbtCore): string =>
  join(cache, `dbt-${core}${adapter === 'bigquery' ? '-bigquery-1.12.1' : ''}`);
/** The folder of its programs. */
export const programsOf = (adapter: DbtAdapter): string => join(homeOf(adapter, dbtCores[0]), 'bin');
export type DbtAdapter = keyof typeof adapters;

/** Stands in for a package of dbt 1.12 that no command here uses, and whose source downloads from elsewhere. */
const parserStub = `[project]
name = "dbt-core-experimental-parser"
version = "2.0.0"
[tool.setuptools]
py-modules = []
`;

/** Why dbt cannot be had here; undefined once it is in the cache. */
export const installDbt = async (adapter: DbtAdapter, core: DbtCore = dbtCores[0]): Promise<string | undefined> => {
  const home = homeOf(adapter, core);
  if (existsSync(join(home, 'ready'))) return undefined;
  const stub = join(home, 'parser-stub');
  const requirements = [`dbt-core==${core}`, adapters[adapter], ...(core === '1.12.6' ? [stub] : [])];
  try {
    await mkdir(join(home, '..'), { recursive: true });
    console.warn(`Installing ${requirements.join(' and ')} into ${home}, once, in about a minute …`);
    await run('python3', ['-m', 'venv', home]);
    await mkdir(stub, { recursive: true });
    await writeFile(join(stub, 'pyproject.toml'), parserStub);
    await run(join(home, 'bin/pip'), ['install', '--quiet', ...requirements], { timeout: 300_000 });
    await writeFile(join(home, 'ready'), '');
    return undefined;
  } catch (error) {
    return (error as Error).message.split('\n')[0];
  }
};

export const settingsVars = {
  callsync_time_zone: analytics.time_zone,
  callsync_agent_side_by_direction: analytics.agent_side.by_direction,
  callsync_units: analytics.units,
  callsync_silence_gap_s: analytics.silence_gap_s,
  callsync_repeat_days: analytics.repeat_days,
  callsync_fields: analytics.fields,
};

/** Output of a profile. @param url as the tests have it, with a user and a password */
export const postgresTarget = (url: string, schema: string): Readonly<Record<string, unknown>> => {
  const { hostname: host, port, username: user, password, pathname } = new URL(url);
  return { host, port: Number(port), user, password, dbname: pathname.slice(1), schema, threads: 2 };
};

export type Dbt = Awaited<ReturnType<typeof openDbt>>;

/** One process for all runs: starting dbt takes seconds of processor time. A line of JSON is a run, and says how it ended. */
const server = `
import json, sys
from dbt.cli.main import dbtRunner
for line in sys.stdin:
    print('\\n' + json.dumps({'succeeded': dbtRunner().invoke(json.loads(line)).success}), flush=True)
`;

/**
 * @param folder where profile, log and target go
 * @param target an output of the profile
 * @param project folder of the dbt project, the package itself by default
 */
export const openDbt = async (input: {
  readonly adapter: DbtAdapter;
  readonly folder: string;
  readonly target: Readonly<Record<string, unknown>>;
  readonly project?: string;
  readonly core?: DbtCore;
}) => {
  const { adapter, folder, target, project = resolve(import.meta.dirname, '../../dbt'), core = dbtCores[0] } = input;
  const profile = { target: 'test', outputs: { test: { type: adapter, ...target } } };
  await writeFile(join(folder, 'profiles.yml'), stringify({ callsync: profile }));
  const env = {
    ...process.env,
    DBT_SEND_ANONYMOUS_USAGE_STATS: 'false',
    DBT_TARGET_PATH: join(folder, 'target'),
    DBT_LOG_PATH: join(folder, 'logs'),
  };
  const places = ['--project-dir', project, '--profiles-dir', folder];
  const child = spawn(join(homeOf(adapter, core), 'bin/python'), ['-c', server], {
    env,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    /** Returns what it printed; one run at a time. @throws with the end of that when dbt fails */
    async run(args: readonly string[], vars: Readonly<Record<string, unknown>> = settingsVars) {
      child.stdin.write(`${JSON.stringify(['--no-use-colors', ...args, ...places, '--vars', JSON.stringify(vars)])}\n`);
      const said: string[] = [];
      for (;;) {
        const { value = '{"succeeded": false}', done = false } = await lines.next();
        if (value === '{"succeeded": true}') return said.join('\n');
        if (value === '{"succeeded": false}') throw new Error(said.join('\n').slice(-4_000) || `dbt ended: ${done}`);
        said.push(value);
      }
    },
    async close() {
      child.stdin.end();
      await exited;
    },
  };
};
