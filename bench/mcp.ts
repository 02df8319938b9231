/**
 * Assistants: what a tool call costs beyond its SQL, over both transports, on PostgreSQL with 2,000 calls. Prints medians of
 * alternating runs, and processor time, which other work on the machine changes less. The limit is 20 ms. About 30 seconds.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import pg from 'pg';
import { stringify } from 'yaml';
import { analyticsConfigSchema } from '../schemas/config/analytics.ts';
import { flattenCall } from '../src/calls/flatten.ts';
import { martSettings } from '../src/marts/mart.ts';
import { renderViews } from '../src/marts/render-views.ts';
import { openStore } from '../src/store/store.ts';
import { postgresWarehouseSchema } from '../src/warehouse/postgres/config.ts';
import { postgres } from '../src/warehouse/postgres/index.ts';
import { createPostgresWarehouse } from '../src/warehouse/postgres/warehouse.ts';
import { createDatabase } from './load/create-database.ts';
import { openServers } from './load/open-servers.ts';
import { readProcessorTime } from './load/processor.ts';

const { values } = parseArgs({
  options: {
    calls: { type: 'string', default: '2000' },
    runs: { type: 'string', default: '40' },
    json: { type: 'boolean', default: false },
  },
});
const limitMs = 20;
const program = join(import.meta.dirname, '../src/cli/main.js');
const questions: Readonly<Record<string, string>> = {
  'calls by campaign': 'SELECT campaign, count(*) AS calls FROM calls.calls GROUP BY campaign ORDER BY campaign',
  'agents by day': 'SELECT business_day, agent, calls FROM calls_marts.agent_daily ORDER BY 1, 2 LIMIT 100',
};

const fill = async (url: string): Promise<void> => {
  const config = postgresWarehouseSchema.parse({ type: 'postgres' });
  const warehouse = createPostgresWarehouse({ name: 'postgres', url, config });
  await warehouse.migrate();
  const calls = Array.from({ length: Number(values.calls) }, (_, index) => {
    const callId = `call-${index}`;
    const timestamp = new Date(Date.parse('2026-01-01T00:00:00Z') + index * 600_000).toISOString();
    const document = { unique_id: callId, timestamp, campaign: `c${index % 7}`, metadata: { Agent: `a${index % 20}` } };
    const flat = flattenCall({ callId, document, firstSeenAt: null, changedAt: null, sourceDeletedAt: null });
    const { callTimestamp, rows } = flat;
    return { callId, revision: 1, callTimestamp, flatten: () => rows, partitions: [], changes: [] };
  });
  const load = { epoch: 1, flattenVersion: 1, origin: 'bench', tombstones: [], logs: {}, keyOf: (id: string) => id };
  await warehouse.load({ ...load, loadId: 'bench', calls });
  const place = postgres.place(config);
  await warehouse.marts.ensure(place.marts, renderViews(place, martSettings(analyticsConfigSchema.parse({}))));
  await warehouse.query('ANALYZE').catch(() => undefined);
  await warehouse.close();
  await (await openStore({ url })).close();
};

const serveHttp = async (args: readonly string[]): Promise<{ readonly child: ChildProcess; readonly url: URL }> => {
  const child = spawn(process.execPath, [...args, '--http', '0'], { stdio: ['ignore', 'ignore', 'pipe'] });
  for (let said = ''; ; ) {
    const [chunk] = await once(child.stderr, 'data');
    said += chunk;
    const url = /https?:\S+\/mcp/.exec(said)?.[0];
    if (url !== undefined) return { child, url: new URL(url) };
  }
};

const timed = async (work: () => Promise<unknown>): Promise<number> => {
  const begun = performance.now();
  await work();
  return performance.now() - begun;
};
const runs = Number(values.runs);
/** Milliseconds of processor time of callsync and PostgreSQL that one run takes. */
const processorMs = async (callsync: number, work: () => Promise<unknown>): Promise<number> => {
  const read = (): number => {
    const {
      worker_main,
      worker_threads,
      postgres: server,
    } = readProcessorTime({
      worker: callsync,
      postgres: servers.postgresPid,
    });
    return worker_main + worker_threads + server;
  };
  const before = read();
  for (let run = 0; run < runs; run += 1) await work();
  return ((read() - before) * 1_000) / runs;
};
const medianOf = (all: readonly number[]): number => [...all].sort((a, b) => a - b)[Math.floor(all.length / 2)] ?? 0;

const servers = await openServers();
const { url } = await createDatabase(servers.postgresUrl, 'bench_mcp');
await fill(url);
const config = join(servers.folder, 'callsync.yaml');
const source = { base_url: 'http://127.0.0.1:1', client_id: 'a', client_secret: 'b' };
await writeFile(config, stringify({ source, store: { url, data_dir: servers.folder }, webhook: { enabled: false } }), {
  mode: 0o600,
});
const args = [program, 'mcp', '--config', config, '--transcripts'];
const http = await serveHttp(args);
const sql = new pg.Client({ connectionString: url });
await sql.connect();
const figures: Readonly<
  Record<'question' | 'transport', string> & Record<'sql_ms' | 'tool_ms' | 'beyond_ms' | 'processor_beyond_ms', number>
>[] = [];
const overStdio = new StdioClientTransport({ command: process.execPath, args, stderr: 'ignore' });
for (const [transport, connection] of [
  ['stdio', overStdio],
  ['http', new StreamableHTTPClientTransport(http.url)],
] as const) {
  const client = new Client({ name: 'bench', version: '1' });
  await client.connect(connection);
  for (const [question, text] of Object.entries(questions)) {
    const ask = async (): Promise<void> => {
      const { isError, content } = await client.callTool({ name: 'query', arguments: { sql: text } });
      if (isError === true) throw new Error(JSON.stringify(content));
    };
    await ask();
    const times = { sql: [] as number[], tool: [] as number[] };
    for (let run = 0; run < runs; run += 1) {
      times.sql.push(await timed(() => sql.query(text)));
      times.tool.push(await timed(ask));
    }
    const [own, tool] = [medianOf(times.sql), medianOf(times.tool)];
    const tenth = (ms: number): number => Number(ms.toFixed(1));
    const pid = (transport === 'stdio' ? overStdio.pid : http.child.pid) ?? 0;
    const processor = (await processorMs(pid, ask)) - (await processorMs(pid, () => sql.query(text)));
    figures.push({
      ...{ question, transport, sql_ms: tenth(own), tool_ms: tenth(tool), beyond_ms: tenth(tool - own) },
      processor_beyond_ms: tenth(processor),
    });
  }
  await client.close();
}
await sql.end();
http.child.kill('SIGKILL');
await servers.close();
const worst = Math.max(...figures.map(({ beyond_ms }) => beyond_ms));
if (values.json) process.stdout.write(`${JSON.stringify({ figures, worst, limit: limitMs })}\n`);
else {
  for (const { question, transport, sql_ms, tool_ms, beyond_ms, processor_beyond_ms } of figures)
    process.stdout.write(
      `${question.padEnd(20)} ${transport.padEnd(6)} SQL ${sql_ms} ms  tool ${tool_ms} ms  beyond ${beyond_ms} ms  processor ${processor_beyond_ms} ms\n`,
    );
}
process.exitCode = worst > limitMs ? 1 : 0;
