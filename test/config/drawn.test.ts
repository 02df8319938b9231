/** Settings as people write them, right and wrong: all that is valid starts, and a refusal names the key and no value. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { Client, Connection } from '@temporalio/client';
import fc from 'fast-check';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { resolveStart } from '../../schemas/config/sync.ts';
import type { Config } from '../../schemas/config.ts';
import { loadConfig } from '../../src/config/load.ts';
import { openChannels } from '../../src/health/notifications/channels.ts';
import { CallsyncError } from '../../src/lib/errors.ts';
import { openSecret } from '../../src/lib/secret.ts';
import { martSettings } from '../../src/marts/mart.ts';
import { renderViews } from '../../src/marts/render-views.ts';
import { createPrivacy } from '../../src/privacy/privacy.ts';
import { sourceOf } from '../../src/simulator/demo/simulator-process.ts';
import { startSimulator } from '../../src/simulator/start-simulator.ts';
import { defaultAxis } from '../../src/source/list/list-query.ts';
import { createSource } from '../../src/source/source.ts';
import { connectionOptions } from '../../src/temporal/connect.ts';
import {
  backfillSchedule,
  ensureBackfillSchedules,
  ensureSchedules,
  listBackfillSchedules,
} from '../../src/temporal/schedules.ts';
import { kindOf } from '../../src/warehouse/kinds.ts';
import { openSigningKeys } from '../../src/webhook/server/signature.ts';
import { useFolder } from '../support/folder.ts';
import { forAll } from '../support/for-all.ts';
import { deleteSchedules, endProcess } from '../support/installation.ts';
import { useDatabase } from '../support/postgres.ts';
import { startProgram } from '../support/program.ts';
import { useTemporal } from '../support/temporal.ts';

const folder = useFolder('drawn');
const { address, taskQueue: prefix, namespace } = await useTemporal();
const connection = await Connection.connect({ address });
const client = new Client({ connection, namespace });
const database = useDatabase();
afterAll(async () => {
  await deleteSchedules({ client, prefix });
  for (const name of await listBackfillSchedules(client, prefix)) await backfillSchedule(client, prefix, name).delete();
  await connection.close();
});

/** Values that stand in a text one after the other. */
const listOf = (text: string): readonly string[] => text.trim().split(/\s+\|\s+/);

const secrets = [
  ...['hunter2hunter2', '"quoted hunter2"', "'#hunter2'", '|\n      hunter2', '*hunter2', '&hunter2', '&hunter2 x'],
  ...['!hunter2', '!env hunter2', '%hunter2', '@hunter2', '"hunter2', '{hunter2}', '[hunter2]', '0123', 'yes', '', '~'],
];
const durations = listOf(`1m | 30s | 90d | 1.5h | 0s | 0.5s | 500ms | 5 | 5 min | 1w | -1m | 99999d | P1D | never
    | 1h30m`);
const zones = listOf(`UTC | Europe/Paris | America/Argentina/Buenos_Aires | Etc/GMT+2 | Asia/Calcutta | CET | EST | IST
    | "+02" | "+02:00" | europe/paris | EUROPE/PARIS | Europe/Nowhere | Z | GMT | local | Japan | UTC+2`);
const crons = listOf(`0 3 * * * | */15 * * * * | 0 3 * * MON-FRI | 0 3 29 2 * | @daily | 30 0 3 1 * * 2099 | 61 3 * * *
    | 0 3 30 2 * | every day | 0 3 * * | 0 3 * * FRI-MON | 0 3 L * * | 0 25 * * * | @reboot | R/PT1H
    | 0 3 * * * 2020`).map((cron) => JSON.stringify(cron));
const instants =
  listOf(`2026-01-01 | 2026-02-30 | 01/02/2026 | 2026-01-01T10:00 | 2026-01-01T10:00Z | 2026-01-01T10:00:00+02:00
    | 7d | yesterday | 1767225600 | 1500-01-01`);
const addresses =
  listOf(`https://api.example.com | https://api.example.com/v2/ | http://127.0.0.1:8080 | api.example.com
    | localhost:8080 | https://api.example.com?tenant=hunter2 | https://user:hunter2@api.example.com
    | https://api.example.com/#hunter2 | ftp://api.example.com | https:// | "https://api example.com"`);
const words = ['name', '"two words"', '..', '.', '""', '"é–"', '"a\\nb"', '"a/b"', '123', 'x'.repeat(300)];

