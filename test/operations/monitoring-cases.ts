/** Rules, dashboards and page against one live installation; `npm run campaign -- alerts` causes the alerts under a real Prometheus. */
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { ReconcileRequest, ReconcileTotals } from '../../schemas/orchestration.ts';
import { startReconcile } from '../../src/temporal/workflow-client.ts';
import type { ReconcileProgress } from '../../workflows/messages.ts';
import { awayDatabase } from './support/outages.ts';
import { metricsOf, monitoring, namesOf, promtool, rules, seriesOf } from './support/prometheus.ts';
import type { Site } from './support/site.ts';

const dashboard = JSON.parse(readFileSync(`${monitoring}grafana-callsync.json`, 'utf8')) as {
  panels: { title: string; targets: { expr: string }[] }[];
};
/** The SDK shows them once something has failed. */
const shownLater = new Set(['temporal_workflow_task_execution_failed_total']);

const poll = { timeout: 120_000, interval: 400 };
const figure = (scrape: string, series: string): number => seriesOf(scrape).get(series) ?? Number.NaN;

interface Day {
  /** Its beginning, in seconds since the epoch. */
  readonly second: number;
  readonly callIds: readonly string[];
}

/** Two days of the past, and all calls that the service processed in them. */
const findDays = async ({ simulator, store }: Site): Promise<readonly [Day, Day]> => {
  const days = await store.query<Day>(
    `SELECT extract(epoch FROM date_trunc('day', processed_at))::float8 AS second, array_agg(call_id) AS "callIds"
       FROM ledger WHERE processed_at < $1 GROUP BY 1 HAVING count(*) >= 5 ORDER BY 1 LIMIT 2`,
    [simulator.range.to],
  );
  const [first, second] = days;
  if (first === undefined || second === undefined) throw new Error('the calls of the past are not in the ledger');
  return [first, second];
};

/** The warehouse loses a row, and swallows it each time it is written, until the returned function is called. */
const swallowRow = async ({ store }: Site, callId: string): Promise<() => Promise<unknown>> => {
  await store.pool.query(
    `CREATE FUNCTION calls.swallow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
     CREATE TRIGGER swallow BEFORE INSERT OR UPDATE ON calls.calls
        FOR EACH ROW WHEN (NEW.call_id = '${callId}') EXECUTE FUNCTION calls.swallow();
     DELETE FROM calls.calls WHERE call_id = '${callId}'`,
  );
  return () => store.pool.query('DROP FUNCTION calls.swallow() CASCADE');
};

