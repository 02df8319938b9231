/** Other tools with their documented settings: each run is one incremental sync. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { cacheFolderOf } from '../../src/local/locate-program.ts';
import type { Service, Shown, steps } from './service.ts';

/** Of one sync. `rows` is the content of the destination after it. */
export interface Synced {
  readonly rows: readonly (readonly [callId: string, shown: Shown])[];
  readonly seconds: number;
  readonly processorSeconds: number;
  readonly megabytes: number;
  /** Exit code, and the last line that looks like a complaint. */
  readonly said: string;
}

export interface Tool {
  readonly name: string;
  readonly settings: string;
  /** @param folder state of the tool between its syncs */
  sync(service: Service, folder: string, step: string): Promise<Synced>;
  /** Steps that only this tool has, behind those of all. */
  readonly lastSteps?: typeof steps;
  close?(): Promise<void>;
}

const ownFolder = resolve(import.meta.dirname, '../../../bench/peers');

/** A Python environment of its own, kept in the cache. @returns the folder of its programs */
const installPython = async (name: string, packages: readonly string[]): Promise<string> => {
  const folder = cacheFolderOf(name, process.env);
  const programs = join(folder, 'bin');
  if (existsSync(join(folder, 'installed'))) return programs;
  process.stderr.write(`Installing ${packages.join(', ')}, once: about a minute.\n`);
  await runProgram('python3.11', ['-m', 'venv', folder]);
  await runProgram(join(programs, 'pip'), ['install', '--quiet', ...packages]);
  await writeFile(join(folder, 'installed'), '');
  return programs;
};

const runProgram = async (program: string, args: readonly string[], input = '') => {
  const env = {
    PATH: process.env.PATH,
    HOME: process.env.HOME,
    DLT_TELEMETRY: '0',
    RUNTIME__DLTHUB_TELEMETRY: 'false',
  };
  const child = spawn(program, args, { env, stdio: ['pipe', 'pipe', 'pipe'] });
  let [output, said] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
  child.stdin.on('error', () => undefined).end(input);
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, output, said };
};

const measure = async (program: string, args: readonly string[], input?: string) => {
  const begin = performance.now();
  const ran = await runProgram('python3.11', [join(ownFolder, 'measure.py'), program, ...args], input);
  const lines = ran.said.trimEnd().split('\n');
  const used = JSON.parse(lines.pop() ?? '{}') as { readonly processor: number; readonly megabytes: number };
  const complaint = [...lines, ...ran.output.split('\n')].findLast((line) => /\b(warn|error|fatal)/i.test(line));
  return {
    output: ran.output,
    seconds: (performance.now() - begin) / 1000,
    processorSeconds: used.processor,
    megabytes: used.megabytes,
    said: `exit ${ran.code}${ran.code === 0 ? '' : `: ${complaint?.slice(0, 300)}`}`,
  };
};

const addressesOf = ({ url, tokenUrl, clientId, clientSecret, range }: Service) => ({
  base_url: url,
  token_url: tokenUrl,
  client_id: clientId,
  client_secret: clientSecret,
  start: range.from.replace(/\.\d+Z$/, 'Z'),
});

type Message = {
  readonly type: string;
  readonly record?: Row | { readonly data: Row };
  readonly state?: unknown;
  readonly value?: unknown;
};
type Row = Shown & { readonly unique_id: string };

/** Messages of a run, as Airbyte and Singer write them: one JSON object a line. */
const messagesOf = (output: string): readonly Message[] =>
  output.split('\n').flatMap((line) => (line.startsWith('{') ? [JSON.parse(line) as Message] : []));

const readJson = async <T>(path: string, otherwise: T): Promise<T> =>
  existsSync(path) ? (JSON.parse(await readFile(path, 'utf8')) as T) : otherwise;

/** A destination that replaces rows by key, as these tools' destinations do. */
const upsert = async (folder: string, rows: readonly Row[]): Promise<Synced['rows']> => {
  const path = join(folder, 'rows.json');
  const kept = new Map(await readJson<[string, Shown][]>(path, []));
  for (const { unique_id, status, campaign } of rows) kept.set(unique_id, { status, campaign });
  await writeFile(path, JSON.stringify([...kept]));
  return [...kept];
};

/** Time by which a tool asks for new calls. */
type Cursor = 'qualified' | 'timestamp';

const airbyteVersion = '7.39.1';