/** Values of a key, as YAML. */
const table: Readonly<Record<string, readonly string[]>> = {
  'source.base_url': addresses,
  'source.auth_url': addresses,
  'source.token_url': addresses,
  'source.realm': words,
  'source.client_id': words,
  'source.client_secret': secrets,
  'source.token': secrets,
  'source.token_file': ['/run/secrets/token'],
  'source.auth_header': ['Authorization', 'X-Api-Key', '"X Key"', 'Content-Length', '""', 'é'],
  'source.auth_scheme': words,
  'source.headers': listOf(`{ X-Tenant: a } | { X-Tenant: "é–" } | { "X T": a } | { X-Tenant: } | [X-Tenant]
    | { Upgrade: h2 }`),
  'source.version': listOf(`{ by: header, name: X-V, value: "2" } | { by: path, value: v2 } | { by: host, value: "a b" }
    | { name: x } | { by: query, name: v }`),
  'source.limits': listOf(`{ requests: 5 } | { requests: 0 } | { requests: many } | { per_s: 0 } | { concurrency: 300 }
    | { request: 5 }`),
  'source.list':
    listOf(`{ axis: closed } | { axis: timestamp } | { records: data } | { pagination: { style: page, size: 0 } }
    | { cursor_fields: [{ name: a, record_field: a.b }] } | { params: { a: 1 } }`),
  'source.websocket': listOf(`{ url: "wss://a.example.com" } | { url: "https://a.example.com" } | { url: hunter2 }`),
  'webhook.secrets':
    listOf(`[{ name: a, secret: hunter2 }] | [{ name: a }] | [{ name: a, secret: x }, { name: a, secret: y }]
    | [hunter2] | [{ name: a, secret: x, secret_file: /x }]`),
  'webhook.path': ['/webhook', 'webhook', '"/a b"', '/a?b'],
  'webhook.allow_from': ['[10.0.0.0/8]', '[10.0.0.0/33]', '[example.com]', '10.0.0.0/8'],
  'webhook.public_url': addresses,
  warehouses: listOf(`{ postgres: } | { a: { type: postgres } } | { a: { type: mysql } } | { A: { type: postgres } }
    | { b: { type: bigquery, project: p } } | { b: { type: bigquery } }
    | { a: { type: postgres, url: "mysql://x:hunter2@y" } } | {}`),
  'store.url': ['postgres://a:hunter2@127.0.0.1/x', 'mysql://a:hunter2@b', '127.0.0.1:5432'],
  'store.schema': ['callsync', 'north_store', 'public', '"a b"', 'pg_x'],
  'temporal.address': ['127.0.0.1:7233', 'https://temporal.example.com', '127.0.0.1'],
  'temporal.api_key': secrets,
  'temporal.task_queue': ['callsync', '"a b"', 'a/b'],
  'sync.start_from': instants,
  'sync.interval': durations,
  'sync.inbox_sweep': durations,
  'sync.lookback': durations,
  'sync.reconcile': durations.map((text) => `{ interval: ${text} }`),
  'sync.reread': [...durations.map((text) => `{ delay: ${text} }`), '{ horizon: learned }', '{ horizon: forever }'],
  'sync.backfills': [
    ...crons.map((cron) => `[{ name: a, cron: ${cron} }]`),
    ...zones.map((zone) => `[{ name: a, cron: "0 3 * * *", time_zone: ${zone} }]`),
    ...durations.map((text) => `[{ name: a, every: ${text}, last: 1d }]`),
    ...durations.map((text) => `[{ name: a, every: 6h, jitter: ${text}, catchup_window: ${text} }]`),
    ...listOf(`[{ name: a, every: 1h, axis: closed }] | [{ name: a }] | [{ name: A, every: 1h }]
    | [{ name: a, cron: "0 3 31 2 *" }] | [{ name: a, every: 1h }, { name: a, every: 2h }]`),
  ],
  'analytics.time_zone': zones,
  'analytics.fields':
    listOf(`{ Amount: { name: amount } } | { "Prix d'achat {HT} 100%": { name: price, type: numeric } }
    | { a: { name: status } } | { a: { name: A } } | { a: }
    | { a: { name: x, type: date }, b: { name: x_as_sent } }`),
  'analytics.agent_side': ['{ by_direction: { Entrée: in } }', '{ default: left }', `{ by_direction: { "a'b": in } }`],
  'privacy.countries': ['[FR, DE]', '[fr]', '[]', 'FR'],
  'privacy.patterns': listOf(`[{ name: a, pattern: "[0-9]+" }] | [{ name: a, pattern: "[0-9" }]
    | [{ name: A, pattern: x }]`),
  'notifications.channels': listOf(`[{ type: slack, name: a, url_file: /x }] | [{ type: mail, name: a }]
    | [{ type: webhook, name: a, url: "https://u:hunter2@x.example.com", secret_file: /x }]`),
  'notifications.rules': listOf(`[{ when: stale }] | [{ when: stale, channels: [hunter2] }] | [{ when: never }]
    | [{ when: stale, after: 5 }]`),
  'operations.port': ['9464', '"9464"', '70000', '-1', '9464.5'],
};

const host = 'https://api.example.com';
const base = { source: { base_url: host, auth_url: host, realm: 'r', client_id: 'c', client_secret: 's' } };

type Tree = { [key: string]: Tree | string };
const render = (tree: Tree, indent = ''): string =>
  Object.entries(tree)
    .map(
      ([key, value]) =>
        `${indent}${key}:${typeof value === 'string' ? ` ${value}\n` : `\n${render(value, `${indent}  `)}`}`,
    )
    .join('');

