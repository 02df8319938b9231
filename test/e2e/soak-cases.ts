/**
 * Sync, webhooks, backfills and reconcile behind faulty networks. One at a time, latency, resets, partitions and
 * refusals come between callsync and its store, Temporal or the service. Memory, descriptors and tables are sampled.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import { findFreePort } from '../../src/local/local-process.ts';
import { randomStream } from '../../src/simulator/calls/random.ts';
import { countRows } from '../../src/warehouse/content-hash.ts';
import { endProcess, type Installation, installForTest } from '../support/installation.ts';
import { startReceiver } from '../support/receiver-process.ts';
import { useTemporal } from '../support/temporal.ts';
import { allFaults, startToxiproxy } from '../support/toxiproxy.ts';
import { until } from '../support/until.ts';
import { reconcileAll, settle } from './restore-cases.ts';

const servers = ['store', 'temporal', 'service'] as const;
type Server = (typeof servers)[number];

export interface Sample {
  readonly minute: number;
  /** Values by the name of their series, such as `worker: MB`. */
  readonly values: Readonly<Record<string, number>>;
}

const minuteMs = 60_000;
export const leastFaults = 9;
const minutesAgo = (minutes: number): string => new Date(Date.now() - minutes * minuteMs).toISOString();

/** @param pace seconds of a fault at most, of a pause after it at most, between samples, and between syncs */
export const soak = async (
  minutes: number,
  { seed, ...pace }: Readonly<Record<'seed' | 'fault' | 'pause' | 'sample' | 'sync', number>>,
) => {
  const range = { from: minutesAgo(40), to: minutesAgo(10) };
  const interval = `${pace.sync}s`;
  const site = await installForTest({
    simulator: {
      seed,
      // Few at first: tables then grow as the calls do, and their size a call can be flat.
      calls: { ...range, count: 100, utterances: 6, lateShare: 0, processingSeconds: 1 },
      live: { callsPerSecond: 1, processingSeconds: 1, editShare: 0.2 },
      listOmits: [],
      edits: { requalifyShare: 0.5, webhookShare: 1 },
      tokens: { lifetimeSeconds: 60 },
    },
    config: { sync: { interval, settle: '1s', lookback: '1m', inbox_sweep: interval, start_from: '3h' } },
  });
  const toxiproxy = await putBetween(site);
  onTestFinished(toxiproxy.close);
  const port = await findFreePort();
  const receiver = await startReceiver(site, port);
  onTestFinished(() => endProcess(receiver, 'SIGKILL'));
  const worker = await site.startWorker(['--schedules']);
  await site.control.startWebhooks({ url: `http://127.0.0.1:${port}/webhook` });
  await until('the first calls are here', async () => Number((await countRows(site.warehouse)).calls) >= 50);

  const begun = Date.now();
  const faults: Record<string, number> = {};
  // On a loaded machine, longer.
  const goesOn = (): boolean => Date.now() - begun < minutes * minuteMs || Object.keys(faults).length < leastFaults;
  const processes = { worker, receiver };
  const samples: Sample[] = [];
  const takeSamples = async (): Promise<void> => {
    while (goesOn()) {
      const pids = Object.entries(processes).map(([name, { pid }]) => [name, pid] as const);
      samples.push({ minute: (Date.now() - begun) / minuteMs, values: await sample(site, pids) });
      await delay(pace.sample * 1000);
    }
  };
  const random = randomStream(seed);
  const disturb = async (): Promise<void> => {
    // Each fault of each server, in another order each time.
    const pairs = servers.flatMap((server) => allFaults.map((fault) => [server, fault] as const));
    while (goesOn()) {
      for (const [server, fault] of pairs.toSorted(() => random() - 0.5)) {
        if (!goesOn()) break;
        await toxiproxy.disturb(server, fault);
        faults[`${server} ${fault}`] = (faults[`${server} ${fault}`] ?? 0) + 1;
        await delay((0.2 + 0.8 * random()) * pace.fault * 1000);
        await toxiproxy.heal();
        await delay((0.2 + 0.8 * random()) * pace.pause * 1000);
      }
    }
  };
  const rounds = { backfills: 0, reconciles: 0 };
  const work = async (): Promise<void> => {
    while (goesOn()) {
      await (await site.backfill(`soak-${rounds.backfills}`, { force: true })).result;
      rounds.backfills += 1;
      const range = { from: (begun - 40 * minuteMs) * 1000, to: (Date.now() - 10_000) * 1000 };
      await reconcileAll(site, `soak-${rounds.reconciles}`, range);
      rounds.reconciles += 1;
      if (goesOn()) await delay(pace.pause * 1000);
    }
  };
  await Promise.all([takeSamples(), disturb(), work()]);

  await site.control.configure({ live: { callsPerSecond: 0, editShare: 0 } });
  await settle(site);
  await site.control.drainWebhooks();
  await settle(site);
  await reconcileAll(site);
  await settle(site);
  const deliveries = await site.store.value<number>`SELECT count(*)::int FROM calls.deliveries`;
  const ended = Object.entries(processes).flatMap(([name, { exitCode, signalCode }]) =>
    exitCode === null && signalCode === null ? [] : [name],
  );
  const truth = await site.checkTruth();
  // How often each fault was there, and processes of callsync that ended.
  return { minutes, calls: truth.calls, ...rounds, deliveries, faults, ended, truth, samples };
};

