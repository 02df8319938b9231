/**
 * Deliveries a second that the receiver acknowledges once they are committed. Options: --json FILE, --rounds N,
 * --seconds N, --connections N. It takes turns with two fastify routes on the same bytes that verify and store nothing.
 * `bare` is plain fastify, and `raw` has the raw-bytes parser of the receiver. Then, with the whole of `callsync up`,
 * the time from an answer to the call's row in the warehouse. About 3 minutes.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { openStore } from '../src/store/store.ts';
import { openServers } from './load/open-servers.ts';
import type { LoadResult } from './webhook/load.ts';
import {
  type BenchServer,
  lasting,
  measureLoad,
  median,
  round2,
  showLoad,
  startBenchServer,
} from './webhook/processes.ts';
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

const { folder, postgresUrl, close } = await openServers();
const store = await openStore({ url: postgresUrl });
const servers: BenchServer[] = [];
const empty = async (): Promise<void> => {
  await store.pool.query('TRUNCATE inbox');
  await store.pool.query('CHECKPOINT');
};
try {
  const bare = await startBenchServer('bare');
  servers.push(bare);
  const raw = await startBenchServer('raw');
  servers.push(raw);
  const durable = await startBenchServer('durable', postgresUrl, join(folder, 'spool'), secret);
  servers.push(durable);
  const order = {
    host: '127.0.0.1',
    path: '/webhook',
    secret,
    connections: Number(flags.connections),
    ...lasting(Number(flags.seconds)),
  };
  const results: Record<'bare' | 'raw' | 'durable', LoadResult[]> = { bare: [], raw: [], durable: [] };
  for (let round = 0; round < Number(flags.rounds); round += 1) {
    for (const [name, server] of [['bare', bare] as const, ['raw', raw] as const, ['durable', durable] as const]) {
      const result = await measureLoad({ ...order, port: server.port });
      showLoad(name, result);
      results[name].push(result);
    }
    const { rows } = await store.pool.query<{ spooled: number }>(
      'SELECT count(*) FILTER (WHERE spooled)::int AS spooled FROM inbox',
    );
    if (rows[0]?.spooled) console.log(`spooled ${rows[0].spooled}`);
    await empty();
  }
  const speed = (name: keyof typeof results) => median(results[name].map((one) => one.perSecond));
  const paced: LoadResult[] = [];
  while (paced.length < results.durable.length) {
    const result = await measureLoad({ ...order, port: durable.port, rate: 0.8 * speed('durable') });
    showLoad('at 80 %', result);
    paced.push(result);
    await empty();
  }
  const visible = await measureVisibility({ url: postgresUrl, folder, seconds: Number(flags.seconds) * 2 });
  console.log(
    `visible  p50 ${visible.p50Seconds.toFixed(2)} s  p95 ${visible.p95Seconds.toFixed(2)} s after the answer`,
  );
  const summary = {
    ratio_to_bare: round2(speed('durable') / speed('bare')),
    ratio_to_raw: round2(speed('durable') / speed('raw')),
    per_second: Math.round(speed('durable')),
    bare_per_second: Math.round(speed('bare')),
    raw_per_second: Math.round(speed('raw')),
    p50_ms: round2(median(results.durable.map((one) => one.p50Ms))),
    p99_ms: round2(median(results.durable.map((one) => one.p99Ms))),
    paced_p50_ms: round2(median(paced.map((one) => one.p50Ms))),
    paced_p99_ms: round2(median(paced.map((one) => one.p99Ms))),
    visible_p50_s: round2(visible.p50Seconds),
    visible_p95_s: round2(visible.p95Seconds),
  };
  console.log(summary);
  if (flags.json !== undefined) await writeFile(flags.json, `${JSON.stringify(summary, null, 2)}\n`);
} finally {
  for (const server of servers) await server.stop();
  await store.close();
  await close();
}
