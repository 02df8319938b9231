/** callsync beside the other tools: a worker with continuous sync, polls alone, on PostgreSQL and Temporal of its own. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { stringify } from 'yaml';
import { sourceOf } from '../../src/simulator/demo/simulator-process.ts';
import { openServers } from '../load/open-servers.ts';
import { type MeasuredProcesses, readProcessorTime, usedBetween } from '../load/processor.ts';
import type { Synced, Tool } from './peers.ts';
import type { Service } from './service.ts';

const main = fileURLToPath(new URL('../../src/cli/main.js', import.meta.url));
const reconcileStep = 'reconcile';

interface Running {
  readonly worker: ChildProcess;
  readonly config: string;
  readonly store: pg.Client;
  readonly processes: MeasuredProcesses & { readonly worker: number };
  close(): Promise<void>;
}

const start = async (service: Service, folder: string): Promise<Running> => {
  const servers = await openServers();
  const temporal = await servers.startTemporal();
  const config = join(folder, 'callsync.yaml');
  const settings = {
    source: { ...sourceOf(service), list: { preset: 'activate' } },
    store: { url: servers.postgresUrl, data_dir: folder },
    temporal: { address: temporal.address },
    sync: { start_from: service.range.from, interval: '10s', settle: '5s' },
    webhook: { enabled: false },
    operations: { port: 0 },
  };
  await writeFile(config, stringify(settings), { mode: 0o600 });
  const worker = spawn(process.execPath, [main, 'worker', '--schedules', '--config', config, '--json'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(worker.stdout as NodeJS.ReadableStream, 'data');
  const store = new pg.Client({ connectionString: servers.postgresUrl });
  await store.connect();
  return {
    ...{ worker, config, store },
    processes: { worker: worker.pid as number, postgres: servers.postgresPid, temporal: temporal.pid },
    async close() {
      worker.kill('SIGTERM');
      if (worker.exitCode === null) await once(worker, 'exit');
      await store.end();
      await servers.close();
    },
  };
};

/** Continuous sync has read all that the service showed before `changed`, and the warehouse has it. */
const hasCaughtUp = async (store: pg.Client, changed: Date): Promise<boolean> => {
  const { rows } = await store.query<{ done: boolean }>(
    `SELECT (SELECT coalesce(bool_and(watermark > $1), false) FROM callsync.watermarks)
        AND NOT EXISTS (SELECT FROM callsync.warehouse_calls WHERE pending) AS done`,
    [changed],
  );
  return rows[0]?.done === true;
};

const runReconcile = async (config: string, { from }: Service['range']): Promise<string> => {
  const args = [main, 'reconcile', '--config', config, '--from', from, '--force', '--json'];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] });
  const [code] = (await once(child, 'close')) as [number | null];
  return `exit ${code}`;
};

const patienceMs = 600_000;

export const openCallsync = (): Tool => {
  let running: Running | undefined;
  return {
    name: 'callsync',
    settings: 'preset activate, polls every 10 s; processor time is with its PostgreSQL and Temporal, memory without',
    lastSteps: [{ name: reconcileStep, change: async () => undefined }],
    async sync(service, folder, step): Promise<Synced> {
      const changed = new Date(Date.now() + 1_000);
      const begin = performance.now();
      const idle = running === undefined ? undefined : readProcessorTime(running.processes);
      running ??= await start(service, folder);
      const { store, processes, config } = running;
      const before = idle ?? { worker_main: 0, worker_threads: 0, postgres: 0, temporal: 0 };
      const said = step === reconcileStep ? await runReconcile(config, service.range) : 'no problem';
      while (!(await hasCaughtUp(store, changed))) {
        if (performance.now() - begin > patienceMs)
          throw new Error(`callsync did not catch up in ${patienceMs / 1000} s`);
        await delay(200);
      }
      const { rows } = await store.query<{ call_id: string; status: string; campaign: string }>(
        'SELECT call_id, status, campaign FROM calls.calls WHERE source_deleted_at IS NULL',
      );
      const used = usedBetween(before, readProcessorTime(processes));
      return {
        rows: rows.map(({ call_id, status, campaign }) => [call_id, { status, campaign }]),
        seconds: (performance.now() - begin) / 1000,
        processorSeconds: Object.values(used).reduce((total, seconds) => total + seconds, 0),
        megabytes: readPeak(processes.worker),
        said,
      };
    },
    async close() {
      await running?.close();
      running = undefined;
    },
  };
};

const readPeak = (pid: number): number =>
  (Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024) / 1e6;
