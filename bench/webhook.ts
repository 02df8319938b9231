/**
 * Deliveries a second that the receiver acknowledges once they are committed. Options: --json FILE, --rounds N,
 * --seconds N, --connections N. It takes turns with two fastify routes on the same bytes that verify and store
 * nothing: `bare` is fastify as it comes, `raw` has the raw-bytes parser that the receiver has. Then, with the whole of
 * `callsync up`, the time from an answer to the call's row in the warehouse. About 3 minutes.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { parseArgs } from 'node:util';
import { startEmbeddedPostgres } from '../src/local/postgres/embedded-postgres.ts';
import { openStore } from '../src/store/store.ts';
import type { LoadOrder, LoadResult } from './webhook/load.ts';
import { measureVisibility } from './webhook/visible.ts';

const { values: flags } = parseArgs({
  options: {
    json: { type: 'string' },
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '5' },
    connections: { type: 'string', default: '64' },
  },
});
const secret = 'bench-signing-secret';

interface Server {
  readonly port: number;
  stop(): Promise<void>;
}

const startServer = async (...args: readonly string[]): Promise<Server> => {
  const child = run('server', args);
  const [line] = (await once(createInterface({ input: child.stdout as NodeJS.ReadableStream }), 'line')) as [string];
  return {
    port: (JSON.parse(line) as { port: number }).port,
    async stop() {
      const ended = once(child, 'exit');
      child.stdin?.end();
      await ended;
    },
  };
};

const load = async (order: LoadOrder): Promise<LoadResult> => {
  const child = run('load', []);
  child.stdin?.end(JSON.stringify(order));
  return JSON.parse(await text(child.stdout as NodeJS.ReadableStream)) as LoadResult;
};

const run = (name: string, args: readonly string[]): ChildProcess => {
  const path = join(import.meta.dirname, 'webhook', `${name}.js`);
  return spawn(process.execPath, [path, ...args], { stdio: ['pipe', 'pipe', 'inherit'] });
};

const median = (numbers: readonly number[]): number => {
  const sorted = [...numbers].sort((left, right) => left - right);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
};

const show = (name: string, result: LoadResult) =>
  console.log(
    `${name.padEnd(8)} ${result.perSecond.toFixed(0).padStart(6)}/s  p50 ${result.p50Ms.toFixed(1)} ms  ` +
      `p99 ${result.p99Ms.toFixed(1)} ms  answers ${JSON.stringify(result.answers)}`,
  );

const folder = await mkdtemp(join(tmpdir(), 'callsync-bench-webhook-'));
// PostgreSQL may run as another account, which has to get through.
await chmod(folder, 0o711);
const postgres = await startEmbeddedPostgres({ dataDir: join(folder, 'postgres') });
const store = await openStore({ url: postgres.url });
const servers: Server[] = [];
try {
  const bare = await startServer('bare');
  servers.push(bare);
  const raw = await startServer('raw');
  servers.push(raw);
  const durable = await startServer('durable', postgres.url, join(folder, 'spool'), secret);
  servers.push(durable);
  const order = {
    host: '127.0.0.1',
    path: '/webhook',
    secret,
    connections: Number(flags.connections),
    warmUpSeconds: 1,
    seconds: Number(flags.seconds),
  };
  const results: Record<'bare' | 'raw' | 'durable', LoadResult[]> = { bare: [], raw: [], durable: [] };
  for (let round = 0; round < Number(flags.rounds); round += 1) {
    for (const [name, server] of [['bare', bare] as const, ['raw', raw] as const, ['durable', durable] as const]) {
      const result = await load({ ...order, port: server.port });
      show(name, result);
      results[name].push(result);
    }
    const { rows } = await store.pool.query<{ spooled: number }>(
      'SELECT count(*) FILTER (WHERE spooled)::int AS spooled FROM inbox',
    );
    if (rows[0]?.spooled) console.log(`spooled ${rows[0].spooled}`);
    await store.pool.query('TRUNCATE inbox');
    await store.pool.query('CHECKPOINT');
  }
  const paced = await load({ ...order, port: durable.port, rate: 50, connections: 10 });
  show('50 a s', paced);
  await store.pool.query('TRUNCATE inbox');
  const visible = await measureVisibility({ url: postgres.url, folder, seconds: Number(flags.seconds) * 2 });
  console.log(
    `visible  p50 ${visible.p50Seconds.toFixed(2)} s  p95 ${visible.p95Seconds.toFixed(2)} s after the answer`,
  );
  const speed = (name: keyof typeof results) => median(results[name].map((one) => one.perSecond));
  const summary = {
    ratio_to_bare: round2(speed('durable') / speed('bare')),
    ratio_to_raw: round2(speed('durable') / speed('raw')),
    per_second: Math.round(speed('durable')),
    bare_per_second: Math.round(speed('bare')),
    raw_per_second: Math.round(speed('raw')),
    p50_ms: round2(median(results.durable.map((one) => one.p50Ms))),
    p99_ms: round2(median(results.durable.map((one) => one.p99Ms))),
    paced_p50_ms: round2(paced.p50Ms),
    paced_p99_ms: round2(paced.p99Ms),
    visible_p50_s: round2(visible.p50Seconds),
    visible_p95_s: round2(visible.p95Seconds),
  };
  console.log(summary);
  if (flags.json !== undefined) await writeFile(flags.json, `${JSON.stringify(summary, null, 2)}\n`);
} finally {
  for (const server of servers) await server.stop();
  await store.close();
  await postgres.stop();
  await rm(folder, { recursive: true, force: true });
}

function round2(value: number): number {
  return Math.round(value * 100) / 100;
}
