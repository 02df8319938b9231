/**
 * A real Prometheus plays the rules, and a real Alertmanager tells a webhook. Meanwhile list, store, warehouse and
 * worker are away, one at a time. The inbox cannot be merged, and then no webhook comes. Durations and thresholds of
 * the rules are divided by 60. About 8 minutes. In the suite, test/operations looks for every metric of rules and
 * panels in a scrape.
 */
import { spawn } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { parseDuration } from '../../schemas/config/values.ts';
import { sendWebhook } from '../../src/lib/send-webhook.ts';
import { findFreePort } from '../../src/local/local-process.ts';
import { monitoring, promtool, rules } from '../operations/support/prometheus.ts';
import { awayDatabase, lockTable, openSite, type Site } from '../operations/support/site.ts';
import { useBigQuery } from '../support/bigquery.ts';
import { useFolder } from '../support/folder.ts';
import { endProcess } from '../support/installation.ts';
import { listen } from '../support/listen.ts';
import { installDebian } from '../support/tools.ts';
import { until } from '../support/until.ts';

const shorten = (duration: string): string => `${(parseDuration(duration) ?? Number.NaN) / 60}ms`;
const quickRules = rules.map((rule) => ({
  ...rule,
  ...(rule.for && { for: shorten(rule.for) }),
  expr: rule.expr
    .replaceAll(/\[(\w+)\]/g, (_, range: string) => `[${shorten(range)}]`)
    .replace(/(_seconds\b.*) > (\d+)$/, (_, metric: string, seconds: string) => `${metric} > ${Number(seconds) / 60}`),
}));

const folder = useFolder('alerts');
let site: Site;
let prometheus: string;
/** Names of alerts as the webhook was told: `firing NAME`, `resolved NAME`. */
const told: string[] = [];
const closers: (() => Promise<unknown>)[] = [];

const startServer = (program: string, port: number, args: readonly string[]): string => {
  const server = spawn(program, [`--web.listen-address=127.0.0.1:${port}`, ...args], { cwd: folder, stdio: 'ignore' });
  closers.push(() => endProcess(server, 'SIGTERM'));
  return `127.0.0.1:${port}`;
};

const startPager = async (): Promise<string> => {
  const { url, close } = await listen(async (request, response) => {
    const { alerts } = JSON.parse(String(Buffer.concat(await request.toArray())));
    for (const { status, labels } of alerts) told.push(`${status} ${labels.alertname}`);
    response.end();
  });
  closers.push(close);
  return url;
};
const query = async (expr: string): Promise<readonly unknown[]> => {
  const answer = await fetch(`http://${prometheus}/api/v1/query?query=${encodeURIComponent(expr)}`);
  return ((await answer.json()) as { data: { result: unknown[] } }).data.result;
};

/** Prometheus notices a change of this file at once. */
const scrapeSite = (): Promise<void> =>
  writeFile(join(folder, 'targets.json'), JSON.stringify([{ targets: [new URL(site.operations()).host] }]));