/** @param lookback as Airbyte writes it: P0D, P1D */
const airbyte = (cursor: Cursor, lookback: string): Tool => ({
  name: `airbyte-cdk ${airbyteVersion}`,
  settings: `declarative manifest, OffsetIncrement, DatetimeBasedCursor over ${cursor}, lookback ${lookback}`,
  async sync(service, folder) {
    const programs = await installPython(`peers-airbyte-${airbyteVersion}`, [`airbyte-cdk==${airbyteVersion}`]);
    const { parse } = await import('yaml');
    const manifest: unknown = parse(await readFile(join(ownFolder, 'airbyte.yaml'), 'utf8'));
    const paths = {
      config: join(folder, 'config.json'),
      catalog: join(folder, 'catalog.json'),
      state: join(folder, 'state.json'),
    };
    const config = { ...addressesOf(service), cursor, lookback, __injected_declarative_manifest: manifest };
    const stream = {
      name: 'calls',
      json_schema: {},
      supported_sync_modes: ['full_refresh', 'incremental'],
      source_defined_cursor: true,
    };
    const configured = {
      stream,
      sync_mode: 'incremental',
      destination_sync_mode: 'append_dedup',
      cursor_field: [cursor],
      primary_key: [['unique_id']],
    };
    await writeFile(paths.config, JSON.stringify(config), { mode: 0o600 });
    await writeFile(paths.catalog, JSON.stringify({ streams: [configured] }));
    const state = existsSync(paths.state) ? ['--state', paths.state] : [];
    const args = ['read', '--config', paths.config, '--catalog', paths.catalog, ...state];
    const { output, ...measured } = await measure(join(programs, 'source-declarative-manifest'), args);
    const messages = messagesOf(output);
    const last = messages.findLast(({ type }) => type === 'STATE')?.state;
    if (last !== undefined) await writeFile(paths.state, JSON.stringify([last]));
    const rows = messages.flatMap(({ type, record }) => (type === 'RECORD' ? [(record as { data: Row }).data] : []));
    return { ...measured, rows: await upsert(folder, rows) };
  },
});

const dltVersion = '1.31.0';

/** @param lag seconds; undefined = every run reads and replaces all calls */
const dlt = (cursor: Cursor, lag?: number): Tool => ({
  name: `dlt ${dltVersion}`,
  settings: `rest_api, offset paginator, ${lag === undefined ? 'replace in' : 'merge into'} DuckDB, ${
    lag === undefined ? `every run reads all, by ${cursor}` : `cursor ${cursor}, lag ${lag} s`
  }`,
  async sync(service, folder) {
    const programs = await installPython(`peers-dlt-${dltVersion}`, [`dlt[duckdb]==${dltVersion}`]);
    const settings = JSON.stringify({ ...addressesOf(service), cursor, lag: lag ?? null, folder });
    const { output, ...measured } = await measure(join(programs, 'python'), [join(ownFolder, 'dlt_peer.py')], settings);
    const rows = output.split('\n').flatMap((line) => (line.startsWith('[') ? [JSON.parse(line) as string[]] : []));
    return {
      ...measured,
      rows: rows.map(([callId = '', status = '', campaign = '']) => [callId, { status, campaign }]),
    };
  },
});

const tapVersion = '1.4.2';

const meltano = (cursor: Cursor): Tool => ({
  name: `tap-rest-api-msdk ${tapVersion}`,
  settings: `simple_offset_paginator, replication key ${cursor}, upsert by key`,
  async sync(service, folder) {
    const programs = await installPython(`peers-tap-${tapVersion}`, [`tap-rest-api-msdk==${tapVersion}`]);
    const { base_url, token_url, client_id, client_secret, start } = addressesOf(service);
    const paths = { config: join(folder, 'config.json'), state: join(folder, 'state.json') };
    const config = {
      api_url: base_url,
      ...{
        auth_method: 'oauth',
        grant_type: 'client_credentials',
        access_token_url: token_url,
        client_id,
        client_secret,
      },
      pagination_request_style: 'simple_offset_paginator',
      pagination_response_style: 'offset',
      pagination_page_size: 200,
      pagination_initial_offset: 0,
      pagination_next_page_param: 'offset',
      pagination_limit_per_page_param: 'limit',
      offset_records_jsonpath: '$.data',
      streams: [
        {
          name: 'calls',
          path: '/calls',
          params: { order: cursor },
          primary_keys: ['unique_id'],
          records_path: '$.data[*]',
          replication_key: cursor,
          start_date: start,
          source_search_field: `${cursor}_from`,
          source_search_query: '$last_run_date',
        },
      ],
    };
    await writeFile(paths.config, JSON.stringify(config), { mode: 0o600 });
    const state = existsSync(paths.state) ? ['--state', paths.state] : [];
    const { output, ...measured } = await measure(join(programs, 'tap-rest-api-msdk'), [
      '--config',
      paths.config,
      ...state,
    ]);
    const messages = messagesOf(output);
    const last = messages.findLast(({ type }) => type === 'STATE')?.value;
    if (last !== undefined) await writeFile(paths.state, JSON.stringify(last));
    const rows = messages.flatMap(({ type, record }) => (type === 'RECORD' ? [record as Row] : []));
    return { ...measured, rows: await upsert(folder, rows) };
  },
});

export const peers: readonly Tool[] = [
  airbyte('qualified', 'P0D'),
  airbyte('timestamp', 'P1D'),
  dlt('qualified', 0),
  dlt('timestamp', 86_400),
  dlt('timestamp'),
  meltano('qualified'),
];
