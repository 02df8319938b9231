/** Programs of others that read what callsync writes: files, tables, answers and metrics, value for value. */
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { type Column, columnsOf, tables, wordsView } from '../../schemas/tables.ts';
import { demoAnalytics } from '../../src/simulator/demo/simulator-process.ts';
import { readDemoCalls } from '../marts/two-warehouses.ts';
import { promtool, seriesOf } from '../operations/support/prometheus.ts';
import { endProcess, install } from '../support/installation.ts';
import { recordCase } from '../support/neighbour-results.ts';
import { useOpened } from '../support/opened.ts';
import { connect } from '../support/postgres.ts';
import { program, startProgram } from '../support/program.ts';
import { read } from '../support/repository.ts';
import { installDebian, installNode, installPython, run } from '../support/tools.ts';

const own = resolve(import.meta.dirname);
const columns = Object.fromEntries([...tables, wordsView].map((one) => [one.name, columnsOf(one)]));

/** Values that readers are known to change: exact and long numbers, quotes, other scripts, and times far away. */
const odd = [
  {
    timestamp: '1969-12-31T23:59:59.999Z',
    duration: '61.25',
    metadata: { Agent: 'Zoë “é” \u2028', N: '12345678901234567890.5' },
  },
  { timestamp: '2024-02-29T12:00:00.000001Z', duration: 'long', metadata: { UDF_num_01: '0.10', UDF_num_02: '-0' } },
  { timestamp: '9999-12-31T23:59:59Z', duration: '1e3', in: { data: '+1 555 0100', type: 'PHONE', label: '名前' } },
  {
    timestamp: 'yesterday',
    duration: '',
    tags: [
      { unique_id: 't', value: false },
      { unique_id: 'u', value: 1.5 },
    ],
  },
].map((one, index) => ({ unique_id: `odd-${index}`, status: 'qualified', visit: { depth: [1, null] }, ...one }));

const openSite = async () => {
  const site = await install({
    simulator: { calls: { count: 1 } },
    config: {
      analytics: demoAnalytics,
      operations: { listen: '127.0.0.1', port: 0 },
      webhook: { allow_unsigned: true, listen: '127.0.0.1', port: 0 },
    },
  });
  const { documents } = await readDemoCalls(60);
  const calls = [...documents, ...odd];
  const write = async (name: string, text: string): Promise<string> => {
    await writeFile(join(site.folder, name), text);
    return join(site.folder, name);
  };
  /** Runs the command to its end. @returns what it reports */
  const callsync = async (...args: string[]): Promise<unknown> => {
    const { first, ended } = startProgram([...args, '--config', site.configPath, '--json'], { cwd: site.folder });
    const report = await first();
    expect(await ended, JSON.stringify(report)).toBe(0);
    return report;
  };
  const file = await write('calls.ndjson', calls.map((one) => JSON.stringify(one)).join('\n'));
  await callsync('import', file, '--observed-at', '2026-01-05T00:00:00Z');
  await site.startWorker();
  await callsync('warehouse', 'fill', 'postgres');
  return { ...site, write, callsync, calls: calls.length };
};

type Row = Readonly<Record<string, unknown>>;

/** As PostgreSQL has it and as a file has it: times as microseconds, JSON and exact decimals by their value. */
const toPlain = ({ type }: Column, value: unknown): unknown => {
  if (value === null || value === undefined) return null;
  if (type === 'json') return JSON.parse(String(value));
  return type === 'timestamp' || type === 'int' || type === 'float' || type === 'decimal' ? Number(value) : value;
};
const selectOf = ({ name, type }: Column): string => {
  if (type === 'json') return `${name}::text AS ${name}`;
  return type === 'timestamp' ? `(extract(epoch FROM ${name}) * 1000000)::bigint AS ${name}` : name;
};

const sorted = (rows: readonly Row[], kept: readonly Column[]): readonly string[] =>
  rows.map((row) => JSON.stringify(kept.map((column) => [column.name, toPlain(column, row[column.name])]))).sort();

