import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { ownColumns } from '../../schemas/config/analytics.ts';
import { resolveStart, syncConfigSchema } from '../../schemas/config/sync.ts';
import { checkConfig, loadConfig, loadReceiverConfig } from '../../src/config/load.ts';
import { iso } from '../../src/lib/timestamps.ts';
import { marts } from '../../src/marts/render-views.ts';
import { listPresets, readPreset } from '../../src/source/presets/presets.ts';
import { refusalOf } from '../source/local-server.ts';
import { useFolder } from '../support/folder.ts';

const cwd = useFolder('config');
beforeEach(() => rmSync(join(cwd, 'callsync.yaml'), { force: true }));

const minimal = 'source:\n  base_url: https://api.example.com\n';

const load = async (yaml: string | undefined, env: NodeJS.ProcessEnv = {}) => {
  if (yaml !== undefined) writeFileSync(join(cwd, 'callsync.yaml'), yaml);
  return (await loadConfig({ cwd, env })).config;
};

const failure = (yaml: string | undefined, env: NodeJS.ProcessEnv = {}) => refusalOf(load(yaml, env));
test('a configuration needs no more than an address', async () => {
  const config = await load(minimal);
  expect(config.source.base_url).toBe('https://api.example.com');
  expect(config.store).toMatchObject({ pool_size: 10, inbox_retention: 7 * 86_400_000 });
  expect(config.temporal).toMatchObject({ namespace: 'default', task_queue: 'callsync' });
  expect(config.temporal.address).toBeUndefined();
  expect(config.sync).toMatchObject({ interval: 60_000, reread: { horizon: 'learned' } });
  expect(Object.keys(config.warehouses)).toEqual(['postgres']);
});

test('a worker has room for a comparison while a backfill reads, by default', async () => {
  const { temporal, sync } = await load(minimal);
  expect(temporal.concurrency.read_activities).toBeGreaterThan(sync.concurrency);
});

test('a configuration finds the file by option, then CALLSYNC_CONFIG, then ./callsync.yaml', async () => {
  for (const name of ['option', 'variable', 'callsync'])
    writeFileSync(join(cwd, `${name}.yaml`), `source:\n  base_url: https://${name}.example.com\n`);
  const env = { CALLSYNC_CONFIG: 'variable.yaml' };
  expect((await loadConfig({ cwd, env, path: 'option.yaml' })).config.source.base_url).toContain('option');
  expect((await loadConfig({ cwd, env })).config.source.base_url).toContain('variable');
  const last = await loadConfig({ cwd, env: {} });
  expect(last.config.source.base_url).toContain('callsync');
  expect(last.path).toBe(join(cwd, 'callsync.yaml'));
});

test('a configuration refuses a lookback that is shorter than the settling time, and names both', async () => {
  const { message } = await failure(`${minimal}sync:\n  settle: 5m\n  lookback: 4m\n`);
  expect(message).toMatch(/sync\.lookback must be at least as long as sync\.settle/);
  expect((await load(`${minimal}sync:\n  settle: 5m\n  lookback: 5m\n`)).sync.settle).toBe(300_000);
  expect((await failure(`${minimal}sync:\n  settle: 11m\n`)).message).toMatch(/sync\.lookback/);
});

test('a configuration lies over its preset; null undoes a key of the preset, and sections may be empty', async () => {
  const list = 'max_results: 500, total_path: , pagination: { style: offset, size: 50 }, exclude: [tags]';
  const section = `  list: { preset: activate, ${list} }\n  limits: { requests: 10 }\n`;
  const { source, webhook, temporal } = await load(`${minimal}${section}temporal:\n  tls:\nsync:\n`);
  const expected = { records: 'data', max_results: 500, exclude: ['tags'], axis: 'qualified' };
  expect(source).toMatchObject({ list: expected, limits: { requests: 10, per_s: 10 } });
  expect(source.list.pagination).toEqual({ style: 'offset', offset_param: 'offset', size_param: 'limit', size: 50 });
  expect(webhook.header_prefix).toBe('X-Uhlive-');
  expect(temporal.tls).toEqual({});
  expect(source.list.total_path).toBeUndefined();
});

