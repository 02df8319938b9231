/**
 * Backfills by one, two and four workers from a service that takes a second a page and has no limit. Each worker has as
 * many calls. Prints calls a second, their share of linear growth, and the busy share of the processor. Beside them
 * stand the commits of the store for 1,000 calls, and the most commits a second of its server. About 4 minutes.
 * Options: --seconds N (of one run), --workers N (may be repeated), --json.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { stringify } from 'yaml';
import { temporalConfigSchema } from '../schemas/config/temporal.ts';
import { createRemoteControl } from '../src/simulator/control/remote-control.ts';
import { sourceOf, startSimulatorProcess } from '../src/simulator/demo/simulator-process.ts';
import { connectClient } from '../src/temporal/connect.ts';
import { startBackfill } from '../src/temporal/workflow-client.ts';
import { createDatabase } from './load/create-database.ts';
import { note, openServers } from './load/open-servers.ts';

const { values: flags } = parseArgs({
  options: {
    seconds: { type: 'string', default: '30' },
    workers: { type: 'string', multiple: true, default: ['1', '2', '4'] },
    json: { type: 'boolean', default: false },
  },
});

/** Windows that a worker reads at once, by default (`temporal.concurrency.read_activities`). */
const readsAtOnce = 5;
const pageSize = 20;
/** Of ten pages: a window's end is then a small share of its time. */
const windowCalls = 200;

interface Scaled {
  readonly workers: number;
  readonly calls_per_s: number;
  readonly share_of_linear: number;
  readonly processor_busy: number;
  readonly commits_per_1000_calls: number;
}

const main = join(import.meta.dirname, '../src/cli/main.js');

/** Ticks of all processors: in use, and in all. */
const readTicks = (): readonly [busy: number, all: number] => {
  const [, ...ticks] = (/^cpu .*/m.exec(readFileSync('/proc/stat', 'utf8'))?.[0] ?? '').split(/ +/).map(Number);
  const all = ticks.slice(0, 8).reduce((sum, one) => sum + one, 0);
  return [all - (ticks[3] ?? 0) - (ticks[4] ?? 0), all];
};

const askOnce = async <T extends pg.QueryResultRow>(url: string, sql: string): Promise<T | undefined> => {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return (await client.query<T>(sql).finally(() => client.end())).rows[0];
};

const countCommits = async (url: string): Promise<number> => {
  const sql = 'SELECT xact_commit::float8 AS n FROM pg_stat_database WHERE datname = current_database()';
  return (await askOnce<{ n: number }>(url, sql))?.n ?? Number.NaN;
};

const servers = await openServers();
const { folder, postgresUrl: serverUrl } = servers;
try {
  const temporal = await servers.startTemporal();
  const results: Scaled[] = [];
  for (const workers of flags.workers.map(Number)) {
    const measured = await runWorkers(workers, temporal.address);
    const base = results[0] ?? { ...measured, workers };
    const linear = (base.calls_per_s / base.workers) * workers;
    results.push({ workers, ...measured, share_of_linear: Number((measured.calls_per_s / linear).toFixed(3)) });
    note(JSON.stringify(results.at(-1)));
  }
  const commits = await measureCommits();
  const last = results.at(-1);
  const limit = Math.round((commits / (last?.commits_per_1000_calls ?? Number.NaN)) * 1000);
  const report = {
    processors: availableParallelism(),
    results,
    store_commits_per_s: commits,
    store_limit_calls_per_s: limit,
  };
  process.stdout.write(`${JSON.stringify(report, null, flags.json ? undefined : 2)}\n`);
} finally {
  await servers.close();
}
process.exit(0);

async function runWorkers(
  workers: number,
  temporalAddress: string,
): Promise<Omit<Scaled, 'workers' | 'share_of_linear'>> {
  const calls = Math.ceil((Number(flags.seconds) * workers * readsAtOnce * pageSize) / windowCalls) * windowCalls;
  const simulator = await startSimulatorProcess({
    seed: 11,
    calls: { count: calls, utterances: 4, density: 'even', lateShare: 0, otherShare: 0, to: '2026-01-31T00:00:00Z' },
    rateLimit: { requests: 0 },
    faults: { rates: { slow_body: 1 }, slowMs: 1_000, scope: ['list'] },
  });
  const database = await createDatabase(serverUrl, `scale_${workers}`);
  const prefix = `scale-${workers}`;
  const path = join(folder, `${prefix}.yaml`);
  const pagination = { style: 'offset', offset_param: 'offset', size_param: 'limit', size: pageSize };
  const config = {
    source: {
      ...sourceOf(simulator),
      list: { preset: 'activate', pagination },
      limits: { requests: 10_000, per_s: 1 },
    },
    store: { url: database.url },
    temporal: { address: temporalAddress, task_queue: prefix },
    sync: { window: { target_calls: windowCalls } },
  };
  writeFileSync(path, stringify(config), { mode: 0o600 });
  const running: ChildProcess[] = [];
  const { client, connection } = await connectClient(temporalConfigSchema.parse({}), temporalAddress);
  try {
    for (let worker = 0; worker < workers; worker += 1) {
      const child = spawn(process.execPath, [main, 'worker', '--config', path, '--json'], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      running.push(child);
      await once(child.stdout, 'data');
    }
    const [commits, ticks, begin] = [await countCommits(database.url), readTicks(), performance.now()];
    const handle = await startBackfill(client, prefix, {
      name: 'scale',
      axis: 'qualified',
      range: { from: Date.parse(simulator.range.from) * 1000, to: (Date.parse(simulator.range.to) + 3_600_000) * 1000 },
      direction: 'oldest_first',
      concurrency: workers * readsAtOnce,
      force: true,
    });
    await handle.result();
    const seconds = (performance.now() - begin) / 1000;
    const [busy, all] = readTicks().map((now, index) => now - (ticks[index] ?? 0)) as [number, number];
    const rows = await askOnce<{ n: number }>(database.url, 'SELECT count(*)::int AS n FROM calls.calls');
    if (rows?.n !== calls) throw new Error(`${rows?.n} of ${calls} calls were loaded`);
    const committed = (await countCommits(database.url)) - commits;
    const { requests } = await createRemoteControl(simulator).stats();
    note(
      `${workers} workers: ${calls} calls in ${seconds.toFixed(1)} s, ${requests.list} pages, at most ${requests.inFlightMax} at once`,
    );
    return {
      calls_per_s: Number((calls / seconds).toFixed(1)),
      processor_busy: Number((busy / all).toFixed(2)),
      commits_per_1000_calls: Math.round((committed / calls) * 1000),
    };
  } finally {
    for (const child of running) {
      child.kill('SIGTERM');
      if (child.exitCode === null) await once(child, 'exit');
    }
    await connection.close();
    await simulator.stop();
    await database.drop();
  }
}

/** Small durable commits by 16 connections for five seconds. */
async function measureCommits(): Promise<number> {
  const database = await createDatabase(serverUrl, 'scale_commits');
  const clients = Array.from({ length: 16 }, () => new pg.Client({ connectionString: database.url }));
  try {
    await Promise.all(clients.map((client) => client.connect()));
    await clients[0]?.query('CREATE TABLE probe (n integer)');
    const end = performance.now() + 5_000;
    let commits = 0;
    await Promise.all(
      clients.map(async (client) => {
        while (performance.now() < end) {
          await client.query('INSERT INTO probe VALUES (1)');
          commits += 1;
        }
      }),
    );
    return Math.round(commits / 5);
  } finally {
    await Promise.all(clients.map((client) => client.end()));
    await database.drop();
  }
}
