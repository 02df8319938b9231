/** The real dbt, installed once into the cache, and runs of the package in dbt/ with the settings of the test marts. */
import { execFile } from 'node:child_process';
import { access, mkdir, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { stringify } from 'yaml';
import { analytics } from './analytics.ts';

const run = promisify(execFile);
const core = 'dbt-core==1.11.16';
const adapters = { postgres: 'dbt-postgres==1.11.0', bigquery: 'dbt-bigquery==1.12.1' } as const;
const cache = join(homedir(), '.cache/callsync');
const homes = {
  postgres: join(cache, 'dbt-1.11.16'),
  bigquery: join(cache, 'dbt-1.11.16-bigquery-1.12.1'),
} as const;
export type DbtAdapter = keyof typeof adapters;

const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

/** Why dbt cannot be had here; undefined once it is in the cache. */
export const installDbt = async (adapter: DbtAdapter): Promise<string | undefined> => {
  const home = homes[adapter];
  if (await isThere(join(home, 'ready'))) return undefined;
  const requirements = [core, adapters[adapter]];
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

export const settingsVars = {
  callsync_time_zone: analytics.time_zone,
  callsync_agent_side_by_direction: analytics.agent_side.by_direction,
  callsync_units: analytics.units,
  callsync_silence_gap_s: analytics.silence_gap_s,
  callsync_fields: analytics.fields,
};

export interface Dbt {
  /** Returns what it printed. @throws with the end of that when dbt ends with another code than 0 */
  run(args: readonly string[], vars?: Readonly<Record<string, unknown>>): Promise<string>;
}

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
}): Promise<Dbt> => {
  const { adapter, folder, target, project = resolve(import.meta.dirname, '../../dbt') } = input;
  const profile = { target: 'test', outputs: { test: { type: adapter, ...target } } };
  await writeFile(join(folder, 'profiles.yml'), stringify({ callsync: profile }));
  const env = { ...process.env, DBT_SEND_ANONYMOUS_USAGE_STATS: 'false' };
  const places = ['--project-dir', project, '--profiles-dir', folder];
  const kept = ['--target-path', join(folder, 'target'), '--log-path', join(folder, 'logs')];
  return {
    async run(args, vars = settingsVars) {
      const all = ['--no-use-colors', ...args, ...places, ...kept, '--vars', JSON.stringify(vars)];
      try {
        return (await run(join(homes[adapter], 'bin/dbt'), all, { env, maxBuffer: 64_000_000 })).stdout;
      } catch (error) {
        throw new Error((error as { readonly stdout?: string }).stdout?.slice(-4_000) || String(error));
      }
    },
  };
};