test('a configuration with another style of paging than its preset has nothing of that one', async () => {
  const list = '  list: { preset: activate, pagination: { style: page } }\nwebhook: { header_prefix: X-Mine- }\n';
  const { source, webhook } = await load(minimal + list);
  expect(source.list.pagination).toMatchObject({ style: 'page', page_param: 'page' });
  expect(webhook.header_prefix).toBe('X-Mine-');
});

test('a configuration takes each preset that is listed, and a copy that the user has changed', async () => {
  const presets = await listPresets();
  expect(presets.map(({ name }) => name)).toEqual(['activate', 'activate-v1']);
  const under = (preset: string) => `${minimal}  list: { preset: ${preset} }\n`;
  for (const { name, description } of presets) {
    expect(description).not.toBe('');
    expect((await load(under(name))).source.list.records).toBe('data');
  }
  const { file } = await readPreset('activate');
  const mine = readFileSync(file, 'utf8').replace('max_results: 10000', 'max_results: 5000');
  writeFileSync(join(cwd, 'mine.yaml'), mine);
  expect((await load(under('./mine.yaml'))).source.list.max_results).toBe(5_000);
  expect(await failure(under('nope'))).toMatchObject({ code: 'PRESET_UNREADABLE' });
});

test('the environment reaches every kind of key, text as it stands and the rest as YAML', async () => {
  const config = await load(undefined, {
    CALLSYNC_SOURCE__BASE_URL: 'https://env.example.com',
    CALLSYNC_SOURCE__LIST__PRESET: 'activate',
    CALLSYNC_SOURCE__CLIENT_ID: '0123',
    CALLSYNC_SOURCE__LIST__EXCLUDE: '[transcript_json, visit]',
    CALLSYNC_SOURCE__LIMITS__REQUESTS: '20',
    CALLSYNC_WEBHOOK__SECRETS__0__NAME: 'first',
    CALLSYNC_WEBHOOK__SECRETS__0__SECRET_FILE: '/run/secrets/first',
    CALLSYNC_WEBHOOK__ENABLED: 'false',
    CALLSYNC_SYNC__REREAD__HORIZON: '7d',
    CALLSYNC_WAREHOUSES: '{"lake": {"type": "bigquery", "project": "p"}}',
    CALLSYNC_WAREHOUSES__LAKE__DATASET: 'calls_eu',
    CALLSYNC_TEMPORAL_CLI: '/usr/bin/temporal',
  });
  expect(config.source).toMatchObject({ base_url: 'https://env.example.com', client_id: '0123' });
  const pagination = { style: 'offset', size: 200 };
  expect(config.source.list).toMatchObject({ exclude: ['transcript_json', 'visit'], pagination });
  expect(config.source.limits.requests).toBe(20);
  expect(config.webhook.enabled).toBe(false);
  expect(config.webhook.secrets).toEqual([{ name: 'first', secret_file: '/run/secrets/first' }]);
  expect(config.sync.reread.horizon).toBe(7 * 86_400_000);
  expect(config.warehouses.lake).toMatchObject({ type: 'bigquery', project: 'p', dataset: 'calls_eu' });
});

test('the environment wins over the file and leaves the rest, also of a warehouse with a dash in its name', async () => {
  const warehouses = 'warehouses:\n  big-lake: { type: bigquery, project: p }\n';
  const yaml = `${minimal}  realm: from-file\nstore:\n  port: 5440\n  data_dir: /data\n${warehouses}`;
  const location = { CALLSYNC_WAREHOUSES__BIG_LAKE__LOCATION: 'US' };
  const config = await load(yaml, { CALLSYNC_STORE__PORT: '5441', CALLSYNC_STORE: '{pool_size: 4}', ...location });
  expect(config.warehouses['big-lake']).toMatchObject({ project: 'p', location: 'US' });
  expect(config.store).toMatchObject({ port: 5441, data_dir: '/data', pool_size: 4 });
  expect(config.source.realm).toBe('from-file');
});

test('the environment leaves the file alone where a variable is empty, and lets a text be empty', async () => {
  const yaml = `${minimal}store:\n  port: 5440\n`;
  const config = await load(yaml, { CALLSYNC_STORE__PORT: '', CALLSYNC_WAREHOUSES: '', CALLSYNC_SOURCE__SCOPE: '' });
  expect(config.store.port).toBe(5440);
  expect(Object.keys(config.warehouses)).toEqual(['postgres']);
  expect(config.source.scope).toBe('');
});