export const testMonitoring = (site: () => Site): void => {
  let past: Promise<unknown>;
  /** Scrapes until a counter has grown, so that two scrapes tell how fast. */
  const scrapeTwice = async (grown: string): Promise<readonly [string, string]> => {
    const first = await site().scrape();
    for (;;) {
      const second = await site().scrape();
      if (figure(second, grown) > figure(first, grown)) return [first, second];
      await delay(poll.interval);
    }
  };
  /** Scrapes until what was scraped passes. */
  const scrapeUntil = async (what: string, passes: (scrape: string) => boolean): Promise<string> => {
    let seen = '';
    const look = async (): Promise<boolean> => {
      seen = await site().scrape();
      return passes(seen);
    };
    await expect.poll(look, { ...poll, message: what }).toBe(true);
    return seen;
  };
  const synced = 'callsync_calls_merged_total{origin="sync",outcome="changed"}';
  const accepted = 'callsync_webhook_accepted_total{stored_in="inbox",key="main"}';

  test('every metric of rules and panels is in a live scrape, under a name that Prometheus takes', async () => {
    const { scrape } = site();
    await expect.poll(async () => figure(await scrape(), accepted), poll).toBeGreaterThan(0);
    await expect
      .poll(async () => figure(await scrape(), 'callsync_load_seconds_count{warehouse="postgres"}'), poll)
      .toBeGreaterThan(0);
    await expect.poll(async () => await scrape(), poll).toMatch(/^temporal_activity_execution_latency_seconds_bucket/m);
    await expect.poll(async () => figure(await scrape(), 'callsync_store_up'), poll).toBe(1);
    const healthy = await scrape();
    const names = namesOf(healthy);
    const queries = [...rules, ...dashboard.panels.flatMap(({ targets }) => targets)].map(({ expr }) => expr);
    const unknown = new Set(queries.flatMap(metricsOf).filter((name) => !names.has(name) && !shownLater.has(name)));
    expect([...unknown]).toEqual([]);
    // An id, a number or a name of a person would stand in one of these labels.
    const labels = new Set(
      [...seriesOf(healthy).keys()].flatMap((one) => [...one.matchAll(/[{,](\w+)="/g)].map(([, label]) => label)),
    );
    expect([...labels].filter((label) => /call|phone|caller|workflow_id|delivery/.test(label ?? ''))).toEqual([]);
    const checked = promtool(['check', 'metrics'], healthy);
    if (checked !== undefined) expect(checked).toEqual({ code: 0, said: '' });
  });

  test('the status page shows the installation, and follows it', async () => {
    const read = async (path = '/') => await (await fetch(`${site().operations()}${path}`)).text();
    await expect.poll(read, poll).toMatch(/<strong>On time\.<\/strong> The newest visible call is \d/);
    await expect.poll(read, poll).toMatch(/>\d{4}-\d\d-\d\d: [a-z, ]+, [1-9]\d* calls?</);
    const page = await read();
    for (const title of ['Path of the data', 'Calls by day (UTC)', 'Timeline', 'Limits']) expect(page).toContain(title);
    await expect.poll(read, poll).toMatch(/Arrival to visible<\/dt><dd><strong>\d[\d.]* m?s \/ /);
    await expect.poll(read, poll).toContain('Signing key main verified its first delivery');
    await expect.poll(read, poll).toMatch(/callsync \S+ runs/);
    expect(await read(`/verdicts?warehouse=postgres&day=${new Date().toISOString().slice(0, 10)}`)).toContain(
      'No verdict was given',
    );
    past = (await site().backfill('page', { direction: 'oldest_first' })).result;
    await expect.poll(read, poll).toMatch(/>page<\/(a|th)>/);
  });

  test('no webhook arrives while polls bring calls', async () => {
    await site().control.stopWebhooks(true);
    await site().control.drainWebhooks();
    const during = await scrapeTwice(synced);
    expect(figure(during[1], accepted)).toBe(figure(during[0], accepted));
    await site().control.startWebhooks();
    await scrapeTwice(accepted);
  });

  test('the store is away', async () => {
    const { scrape } = site();
    const usable = 'callsync_webhook_store_usable';
    const end = await awayDatabase(site());
    await expect.poll(async () => figure(await scrape(), usable), poll).toBe(0);
    const page = async () => await (await fetch(site().operations())).text();
    await expect.poll(page, poll).toMatch(/Spool<\/th><td data-head="Count">[1-9]/);
    await end();
    await expect.poll(async () => figure(await scrape(), usable), poll).toBe(1);
    await expect.poll(page, poll).not.toMatch(/Spool<\/th>/);
  });

  test('a day vanishes from the list, and a warehouse swallows a row', async () => {
    const { client, control, prefix } = site();
    await past;
    const [vanished, swallowed] = await findDays(site());
    const reconcile = async ({ second }: Day, request: ReconcileRequest = {}): Promise<ReconcileTotals> => {
      const range = { from: second * 1e6, to: (second + 86_400) * 1e6 };
      const handle = await startReconcile(client, prefix, {
        name: String(second),
        request: { range, force: true, ...request },
      });
      return ((await handle.result()) as ReconcileProgress).totals;
    };
    await control.delete({ callIds: vanished.callIds });
    expect(await reconcile(vanished)).toMatchObject({ windows: 1, suspicious: 1 });
    const takeRow = await swallowRow(site(), swallowed.callIds[0] ?? '');
    expect(await reconcile(swallowed)).toMatchObject({ windows: 1, unproven: 1, missing: 1, healedCalls: 0 });

    const found = (scrape: string): number[] =>
      ['unproven', 'suspicious_empty'].map((what) => figure(scrape, `callsync_windows_${what}{warehouse="postgres"}`));
    await scrapeUntil('both are found', (scrape) => found(scrape).every((windows) => windows === 1));
    await takeRow();
    expect(await reconcile(swallowed)).toMatchObject({ healed: 1, unproven: 0 });
    expect(await reconcile(vanished, { acceptEmpty: true })).toMatchObject({ suspicious: 0, unproven: 0 });
    await scrapeUntil('both are gone', (scrape) => found(scrape).every((windows) => windows === 0));
  });

  test('promtool takes the rules, and plays its own tests to them', () => {
    const checked = promtool(['check', 'rules', `${monitoring}callsync.rules.yaml`]);
    if (checked === undefined)
      return console.warn('promtool is not installed (Debian: prometheus): the rules were not played');
    expect(checked.code, checked.said).toBe(0);
    expect(promtool(['test', 'rules', `${monitoring}callsync.rules.test.yaml`])).toMatchObject({ code: 0 });
  });
};
