/** Rules and dashboards against live scrapes: each alert's condition is caused, seen in a scrape, and played to the rules. */
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { bigqueryWarehouseSchema } from '../../schemas/config/warehouses.ts';
import { readUsages } from '../../src/cli/services/watch-parts.ts';
import { watchInbox } from '../../src/metrics/inbox-gauges.ts';
import { shareReading } from '../../src/metrics/shared-reading.ts';
import { watchStore, watchUsage } from '../../src/metrics/store-gauges.ts';
import { createInboxWriter } from '../../src/store/delivery/inbox-writer.ts';
import { readStoreGauges, readVerdictGauges } from '../../src/store/status/gauges.ts';
import { startLoadWarehouse } from '../../src/temporal/workflow-client.ts';
import { createBigqueryWarehouse } from '../../src/warehouse/bigquery/warehouse.ts';
import { endProcess } from '../support/installation.ts';
import {
  type Episode,
  episodeOf,
  metricsOf,
  monitoring,
  namesOf,
  playEpisodes,
  promtool,
  rules,
  seriesOf,
} from './support/prometheus.ts';
import type { Site } from './support/site.ts';

const dashboard = JSON.parse(readFileSync(`${monitoring}grafana-callsync.json`, 'utf8')) as {
  panels: { title: string; targets: { expr: string }[] }[];
};
/** The SDK shows them once something has failed. */
const shownLater = new Set(['temporal_workflow_task_execution_failed_total']);

const poll = { timeout: 40_000, interval: 250 };
const figure = (scrape: string, series: string): number => seriesOf(scrape).get(series) ?? Number.NaN;

/** In another database of the same server: a database that is used cannot be closed from within. */
const onServer = async ({ databaseUrl }: Site, sql: string): Promise<void> => {
  const url = new URL(databaseUrl);
  url.pathname = '/postgres';
  const client = new pg.Client({ connectionString: url.href });
  await client.connect();
  await client.query(sql).finally(() => client.end());
};

/** No load gets anywhere until the returned function is called. */
const occupyWarehouse = async ({ databaseUrl }: Site): Promise<() => Promise<void>> => {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  await client.query('BEGIN');
  await client.query('LOCK TABLE calls.calls IN ACCESS EXCLUSIVE MODE');
  return () => client.end();
};