test('the environment and a text block lose the line end that echo or an editor added', async () => {
  const limits = { CALLSYNC_SOURCE__LIMITS__REQUESTS: '7\n' };
  const env = { CALLSYNC_SOURCE__CLIENT_ID: 'id\n', CALLSYNC_SOURCE__REALM: 'main\r\n', ...limits };
  expect((await load(minimal, env)).source).toMatchObject({ client_id: 'id', realm: 'main', limits: { requests: 7 } });
  expect((await load(`${minimal}  client_id: |\n    id\n`)).source.client_id).toBe('id');
});

test('the environment is refused where it names no key', async () => {
  const wrong = await failure(minimal, { CALLSYNC_SOURCE__LIST__PRESETT: 'activate' });
  expect(wrong.message).toContain('CALLSYNC_SOURCE__LIST__PRESETT names no configuration key');
  expect(wrong.hint).toBe('Did you mean CALLSYNC_SOURCE__LIST__PRESET?');
  expect((await failure(minimal, { CALLSYNC_SUORCE__REALM: 'x' })).hint).toContain('CALLSYNC_SOURCE__REALM');
  expect((await failure(minimal, { CALLSYNC_STORE__PORT: '[1' })).message).toContain('CALLSYNC_STORE__PORT');
});

/** Lines behind the address of the service, with a part of the message about each. */
test.each([
  ['  relam: x', 'source.relam is not a key (did you mean realm?).'],
  ['stroe: {}', 'stroe is not a key (did you mean store?).'],
  ['zzzzzz: {}', 'allowed there: source, webhook, store'],
  ['  limits: { requests: many }', 'source.limits.requests must be a number'],
  ['  version: { by: moon }', 'source.version.by must be one of none, host, path, header'],
  ['  list: { pagination: { style: odd } }', 'pagination.style must be one of none, page, offset, cursor, link'],
  ['store: { port: 70000 }', 'store.port must be at most 65535'],
  ['  auth_url: nowhere', 'source.auth_url must be an address such as https://'],
  ['sync: { interval: soon }', 'sync.interval must be a number with its unit: ms, s, m, h or d'],
  ['store: { url: "postgres://a/b", url_file: /x }', 'store takes `url` or `url_file`, not both'],
  ['temporal: { tls: { cert_file: /x } }', 'temporal.tls needs `cert_file` and `key_file` together'],
  ['webhook: { secrets: [{ name: a }] }', 'webhook.secrets[0] needs `secret_file` (or `secret`)'],
  ['warehouses: { "B!": { type: postgres } }', 'warehouses.B!: this name is not allowed'],
  ['warehouses: { postgres: }', 'warehouses.postgres is required'],
  ['  headers: { X-Tenant: }', 'source.headers.X-Tenant is required'],
  ['privacy: { profile: pseudonymous }', 'privacy needs `seal_key_file`, or `unreadable: drop`'],
  ['privacy: { rules: [{ path: metadata.ANI, action: token }] }', 'privacy needs `seal_key_file`, or'],
  ['privacy: { patterns: [{ name: x, pattern: "(" }] }', 'privacy.patterns[0].pattern is not a regular expression'],
  ['privacy: { key_id: k1, former_keys: [{ id: k1, file: a }] }', 'former_keys names a key twice, or the present one'],
  ['privacy: { former_keys: [{ id: k0, file: a }, { id: k0, file: a }] }', 'former_keys names a key twice, or'],
  ['  version: { by: host, value: a.example.com, name: b }', '`name` only for a header or a query'],
  ['sync: { intervall: }', 'sync.intervall is not a key (did you mean interval?)'],
  ['  client_secret: a\n  client_secret_file: /x', 'source takes `client_secret` or `client_secret_file`, not both'],
  ['  auth_url: https://id.example.com/?tenant=4', 'source.auth_url must not hold a query'],
  ['  token_url: https://user:hunter2@id.example.com', 'source.token_url must not hold a user, a password or “#”'],
  ['  realm: ..', 'source.realm must be the name of a realm'],
  ['  realm: ""', 'source.realm must be the name of a realm'],
  ['  headers: { X-Tenant: "é–" }', 'source.headers.X-Tenant must be one line of Latin letters'],
  ['  headers: { "X Tenant": a }', 'source.headers.X Tenant: this name is not allowed; must be the name of a header'],
  ['  auth_scheme: "To\\nken"', 'source.auth_scheme must be one line of Latin letters'],
  ['  version: { name: X-Version, value: "2" }', 'source.version needs `by` and `value`'],
  ['  version: { by: host, value: "not a host" }', 'source.version needs `by` and `value`, a host name for a host'],
  ['  list: { axis: closed }', 'source.list.axis must be a name of source.list.cursor_fields'],
  ['  websocket: { url: "https://api.example.com" }', 'source.websocket.url must be an address such as wss://'],
  ['sync: { interval: 0s }', 'sync.interval must be from 1s to 36500d'],
  ['sync: { inbox_sweep: 40000d }', 'sync.inbox_sweep must be from 1s to 36500d'],
  ['sync: { start_from: 01/02/2026 }', 'sync.start_from must be a date such as 2025-01-31 (UTC)'],
  ['sync: { start_from: 2026-02-30 }', 'sync.start_from must be a date such as 2025-01-31 (UTC)'],
  ['sync: { start_from: 2026-02-03T10:00 }', 'sync.start_from must be a date such as 2025-01-31 (UTC)'],
  ['sync: { backfills: [{ name: a, cron: "61 3 * * *" }] }', 'sync.backfills[0].cron has no valid minute (0 to 59)'],
  ['sync: { backfills: [{ name: a, every: 0s }] }', 'sync.backfills[0].every must be from 1s to 36500d'],
  ['sync: { backfills: [{ name: a, every: 1h, axis: b }] }', 'sync.backfills[0].axis must be a name of'],
  ['sync: { backfills: [{ name: a, cron: "0 3 31 6 *" }] }', 'cron names no day that comes'],
  ['sync: { backfills: [{ name: a, cron: 0 3 * * *, every: 1h }] }', 'sync.backfills[0] takes one of `cron`'],
  ['sync: { backfills: [{ name: a, every: 1h, time_zone: No/Where }] }', 'time_zone is no time zone that this machine'],
  [
    'sync: { backfills: [{ name: a, calendar: { hour: [1], day_of_week: [SUNDAY] } }] }',
    'calendar is not a key; allowed there: name, cron, every, time_zone, last, axis, order, concurrency, force, jitter, catchup_window, overlap_policy; sync.backfills[0] takes one of `cron`, such as 0 1 * * SUN, and',
  ],
  ['analytics: { time_zone: CET }', 'analytics.time_zone must be UTC or an IANA name with a slash'],
  ['analytics: { fields: { Etat: { name: status } } }', 'analytics.fields names must differ from each other and from'],
  ['analytics: { fields: { a: { name: b, type: date }, c: { name: b_as_sent } } }', 'fields names must differ'],
  ['notifications: { rules: [{ when: stale, channels: [hunter2] }] }', 'notifications.rules must name channels'],
  ['sync: [', 'line 4: this is not valid YAML'],
])('errors name the key: %s', async (line, says) => {
  const error = await failure(`${minimal}${line}\n`);
  expect(error.message).toContain(says);
  expect(error).toMatchObject({ kind: 'terminal', code: 'CONFIG_INVALID' });
});