export const describeReaders = (): void => {
  const site = useOpened(openSite, ({ dispose }) => dispose(), 600_000);
  const python = async (name: string, packages: readonly string[], version?: string) =>
    join(await installPython(name, packages, version), 'python');
  const linesOf = (said: string) =>
    said
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
  /** Of tables that an export has. */
  const rowsOf = async (table: string, kept: readonly Column[]): Promise<readonly string[]> => {
    const client = await connect(site.databaseUrl);
    const { rows } = await client.query(`SELECT ${kept.map(selectOf).join(', ')} FROM calls.${table}`);
    await client.end();
    return sorted(rows, kept);
  };

  test('Parquet: pyarrow, polars, DuckDB and pandas have the values of the warehouse', async () => {
    const packages = ['pyarrow==26.0.1', 'polars==2.1.0', 'duckdb==2.0.1', 'pandas==3.1.1'];
    recordCase('Parquet readers', packages.map((one) => one.replace('==', ' ')).join(', '));
    const bin = await python('readers-parquet-26.0.1', packages);
    await site.callsync('export', 'parquet', '--format', 'parquet');
    const said = linesOf(await run(`"${bin}" "${own}/read_parquet.py" "${site.folder}/parquet"`));
    expect(said.length).toBe(4 * 8);
    for (const { reader, table, rows } of said as { reader: string; table: string; rows: Row[] }[]) {
      const names = Object.keys(rows[0] ?? {});
      const kept = (columns[table] ?? []).filter(({ name }) => names.includes(name));
      expect(kept.length, table).toBe(names.length);
      const [found, expected] = [sorted(rows, kept), await rowsOf(table, kept)];
      // The first row alone: a difference of all is long.
      const at = expected.findIndex((row, index) => row !== found[index]);
      expect(JSON.parse(found[at] ?? '[]'), `${reader}, ${table}`).toEqual(JSON.parse(expected[at] ?? '[]'));
      expect(found.length, `${reader}, ${table}`).toBe(expected.length);
    }
  });

  test('vCon: the library calls each file valid, and writes what it read', async () => {
    recordCase('vCon library', '0.10.0');
    const bin = await python('readers-vcon-0.10.0', ['vcon==0.10.0'], '3.12');
    await site.callsync('export', 'vcon', '--format', 'vcon');
    const folder = join(site.folder, 'vcon');
    const said = linesOf(await run(`"${bin}" "${own}/read_vcon.py" "${folder}"`));
    expect(said.length).toBe(site.calls);
    for (const { file, valid, problems, read: found } of said) {
      expect({ valid, problems }, file).toEqual({ valid: true, problems: [] });
      const written = JSON.parse(await readFile(join(folder, file), 'utf8'));
      const instant = (_: string, value: unknown) =>
        typeof value === 'string' && /^\d{4}-\d\d-\d\dT/.test(value) ? new Date(value).toISOString() : value;
      expect(JSON.parse(JSON.stringify(found), instant), file).toMatchObject(
        JSON.parse(JSON.stringify(written), instant),
      );
    }
  });

  test('data contract: its checker accepts the contract, and every check of the tables passes', async () => {
    recordCase('datacontract-cli', '1.2.8');
    const bin = await installPython('readers-contract-1.2.8', ['datacontract-cli[postgres]==1.2.8']);
    const { hostname, port, pathname, username, password } = new URL(site.databaseUrl);
    const server = { server: 'here', type: 'postgres', host: hostname, port: Number(port), schema: 'calls' };
    const contract = {
      ...parse(read('docs/datacontract.yaml')),
      servers: [{ ...server, database: pathname.slice(1) }],
    };
    const file = await site.write('contract.yaml', stringify(contract));
    const user = { DATACONTRACT_POSTGRES_USERNAME: username, DATACONTRACT_POSTGRES_PASSWORD: password };
    const env = { ...process.env, ...user };
    expect(await run(`"${bin}/datacontract" lint "${file}"`, { env })).toContain('is valid');
    const results = join(site.folder, 'results.xml');
    await run(`"${bin}/datacontract" test --output "${results}" --output-format junit "${file}"`, { env });
    const counts = /tests="(\d+)"[^>]*failures="(\d+)"[^>]*/.exec(await readFile(results, 'utf8'));
    expect(Number(counts?.[1])).toBeGreaterThan(300);
    expect(counts?.[2]).toBe('0');
  });

  test('MCP: the snippets of three clients list the tools and read the rows of a query', async () => {
    recordCase('MCP clients', 'mcp 2.3.0, fastmcp 4.2.3, inspector 2.12.0');
    const [, packages = ''] = /pip install (.*)/.exec(read('examples/mcp-clients/README.md')) ?? [];
    const bin = await installPython('readers-mcp-2.3.0', packages.split(' '));
    const shim = await site.write('callsync', `#!/bin/sh\nexec ${process.execPath} ${program} "$@"\n`);
    await chmod(shim, 0o755);
    const PATH = `${dirname(shim)}:${await installNode(24)}:${bin}:${process.env.PATH}`;
    const snippets = resolve(own, '../../examples/mcp-clients');
    for (const command of ['python by_sdk.py', 'python by_fastmcp.py', 'sh by_inspector.sh']) {
      const said = await run(`${command} '${site.configPath}'`, { cwd: snippets, env: { ...process.env, PATH } });
      for (const tool of ['completeness', 'describe_tables', 'query']) expect(said, command).toContain(tool);
      expect(said.replaceAll('\\', ''), command).toContain(`"rows":[{"calls":${site.calls}}]`);
    }
  });

  test('Prometheus: promtool and the library for Python read every series of a scrape', async () => {
    recordCase('Prometheus', 'promtool 2.42, prometheus-client 0.26.0');
    await installDebian({ prometheus: '/usr/bin/promtool' });
    const bin = await python('readers-prometheus-0.26.0', ['prometheus-client==0.26.0']);
    const serving = startProgram(['serve', '--config', site.configPath, '--json']);
    onTestFinished(() => endProcess(serving.child, 'SIGKILL'));
    const started = (await serving.first()) as { readonly operations: string };
    const scrape = await (await fetch(`${started.operations}/metrics`)).text();
    const file = await site.write('scrape', scrape);
    const script = `import json, sys
from prometheus_client.parser import text_string_to_metric_families as read
samples = [sample for family in read(open(sys.argv[1]).read()) for sample in family.samples]
print(json.dumps([[sample.name, sample.labels, sample.value] for sample in samples]))`;
    await mkdir(join(site.folder, 'scripts'), { recursive: true });
    const path = join(site.folder, 'scripts/scrape.py');
    await writeFile(path, script);
    const samples = JSON.parse((await run(`"${bin}" "${path}" "${file}"`)).replaceAll('NaN', 'null'));
    const series = seriesOf(scrape);
    expect(samples.length).toBe(series.size);
    expect(samples.length).toBeGreaterThan(50);
    const total = (values: readonly number[]) => values.reduce((sum, value) => sum + (value || 0), 0);
    expect(total(samples.map(([, , value]: [string, object, number]) => value))).toBeCloseTo(
      total([...series.values()]),
      3,
    );
    expect(promtool(['check', 'metrics'], scrape)).toEqual({ code: 0, said: '' });
  });
};
