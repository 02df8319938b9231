/** The whole path. A worker process reads, folds and loads a range, and then reads the same range again. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Client } from '@temporalio/client';
import pg from 'pg';
import { stringify } from 'yaml';
import { temporalConfigSchema } from '../../schemas/config/temporal.ts';
import { sourceOf, type startSimulatorProcess } from '../../src/simulator/demo/simulator-process.ts';
import { connectClient } from '../../src/temporal/connect.ts';
import { startBackfill } from '../../src/temporal/workflow-client.ts';
import type { BackfillProgress } from '../../workflows/messages.ts';
import { createDatabase } from './create-database.ts';
import { type ProcessorTime, readProcessorTime, usedBetween } from './processor.ts';
import type { openProfile } from './profile.ts';

type SimulatorProcess = Awaited<ReturnType<typeof startSimulatorProcess>>;

export interface CallsyncLoad {
  readonly firstSeconds: number;
  /** Until `settle` resolved, too; without it the same. */
  readonly settledSeconds: number;
  readonly againSeconds: number;
  readonly changedAgain: number;
  readonly peakMegabytes: number;
  /** Of the worker before its first call. */
  readonly idleMegabytes: number;
  /** Of the first load and of the second; undefined without the processes of the servers. */
  readonly processor: { readonly first: ProcessorTime; readonly again: ProcessorTime } | undefined;
  readonly megabytes: number;
  /** Of the first load, where it was asked for. */
  readonly profile: readonly string[];
}

const main = fileURLToPath(new URL('../../src/cli/main.js', import.meta.url));

/** The environment that the image gives to its worker. */
const imageEnv = (): Record<string, string> => {
  const image = readFileSync(fileURLToPath(new URL('../../../deploy/Dockerfile', import.meta.url)), 'utf8');
  return Object.fromEntries((/^ENV (.*)/m.exec(image)?.[1] ?? '').split(' ').map((setting) => setting.split('=')));
};

export const loadThroughCallsync = async (input: {
  serverUrl: string;
  database: string;
  simulator: SimulatorProcess;
  temporalAddress: string;
  folder: string;
  run: number;
  calls: number;
  /** Ids of the processes whose time is measured. */
  pids?: { readonly postgres: number; readonly temporal: number };
  /** Options of Node for the worker, such as `--cpu-prof`. */
  nodeOptions?: readonly string[];
  /** Profiles the first load. */
  profile?: ReturnType<typeof openProfile> | undefined;
  /** Records a page; 100 by default. */
  pageSize?: number;
  /** Whether the same range is read again after that; by default it is. */
  again?: boolean;
  /** Changes the database before the first call comes; the worker has made its tables. */
  prepare?: ((databaseUrl: string) => Promise<void>) | undefined;
  /** Resolves when what loads leave for later is done. */
  settle?: ((databaseUrl: string) => Promise<void>) | undefined;
}): Promise<CallsyncLoad> => {
  const database = await createDatabase(input.serverUrl, input.database);
  const { simulator } = input;
  const prefix = `bench-${input.run}`;
  const config = {
    source: {
      ...sourceOf(simulator),
      list: {
        preset: 'activate',
        pagination: { style: 'offset', offset_param: 'offset', size_param: 'limit', size: input.pageSize ?? 100 },
      },
      limits: { requests: 10_000, per_s: 1 },
    },
    store: { url: database.url },
    temporal: { address: input.temporalAddress, task_queue: prefix },
    sync: { window: { target_calls: 1_250 } },
  };
  const path = join(input.folder, `${prefix}.yaml`);
  writeFileSync(path, stringify(config), { mode: 0o600 });
  const { profile, nodeOptions = [] } = input;
  const worker = spawn(
    process.execPath,
    [...nodeOptions, ...(profile?.options ?? []), main, 'worker', '--config', path, '--json'],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...imageEnv(), ...process.env, ...profile?.env },
    },
  );
  const { client, connection } = await connectClient(temporalConfigSchema.parse({}), input.temporalAddress);
  try {
    await once(worker.stdout, 'data');
    await input.prepare?.(database.url);
    const readProcessor = () => input.pids && readProcessorTime({ worker: worker.pid, ...input.pids });
    const idleMegabytes = readMegabytes(worker.pid, 'VmRSS');
    await profile?.lap(worker.pid as number);
    const [started, first] = [readProcessor(), await timeBackfill(client, prefix, 'first', simulator)];
    const loaded = readProcessor();
    const used = started && loaded && usedBetween(started, loaded);
    const parts = used && (await profile?.read(worker.pid as number, used));
    const loadedAt = performance.now();
    await input.settle?.(database.url);
    const settledSeconds = first.seconds + (input.settle === undefined ? 0 : (performance.now() - loadedAt) / 1000);
    if (first.progress.totals.calls !== input.calls)
      throw new Error(`${first.progress.totals.calls} of ${input.calls} calls were read`);
    const again = input.again === false ? undefined : await timeBackfill(client, prefix, 'again', simulator);
    const ended = readProcessor();
    const { pending, megabytes } = await inspect(database.url);
    if (pending > 0) throw new Error(`${pending} calls are still pending`);
    return {
      firstSeconds: first.seconds,
      settledSeconds,
      againSeconds: again?.seconds ?? Number.NaN,
      changedAgain: again?.progress.totals.changed ?? 0,
      peakMegabytes: readMegabytes(worker.pid, 'VmHWM'),
      idleMegabytes,
      processor: used && loaded && ended && { first: used, again: usedBetween(loaded, ended) },
      megabytes,
      profile: parts ?? [],
    };
  } finally {
    worker.kill('SIGTERM');
    if (worker.exitCode === null) await once(worker, 'exit');
    await connection.close();
    await database.drop();
  }
};

/** The kernel's kB are KiB. */
const readMegabytes = (pid: number | undefined, name: 'VmHWM' | 'VmRSS'): number => {
  const found = new RegExp(`${name}:\\s+(\\d+) kB`).exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return (Number(found) * 1024) / 1e6;
};

const timeBackfill = async (client: Client, prefix: string, name: string, simulator: SimulatorProcess) => {
  const begin = performance.now();
  const handle = await startBackfill(client, prefix, {
    name,
    axis: 'qualified',
    range: {
      from: Date.parse(simulator.range.from) * 1000,
      to: (Date.parse(simulator.range.to) + 7 * 86_400_000) * 1000,
    },
    direction: 'oldest_first',
    concurrency: 4,
    force: true,
  });
  const progress = (await handle.result()) as BackfillProgress;
  return { seconds: (performance.now() - begin) / 1000, progress };
};

const inspect = async (url: string): Promise<{ pending: number; megabytes: number }> => {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query<{ pending: string; bytes: string }>(
      `SELECT (SELECT count(*) FROM callsync.warehouse_calls WHERE pending) AS pending, pg_database_size(current_database()) AS bytes`,
    );
    return { pending: Number(rows[0]?.pending), megabytes: Number(rows[0]?.bytes) / 1e6 };
  } finally {
    await client.end();
  }
};