test.each([
  // As people write secrets without quotes. The library only warns of some.
  ...['*Sup3rSecret', '&Sup3rSecret', '&Sup3rSecret x'].map((text) => [`  client_secret: ${text}`, text, 'ANCHOR']),
  ...['!Sup3rSecret', '!env Sup3rSecret'].map((text) => [`  client_secret: ${text}`, text, 'TAG_RESOLVE_FAILED']),
  ['  client_secret: %Sup3rSecret', '%Sup3rSecret', 'BAD_SCALAR_START'],
  // Between braces a comma ends a text, and the rest of a secret would be a key without a value.
  ['webhook: { secrets: [{ name: main, secret: ab, Sup3r }] }', '5, Sup3r', 'COLON'],
  ['warehouses: { main: { type: postgres, url: ab,Sup3r } }', '5, Sup3r', 'COLON'],
  ['analytics: { fields: { ab, Sup3r } }', '5, Sup3r', 'COLON'],
  ['? Sup3r', '5, Sup3r', 'COLON'],
])(
  'errors name the line of a secret that YAML reads otherwise, and print nothing of it: %s',
  async (line, text, code) => {
    const env = { CALLSYNC_SOURCE__LIMITS: `{ requests: 5, per_s: ${text} }` };
    for (const error of [await failure(`${minimal}${line}\n`), await failure(minimal, env)]) {
      expect(error.message).toMatch(new RegExp(`, line [13]: this is not valid YAML \\(${code}\\)`));
      expect(JSON.stringify([error.message, error.hint, String(error.cause)])).not.toContain('Sup3r');
    }
  },
);