const write = (drawn: readonly (readonly [string, string])[], over: Tree = {}): string => {
  const tree: Tree = { ...structuredClone(base), ...over };
  for (const [path, text] of drawn) {
    const [section = '', key] = path.split('.');
    if (key === undefined) tree[section] = text;
    else tree[section] = { ...(tree[section] as Tree | undefined), [key]: text };
  }
  return render(tree);
};

const load = async (yaml: string): Promise<Config> => {
  const path = join(folder, 'callsync.yaml');
  writeFileSync(path, yaml);
  return (await loadConfig({ path, env: {} })).config;
};

let ensured: object | undefined;

/** Every part that a start makes of settings alone, and the schedules on a real server. */
const build = async (config: Config): Promise<void> => {
  const log = { info: () => {}, warn: () => {}, error: () => {} };
  await createSource({ ...config.source, allow_http: true }).close();
  openSigningKeys({ secrets: config.webhook.secrets, allowUnsigned: true, log }).close();
  createPrivacy(config.privacy, { token: Buffer.alloc(32), seal: undefined });
  if (config.notifications.channels.every((one) => one.type === 'slack')) openChannels(config.notifications);
  for (const [name, settings] of Object.entries(config.warehouses)) {
    const kind = kindOf(settings);
    renderViews(kind.place(settings), martSettings(config.analytics));
    const lease = { run: async () => undefined as never };
    const memory = () => ({ read: async () => [], write: async () => {} });
    await kind.create({ name, config: settings, storeUrl: 'postgres://127.0.0.1/x', lease, memory }).close();
  }
  connectionOptions(config.temporal, address);
  expect(openSecret({ key: 'temporal.api_key', value: config.temporal.api_key })?.read()).not.toBe('');
  expect(resolveStart(config.sync.start_from, Date.now())).toBeTypeOf('number');
  const defaults = { axis: defaultAxis(config.source.list).name, sync: config.sync };
  // The server has the same already.
  if (isDeepStrictEqual(defaults, ensured)) return;
  await ensureSchedules(client, prefix, config.sync);
  await ensureBackfillSchedules(client, prefix, { wanted: config.sync.backfills, defaults });
  for (const { name } of config.sync.backfills) {
    const { info } = await backfillSchedule(client, prefix, name).describe();
    expect(info.nextActionTimes.length).toBeGreaterThan(0);
  }
  ensured = defaults;
};

const setting = fc
  .constantFrom(...Object.entries(table))
  .chain(([path, texts]) => fc.constantFrom(...texts).map((text) => [path, text] as const));
const drawing = fc.uniqueArray(setting, { minLength: 1, maxLength: 2, selector: ([path]) => path });

test('of 500 drawn configurations, all valid ones start, and the others name key and reason', async () => {
  let valid = 0;
  await forAll([drawing], { numRuns: 500, seed: 54 }, async (drawn) => {
    const yaml = write(drawn);
    const loaded = await load(yaml).catch((error: unknown) => error as Error);
    if (!(loaded instanceof Error)) {
      valid += 1;
      return await build(loaded);
    }
    expect(loaded, yaml).toBeInstanceOf(CallsyncError);
    expect((loaded as CallsyncError).code).toBe('CONFIG_INVALID');
    const said = `${loaded.message} ${(loaded as CallsyncError).hint}`;
    const sections = drawn.map(([path]) => path.split('.')[0]);
    expect(said).toMatch(new RegExp(`line \\d+: this is not valid YAML|(${sections.join('|')})(\\.|\\[| )`));
    expect(said, yaml).not.toContain('hunter2');
  });
  expect(Math.min(valid, 500 - valid)).toBeGreaterThan(100);
}, 600_000);

// Without settings that name other servers.
const sections = /^(source\.(auth_scheme|headers|version|list)|sync|analytics|privacy|webhook\.path)/;

test('a sample of them starts in truth', async () => {
  const simulator = await startSimulator({ calls: { count: 5 } });
  onTestFinished(() => simulator.stop());
  const texts = (values: object): Tree =>
    Object.fromEntries(Object.entries(values).map(([key, value]) => [key, JSON.stringify(value)]));
  const over = {
    source: texts(sourceOf(simulator)),
    store: texts({ url: database.url, data_dir: join(folder, 'data') }),
    temporal: texts({ address, task_queue: prefix }),
    webhook: texts({ port: 0, allow_unsigned: true }),
    operations: texts({ port: 0 }),
  };
  const drawn = fc
    .sample(drawing, { numRuns: 400, seed: 54 })
    .filter((one) => one.every(([path]) => sections.test(path)));
  for (let started = 0; started < 3; ) {
    const yaml = write(drawn.shift() as (typeof drawn)[number], over);
    if (!(await load(yaml).catch(() => false))) continue;
    started += 1;
    const running = startProgram(['up', '--json', '--config', join(folder, 'callsync.yaml')]);
    onTestFinished(() => endProcess(running.child, 'SIGKILL'));
    expect(await running.first(), yaml).toMatchObject({ temporal: address });
    expect(running.stderr(), yaml).not.toMatch(/UNEXPECTED|were not created/);
    await endProcess(running.child, 'SIGTERM');
  }
}, 240_000);
