/**
 * The view of operators on one running installation: rules, dashboards and page. Then faults: page, `doctor` and `status`
 * name each within a minute, and no longer within a minute after its end. The test moves times of the store back instead of
 * waiting; with CALLSYNC_REAL_TIME=1 it waits. `npm run campaign -- alerts` causes the alerts under a real Prometheus.
 */
import { readFileSync } from 'node:fs';
import { afterAll, describe, expect, test } from 'vitest';
import { scheduleIds } from '../../src/temporal/schedules.ts';
import { openCliFolder } from '../support/cli.ts';
import { deleteSchedules, endProcess } from '../support/installation.ts';
import { succeeds } from '../support/until.ts';
import { usePage } from './support/browser.ts';
import { metricsOf, monitoring, namesOf, promtool, rules, seriesOf } from './support/prometheus.ts';
import { awayDatabase, openSite } from './support/site.ts';

const [site, cli] = await Promise.all([openSite(), openCliFolder()]);
afterAll(async () => {
  await cli.remove();
  await site.dispose();
});

const dashboard = JSON.parse(readFileSync(`${monitoring}grafana-callsync.json`, 'utf8')) as {
  panels: { title: string; targets: { expr: string }[] }[];
};
/** The SDK shows them once something has failed. */
const shownLater = new Set(['temporal_workflow_task_execution_failed_total']);

const soon = { timeout: 120_000, interval: 400 };
const figure = (scrape: string, series: string): number => seriesOf(scrape).get(series) ?? Number.NaN;

const accepted = 'callsync_webhook_accepted_total{stored_in="inbox",key="main"}';