/** Processes that start from now on reach the servers through the proxies; the driver reaches them directly. */
const putBetween = async (site: Installation) => {
  const { address } = await useTemporal();
  const service = `127.0.0.1:${site.simulator.port}`;
  const toxiproxy = await startToxiproxy({ store: new URL(site.databaseUrl).host, temporal: address, service });
  const through = (url: string, server: Server): string =>
    Object.assign(new URL(url), { host: toxiproxy.addresses[server] }).href;
  await site.reconfigure(({ store, temporal, source }) => {
    store.url = through(store.url, 'store');
    temporal.address = toxiproxy.addresses.temporal;
    source.base_url = through(site.simulator.url, 'service');
    source.auth_url = through(source.auth_url, 'service');
  });
  return toxiproxy;
};

const sample = async (site: Installation, processes: readonly (readonly [name: string, pid: number | undefined])[]) => {
  const values: Record<string, number> = {};
  for (const [name, pid] of processes) {
    const kilobytes = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    values[`${name}: MB`] = (Number(kilobytes) * 1024) / 1e6;
    values[`${name}: descriptors`] = readdirSync(`/proc/${pid}/fd`).length;
  }
  const calls = Number((await countRows(site.warehouse)).calls);
  const rows = await site.store.query<{
    name: string;
    bytes: number;
  }>`SELECT relnamespace::regnamespace || '.' || relname
      AS name, pg_total_relation_size(oid)::float8 AS bytes
    FROM pg_class WHERE relkind = 'r' AND relnamespace::regnamespace::text IN ('callsync', 'calls')`;
  values.calls = calls;
  values['all tables: kB a call'] = rows.reduce((sum, { bytes }) => sum + bytes, 0) / 1000 / calls;
  // Pages of smaller tables are more than their rows.
  for (const { name, bytes } of rows) if (bytes > 1e6) values[`${name}: kB a call`] = bytes / 1000 / calls;
  return values;
};

const warmUpMinutes = 30;
/** A leak raises the least value of every five minutes; bursts of connections and garbage raise only what is above. */
const floorMinutes = 5;
/** Growth in an hour, as a share of the mean, up to which a series is flat. */
export const flatShare = 0.1;

const mean = (numbers: readonly number[]): number => numbers.reduce((sum, one) => sum + one, 0) / numbers.length;

/** Growth of each series in an hour, as a share of its mean: a line through its floors after the first half hour. */
export const slopesOf = (samples: readonly Sample[]): Readonly<Record<string, number>> => {
  const later = samples.filter(({ minute }) => minute >= warmUpMinutes);
  // A table that became large only later has too few samples.
  const names = Object.keys(later[0]?.values ?? {}).filter(
    (name) => name !== 'calls' && later.every(({ values }) => values[name] !== undefined),
  );
  return Object.fromEntries(
    names.map((name) => {
      const floors = new Map<number, number>();
      for (const { minute, values } of later) {
        const part = Math.floor(minute / floorMinutes);
        floors.set(part, Math.min(floors.get(part) ?? Infinity, values[name] ?? Infinity));
      }
      const points = [...floors].map(([part, value]) => [(part * floorMinutes) / 60, value] as const);
      const [x, y] = [mean(points.map(([at]) => at)), mean(points.map(([, value]) => value))];
      const over = points.reduce((sum, [at, value]) => sum + (at - x) * (value - y), 0);
      return [name, over / points.reduce((sum, [at]) => sum + (at - x) ** 2, 0) / y];
    }),
  );
};