export const testMonitoring = (site: () => Site): void => {
  const episodes: Episode[] = [];
  let healthy: readonly [string, string];
  const episode = (alert: string, before: Episode['before'], during: Episode['during']): void =>
    void episodes.push(episodeOf(alert, { before, during }));
  /** Scrapes until a counter has grown, so that two scrapes tell how fast. */
  const scrapeTwice = async (grown: string): Promise<readonly [string, string]> => {
    const first = await site().scrape();
    for (;;) {
      const second = await site().scrape();
      if (figure(second, grown) > figure(first, grown)) return [first, second];
      await delay(poll.interval);
    }
  };
  const synced = 'callsync_calls_folded_total{origin="sync",outcome="changed"}';
  const accepted = 'callsync_webhook_accepted_total{stored_in="inbox",key="main"}';

  test('every metric of rules and panels is in a live scrape, under a name that Prometheus takes', async () => {
    const { scrape } = site();
    await expect.poll(async () => figure(await scrape(), accepted), poll).toBeGreaterThan(0);
    await expect
      .poll(async () => figure(await scrape(), 'callsync_load_seconds_count{warehouse="postgres"}'), poll)
      .toBeGreaterThan(0);
    await expect.poll(async () => await scrape(), poll).toMatch(/^temporal_activity_execution_latency_seconds_bucket/m);
    await expect.poll(async () => figure(await scrape(), 'callsync_store_up'), poll).toBe(1);
    healthy = await scrapeTwice(accepted);
    const names = namesOf(healthy[1]);
    const queries = [...rules, ...dashboard.panels.flatMap(({ targets }) => targets)].map(({ expr }) => expr);
    const unknown = new Set(queries.flatMap(metricsOf).filter((name) => !names.has(name) && !shownLater.has(name)));
    expect([...unknown]).toEqual([]);
    // An id, a number or a name of a person would stand in one of these labels.
    const labels = new Set(
      [...seriesOf(healthy[1]).keys()].flatMap((one) => [...one.matchAll(/[{,](\w+)="/g)].map(([, label]) => label)),
    );
    expect([...labels].filter((label) => /call|phone|caller|workflow_id|delivery/.test(label ?? ''))).toEqual([]);
    const checked = promtool(['check', 'metrics'], healthy[1]);
    if (checked !== undefined) expect(checked).toEqual({ code: 0, said: '' });
  });

  test('the status page shows the installation, and follows it', async () => {
    const read = async (path = '/') => await (await fetch(`${site().operations}${path}`)).text();
    await expect.poll(read, poll).toMatch(/<strong>On time\.<\/strong> The newest visible call is \d/);
    await expect.poll(read, poll).toMatch(/aria-label="\d{4}-\d\d-\d\d: [a-z ]+, [1-9]\d* calls"/);
    const page = await read();
    for (const title of ['Coverage by day (UTC)', 'What waits', 'Backfills', 'Timeline']) expect(page).toContain(title);
    expect(page).toMatch(/Arrival to visible in postgres<\/th><td>[1-9]/);
    expect(page).toContain('Signing key main verified its first delivery');
    expect(page).toMatch(/callsync \S+ runs/);
    expect(await read(`/verdicts?warehouse=postgres&day=${new Date().toISOString().slice(0, 10)}`)).toContain(
      'No verdict was given',
    );
    const { backfill } = site();
    await backfill('page', { direction: 'oldest_first' });
    await expect.poll(read, poll).toMatch(/>page<\/(a|th)>/);
  });

  test('no webhook arrives while polls bring calls', async () => {
    await site().control.stopWebhooks(true);
    await site().control.drainWebhooks();
    const during = await scrapeTwice(synced);
    expect(figure(during[1], accepted)).toBe(figure(during[0], accepted));
    await site().control.startWebhooks();
    const after = await scrapeTwice(accepted);
    episode('CallsyncWebhookSilent', after, during);
  });

  test('the service is away, a warehouse is away, the store is away', async () => {
    const { store, gate, scrape } = site();
    const lag = 'callsync_sync_lag_seconds';
    const pending = 'callsync_warehouse_pending_oldest_age_seconds{warehouse="postgres",kind="live"}';
    const free = await occupyWarehouse(site());
    await expect.poll(async () => figure(await scrape(), pending), poll).toBeGreaterThan(0);
    gate.shut();
    // Both have lasted for 20 minutes.
    await expect
      .poll(async () => {
        await store.query(`UPDATE watermarks SET seen_to = least(seen_to, now() - interval '20 minutes')`);
        await store.query(
          `UPDATE warehouse_calls SET queue_position = queue_position + 1200
            WHERE pending AND queue_position < queue_position(1, now() - interval '20 minutes')`,
        );
        const seen = await scrape();
        return Math.min(figure(seen, lag), figure(seen, pending));
      }, poll)
      .toBeGreaterThan(900);
    const away = await scrape();
    gate.open();
    await free();
    await startLoadWarehouse(site().client, site().prefix, { warehouse: 'postgres', origin: 'pending' });
    await expect.poll(async () => figure(await scrape(), pending), poll).toBeLessThan(900);
    episode('CallsyncStale', healthy, [away, away]);
    episode('CallsyncLoadStalled', healthy, [away, away]);

    const usable = 'callsync_webhook_store_usable';
    const name = new URL(site().databaseUrl).pathname.slice(1);
    await onServer(site(), `ALTER DATABASE ${name} ALLOW_CONNECTIONS false`);
    await store.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'callsync receiver'`,
    );
    await expect.poll(async () => figure(await scrape(), usable), poll).toBe(0);
    const spooling = await scrape();
    await onServer(site(), `ALTER DATABASE ${name} ALLOW_CONNECTIONS true`);
    await expect.poll(async () => figure(await scrape(), usable), poll).toBe(1);
    episode('CallsyncSpooling', healthy, [spooling, spooling]);
  });

  test('the worker is killed', async () => {
    await endProcess(site().process, 'SIGKILL');
    await expect(site().scrape()).rejects.toThrow();
    episode('CallsyncWorkerGone', healthy, null);
  });

  test('deliveries wait, a window is not proven, a quota is nearly used', async () => {
    const { store } = site();
    const registry = new Registry();
    const inbox = createInboxWriter({ pool: store.pool });
    watchInbox({ registry, cacheMs: 0, read: () => inbox.depth({ deadlineMs: 5_000 }) });
    const warehouses = ['postgres'];
    watchStore(
      registry,
      {
        store: shareReading(() => readStoreGauges(store, { warehouses, limitSpanMs: 1_000 }), { cacheMs: 0 }),
        verdicts: shareReading(() => readVerdictGauges(store, { warehouses, days: 9 }), { cacheMs: 0 }),
      },
      { requestsAllowed: 40 },
    );
    let spent = [{ at: Date.now(), jobs: 10 }];
    const config = bigqueryWarehouseSchema.parse({ type: 'bigquery', project: 'p', dataset: 'd' });
    const quotaMemory = { read: async () => spent, write: async () => undefined };
    const warehouse = createBigqueryWarehouse({ name: 'bq', config, quotaMemory });
    watchUsage(
      registry,
      shareReading(() => readUsages([{ warehouse, documents: false }]), { cacheMs: 0 }),
    );
    await store.query(`DELETE FROM inbox WHERE outcome = 'pending'`);
    const before = await registry.metrics();
    await store.query(`INSERT INTO inbox (received_at, body) VALUES (now() - interval '10 minutes', '{}')`);
    await store.query(
      `INSERT INTO verdicts (warehouse, axis, window_from, window_to, level, warehouse_level, confirmed, calls_listed, calls_found,
                             missing, different, healed, gone, surplus, outcome, compared_at, ledger_epoch, flatten_version,
                             revisions_digest, compared_by, digest)
       SELECT 'postgres', 'qualified', now() - hours * interval '1 hour', now() - (hours - 1) * interval '1 hour', 'ids', 'guards',
              'none', 1, 1, 0, 0, 0, 0, 0, outcome, now(), 1, 1, '', '', ''
         FROM (VALUES (2, 'unproven'), (3, 'suspicious_empty')) AS v(hours, outcome)`,
    );
    spent = [{ at: Date.now(), jobs: 1_400 }];
    const during = await registry.metrics();
    expect(figure(during, 'callsync_inbox_oldest_age_seconds')).toBeGreaterThan(300);
    expect(figure(during, 'callsync_windows_unproven{warehouse="postgres"}')).toBe(1);
    expect(figure(during, 'callsync_quota_used_ratio{warehouse="bq",quota="load_jobs"}')).toBeGreaterThan(0.8);
    for (const alert of ['CallsyncInboxStalled', 'CallsyncUnproven', 'CallsyncSuspiciouslyEmpty', 'CallsyncQuotaLow']) {
      episode(alert, [before, before], [during, during]);
    }
    await store.query(`DELETE FROM inbox WHERE outcome = 'pending'`);
    const checked = promtool(['check', 'rules', `${monitoring}callsync.rules.yaml`]);
    if (checked === undefined) {
      console.warn('promtool is not installed (Debian: prometheus): the rules were not played');
      return;
    }
    expect(checked.code, checked.said).toBe(0);
    expect(promtool(['test', 'rules', `${monitoring}callsync.rules.test.yaml`])).toMatchObject({ code: 0 });
    expect(episodes.map(({ alert }) => alert).sort()).toEqual(
      [
        'InboxStalled',
        'LoadStalled',
        'QuotaLow',
        'Spooling',
        'Stale',
        'SuspiciouslyEmpty',
        'Unproven',
        'WebhookSilent',
        'WorkerGone',
      ].map((name) => `Callsync${name}`),
    );
    const played = playEpisodes(episodes);
    expect(played?.code, played?.said).toBe(0);
  });
};