test('every metric of rules and panels is in a live scrape, under a name that Prometheus takes', async () => {
  const { scrape } = site;
  for (const series of [accepted, 'callsync_load_seconds_count{warehouse="postgres"}'])
    await expect.poll(async () => figure(await scrape(), series), soon).toBeGreaterThan(0);
  await expect.poll(async () => await scrape(), soon).toMatch(/^temporal_activity_execution_latency_seconds_bucket/m);
  await expect.poll(async () => figure(await scrape(), 'callsync_store_up'), soon).toBe(1);
  const healthy = await scrape();
  const names = namesOf(healthy);
  const queries = [...rules, ...dashboard.panels.flatMap(({ targets }) => targets)].map(({ expr }) => expr);
  const unknown = new Set(queries.flatMap(metricsOf).filter((name) => !names.has(name) && !shownLater.has(name)));
  expect([...unknown]).toEqual([]);
  // An id, a number or a name of a person would stand in one of these labels.
  const named = [...seriesOf(healthy).keys()].flatMap((one) => [...one.matchAll(/[{,](\w+)="/g)]);
  const labels = new Set(named.map(([, label]) => label));
  expect([...labels].filter((label) => /call|phone|caller|workflow_id|delivery/.test(label ?? ''))).toEqual([]);
  const checked = promtool(['check', 'metrics'], healthy);
  if (checked !== undefined) expect(checked, checked.said).toEqual({ code: 0, said: '' });
});

test('schedules that the server has lost are made again', async () => {
  await deleteSchedules(site);
  const sweep = site.client.schedule.getHandle(scheduleIds(site.prefix).sweep);
  await expect.poll(() => succeeds(sweep.describe()), soon).toBe(true);
});

test('the status page shows the installation, and follows it', async () => {
  const read = async (path = '/') => await (await fetch(`${site.operations()}${path}`)).text();
  await expect.poll(read, soon).toMatch(/<strong>On time\.<\/strong> The newest visible call is \d/);
  await expect.poll(read, soon).toMatch(/>\d{4}-\d\d-\d\d: [a-z, ]+, [1-9]\d* calls?</);
  const page = await read();
  for (const title of ['Path of the data', 'Calls by day (UTC)', 'Timeline']) expect(page).toContain(title);
  await expect.poll(read, soon).toMatch(/Arrival to visible<\/dt><dd><strong>\d[\d.]* m?s \/ /);
  await expect.poll(read, soon).toContain('Signing key main verified its first delivery');
  await expect.poll(read, soon).toMatch(/callsync \S+ runs/);
  const today = new Date().toISOString().slice(0, 10);
  expect(await read(`/verdicts?warehouse=postgres&day=${today}`)).toContain('No verdict was given');
  await site.backfill('page', { direction: 'oldest_first' });
  await expect.poll(read, soon).toMatch(/>page<\/(a|th)>/);
});

test('the store is away', async () => {
  const { scrape } = site;
  const usable = 'callsync_webhook_store_usable';
  const end = await awayDatabase(site);
  await expect.poll(async () => figure(await scrape(), usable), soon).toBe(0);
  const page = async () => await (await fetch(site.operations())).text();
  await expect.poll(page, soon).toMatch(/Spool<\/th><td data-head="Count">[1-9]/);
  await end();
  await expect.poll(async () => figure(await scrape(), usable), soon).toBe(1);
  await expect.poll(page, soon).not.toMatch(/Spool<\/th>/);
});

test('promtool takes the rules, and plays its own tests to them', () => {
  const checked = promtool(['check', 'rules', `${monitoring}callsync.rules.yaml`]);
  if (checked === undefined)
    return console.warn('promtool is not installed (Debian: prometheus): the rules were not played');
  expect(checked.code, checked.said).toBe(0);
  const played = promtool(['test', 'rules', `${monitoring}callsync.rules.test.yaml`]);
  expect(played?.code, played?.said).toBe(0);
});

const limitMs = 60_000;
const isRealTime = process.env.CALLSYNC_REAL_TIME === '1';

/** An outage of the list, as headline and commands name it. */
const words = /New calls have not been read for/;
const command = 'callsync doctor';

describe('named within a minute, and cleared within one:', () => {
  const { held, text } = usePage();

  // Without the real time, a busy machine may take longer for commands and page.
  const poll = { timeout: isRealTime ? limitMs : 5 * limitMs, interval: 500 };
  const ask = async (command: string) =>
    JSON.parse((await cli.run([command, '--json', '--config', site.configPath])).stdout);
  const askCommands = async () => {
    const { wrong } = (await ask('status')) as { wrong: { summary: string; command: string }[] };
    const { findings } = (await ask('doctor')) as { findings: { check: string; message: string; hint?: string }[] };
    const health = findings.filter(({ check }) => check === 'health');
    return {
      status: wrong.map((one) => `${one.summary} ${one.command}`).join('\n'),
      doctor: health.map(({ message, hint }) => `${message} ${hint}`).join('\n'),
    };
  };

  test('the list is dead', async () => {
    await held.page.goto(site.operations());
    await expect.poll(() => text('#headline'), poll).not.toMatch(words);
    await site.control.configure({ faults: { rates: { unavailable_503: 1 } } });
    if (!isRealTime) await site.store.pool.query(`UPDATE watermarks SET seen_to = seen_to - interval '1 minute'`);
    await expect.poll(() => text('#headline'), poll).toMatch(words);
    expect(await text('#headline')).toContain(command);
    expect(await text('#headline')).toMatch(/Since \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC/);
    // A read that was under way may set the watermark once more.
    for (const name of ['status', 'doctor'] as const)
      await expect.poll(async () => (await askCommands())[name], poll).toMatch(words);
    const told = await askCommands();
    expect(told.status).toContain(command);
    expect((await ask('status')).list).toMatchObject({ shapeProven: true });
    expect(told.doctor).toContain('log of the worker');
    const timeline = () => text('#events');
    await expect.poll(timeline, poll).toMatch(words);
    await expect.poll(timeline, poll).toMatch(/error Reading new calls failed \(SERVICE_OVERLOADED\)/);
    await site.control.configure({ faults: { rates: {} } });
    await expect.poll(() => text('#headline'), poll).not.toMatch(words);
    // Beside other load a read may be late again, after the page was read.
    await expect.poll(async () => Object.values(await askCommands()).join('\n'), poll).not.toMatch(words);
    await expect.poll(timeline, poll).toMatch(/recovery/);
  });

  test('the worker is killed, and nothing runs at all', async () => {
    await held.page.goto(site.operations());
    await endProcess(site.process(), 'SIGKILL');
    await expect.poll(() => text('#headline'), poll).toMatch(/Attention.*does not answer/);
    if (isRealTime)
      await expect.poll(async () => (await askCommands()).status, { ...poll, interval: 5_000 }).toMatch(/No worker/);
    else await site.store.pool.query(`UPDATE meta SET updated_at = now() - interval '1 minute' WHERE key = 'worker'`);
    const told = await askCommands();
    for (const said of [told.status, told.doctor]) {
      expect(said).toMatch(/No worker has run for/);
      expect(said).toContain('callsync worker');
    }
    await site.start();
    await held.page.goto(site.operations());
    await expect.poll(() => text('#headline'), poll).toMatch(/^On time/);
    await expect.poll(() => text('#events'), poll).toMatch(/recovery.*worker gone[\s\S]*outage.*No worker has run/);
    expect((await askCommands()).status).not.toMatch(/No worker/);
  });
});