beforeAll(async () => {
  const programs = ['prometheus', 'prometheus-alertmanager'].map((name) => [name, `/usr/bin/${name}`]);
  await installDebian(Object.fromEntries(programs));
  const { project, dataset, restUrl } = await useBigQuery();
  const bigquery = { type: 'bigquery', project, dataset, api_endpoint: restUrl, commit_interval_s: 2 };
  site = await openSite({ warehouses: { postgres: { type: 'postgres' }, bigquery } });
  closers.push(() => site.dispose());
  await scrapeSite();
  const receivers = [{ name: 'pager', webhook_configs: [{ url: await startPager(), send_resolved: true }] }];
  const route = { receiver: 'pager', group_by: ['alertname'], group_wait: '1s', group_interval: '1s' };
  await writeFile(join(folder, 'alertmanager.yml'), stringify({ route, receivers }));
  const alone = ['--config.file=alertmanager.yml', '--storage.path=alerts', '--cluster.listen-address='];
  const alertmanager = startServer('/usr/bin/prometheus-alertmanager', await findFreePort(), alone);
  await writeFile(join(folder, 'rules.yml'), stringify({ groups: [{ name: 'callsync', rules: quickRules }] }));
  const config = {
    global: { scrape_interval: '1s', scrape_timeout: '1s', evaluation_interval: '1s' },
    rule_files: ['rules.yml'],
    scrape_configs: [{ job_name: 'callsync', file_sd_configs: [{ files: ['targets.json'] }] }],
    alerting: { alertmanagers: [{ static_configs: [{ targets: [alertmanager] }] }] },
  };
  await writeFile(join(folder, 'prometheus.yml'), stringify(config));
  const places = ['--config.file=prometheus.yml', '--storage.tsdb.path=series'];
  const paces = ['--query.lookback-delta=5s', '--rules.alert.resend-delay=1s'];
  prometheus = startServer('/usr/bin/prometheus', await findFreePort(), [...places, ...paces]);
  const isUp = async () => (await query('up == 1').catch(() => [])).length > 0;
  await until('Prometheus has scraped the site', isUp);
});
afterAll(async () => {
  for (const close of closers.reverse()) await close();
});

test('rules: are accepted by promtool, with their real durations', () => {
  expect(promtool(['check', 'rules', `${monitoring}callsync.rules.yaml`])).toMatchObject({ code: 0 });
  expect(promtool(['test', 'rules', `${monitoring}callsync.rules.test.yaml`])).toMatchObject({ code: 0 });
});

test('dashboard: every query returns data', async () => {
  type Panels = { panels: { targets: { expr: string }[] }[] };
  const { panels }: Panels = JSON.parse(await readFile(`${monitoring}grafana-callsync.json`, 'utf8'));
  const queries = panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
  // Series that begin with the first delivery that is not taken.
  for (const body of ['{}', Buffer.alloc(17 * 2 ** 20)])
    await sendWebhook({ url: site.webhook, body, secret: 'wrong', retry: false });
  let empty = queries;
  await expect
    .poll(async () => {
      const found = await Promise.all(empty.map(query));
      empty = empty.filter((_, index) => found[index]?.length === 0);
      return empty;
    })
    .toEqual([]);
  console.log(`${queries.length} queries of the dashboard return data`);
});

/** Each begins an outage, and returns what ends it. */
const shutList = async () => {
  site.gate.shut();
  return () => site.gate.open();
};
const stopSender = async () => {
  await site.control.stopWebhooks(true);
  return () => site.control.startWebhooks();
};
const killWorker = async () => {
  await endProcess(site.process(), 'SIGKILL');
  return () => site.start().then(scrapeSite);
};
const outages: readonly [what: string, alert: string, cause: () => Promise<() => unknown>][] = [
  ['the list', 'CallsyncStale', shutList],
  ['the store', 'CallsyncSpooling', () => awayDatabase(site)],
  ['a warehouse', 'CallsyncLoadStalled', () => lockTable(site, 'calls.calls')],
  ['the merge of the inbox', 'CallsyncInboxStalled', () => lockTable(site, 'callsync.ledger')],
  ['the sender of webhooks', 'CallsyncWebhookSilent', stopSender],
  ['the worker', 'CallsyncWorkerGone', killWorker],
];

test.each(outages)('outages: %s is away: %s fires, reaches the webhook, is resolved', async (what, alert, cause) => {
  await until('no alert fires', async () => (await query('ALERTS{alertstate="firing"}')).length === 0);
  told.length = 0;
  const begun = performance.now();
  const end = await cause();
  await until(`firing ${alert}`, async () => told.includes(`firing ${alert}`));
  const fired = performance.now();
  await end();
  await until(`resolved ${alert}`, async () => told.includes(`resolved ${alert}`));
  const seconds = [fired - begun, performance.now() - fired].map((ms) => (ms / 1000).toFixed(1));
  console.log(`${what}: ${alert} was told after ${seconds[0]} s, and resolved ${seconds[1]} s after the end`);
});