test.each([
  '  client_secret: ab\n  cdSup3r: ef',
  'webhook: { secrets: [{ name: main, secret: ab, cdSup3r: ef }] }',
  'warehouses: { main: { type: postgres, url: ab, cdSup3r: ef } }',
])('errors name no key beside a secret, because it may be the rest of one: %s', async (line) => {
  const { message } = await failure(`${minimal}${line}\n`);
  expect(message).toMatch(/a name in (source|webhook\.secrets\[0\]|warehouses\.main) .* is not a key; allowed there: /);
  expect(message).not.toContain('Sup3r');
});

test.each([
  ['2026-02-28', '2026-02-28T00:00:00.000Z'],
  ['2026-02-28T10:00+02:00', '2026-02-28T08:00:00.000Z'],
  ['7d', '2026-02-21T00:00:00.000Z'],
])('continuous sync starts from %s', (text, expected) => {
  const { start_from } = syncConfigSchema.parse({ start_from: text });
  expect(iso(resolveStart(start_from, Date.parse('2026-02-28')))).toBe(expected);
});

test('errors say what is missing', async () => {
  expect(await failure('store: {}\n')).toMatchObject({
    ...{ message: expect.stringContaining('source is required'), hint: expect.stringContaining('--receiver') },
  });
  expect((await failure('- 1\n')).message).toContain('must hold sections');
});

test('errors name every wrong key at once, and repeat no value', async () => {
  const wrong = '  client_secret: { hidden: hunter2 }\nstore: { port: -1, url: "A B" }\nsync: { interval: 60 }\n';
  const { message } = await failure(minimal + wrong);
  const keys = ['source.client_secret must be a string', 'store.port', 'store.url', 'interval must be a number with'];
  for (const said of keys) expect(message).toContain(said);
  expect(message).not.toMatch(/hunter2|A B/);
});

test('errors say where a configuration is looked for', async () => {
  expect(await failure(undefined)).toMatchObject({ code: 'CONFIG_MISSING', hint: expect.stringContaining('--config') });
  const named = await failure(undefined, { CALLSYNC_CONFIG: 'other.yaml' });
  expect(named.message).toBe(`The configuration file ${join(cwd, 'other.yaml')} does not exist.`);
  expect(named.hint).toContain('callsync init');
});

test('errors speak of settings that a command made', () => {
  expect(() => checkConfig({}, 'the demo')).toThrow('The configuration (the demo) is not valid: source is required');
});

test('a receiver needs no section of the service, and takes no key that is unknown', async () => {
  const read = async (yaml: string) => {
    writeFileSync(join(cwd, 'callsync.yaml'), yaml);
    return (await loadReceiverConfig({ cwd, env: {} })).config;
  };
  expect(await read('webhook:\n  port: 1\n')).toMatchObject({ webhook: { port: 1 }, store: { pool_size: 10 } });
  expect((await read(minimal)).source?.base_url).toBe('https://api.example.com');
  await expect(read('webhok: {}\n')).rejects.toThrow('did you mean webhook?');
  await expect(read('source:\n  list: {}\n')).rejects.toThrow('source.base_url is required');
  const proxies = (entry: string) => read(`webhook:\n  trusted_proxies: [${entry}]\n`);
  expect((await proxies('10.0.0.0/8, "2001:db8::/32", 203.0.113.7')).webhook.trusted_proxies).toHaveLength(3);
  for (const wrong of ['10.0.0.0/33', 'proxy.example.com', '10.0.0', '10.0.0.1/', '300.1.1.1'])
    await expect(proxies(wrong)).rejects.toThrow(/webhook\.trusted_proxies\[0\] must be an address or a CIDR range/);
});

test('the columns that no configured field may be called are those of calls_wide', () => {
  const columns = marts.find(({ name }) => name === 'calls_wide')?.columns.map(({ name }) => name) ?? [];
  expect([...ownColumns].sort()).toEqual([...columns].sort());
});
