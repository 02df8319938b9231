/** Rules, dashboards and page against one live installation; `npm run campaign -- alerts` causes the alerts under a real Prometheus. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
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

export const testMonitoring = (site: () => Site): void => {
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
    await site().backfill('page', { direction: 'oldest_first' });
    await expect.poll(read, poll).toMatch(/>page<\/(a|th)>/);
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

  test('promtool takes the rules, and plays its own tests to them', () => {
    const checked = promtool(['check', 'rules', `${monitoring}callsync.rules.yaml`]);
    if (checked === undefined)
      return console.warn('promtool is not installed (Debian: prometheus): the rules were not played');
    expect(checked.code, checked.said).toBe(0);
    expect(promtool(['test', 'rules', `${monitoring}callsync.rules.test.yaml`])).toMatchObject({ code: 0 });
  });
};
