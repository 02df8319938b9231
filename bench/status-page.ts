/**
 * What hostile clients of the status page cost the receiver that shares its process. Options: --json FILE, --rounds N,
 * --seconds N, --connections N. Deliveries as fast as they are acknowledged, and 50 a second, in turns: `calm`, nobody
 * looks; `elsewhere`, the clients attack the same page in a process of its own, which shows what they take of this machine
 * anyway; `hostile`, they attack the page of the receiver's process. About 2 minutes.
 */
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { parseArgs } from 'node:util';
import { openStore } from '../src/store/store.ts';
import { openServers } from './load/open-servers.ts';
import type { LoadResult } from './webhook/load.ts';
import {
  type BenchServer,
  measureLoad,
  median,
  round2,
  runBenchProcess,
  showLoad,
  startBenchServer,
} from './webhook/processes.ts';

const { values: flags } = parseArgs({
  options: {
    json: { type: 'string' },
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '6' },
    connections: { type: 'string', default: '64' },
  },
});
const secret = 'bench-signing-secret';

interface Attack {
  /** What became of its connections, in words. */
  end(): Promise<string>;
}

const attack = (address: string): Attack => {
  const child = runBenchProcess('status-page/hostile', [address]);
  const said = text(child.stdout as NodeJS.ReadableStream);
  return {
    async end() {
      const ended = once(child, 'exit');
      child.stdin?.end();
      await ended;
      return (await said).trim();
    },
  };
};

type Mode = 'calm' | 'elsewhere' | 'hostile';
type Figures = Record<Mode, LoadResult[]>;

const { folder, postgresUrl, close } = await openServers();
const store = await openStore({ url: postgresUrl });
const servers: BenchServer[] = [];
try {
  const page = await startBenchServer('page', postgresUrl);
  servers.push(page);
  const durable = await startBenchServer('durable', postgresUrl, join(folder, 'spool'), secret);
  servers.push(durable);
  const order = { host: '127.0.0.1', port: durable.port, path: '/webhook', secret, warmUpSeconds: 2 };
  const seconds = Number(flags.seconds);
  const fast: Figures = { calm: [], elsewhere: [], hostile: [] };
  const paced: Figures = { calm: [], elsewhere: [], hostile: [] };
  const targets: Readonly<Record<Mode, string | undefined>> = {
    calm: undefined,
    elsewhere: page.operations,
    hostile: durable.operations,
  };
  for (let round = 0; round < Number(flags.rounds); round += 1) {
    for (const [mode, target] of Object.entries(targets) as [Mode, string | undefined][]) {
      const clients = target === undefined ? undefined : attack(target);
      const full = await measureLoad({ ...order, seconds, connections: Number(flags.connections) });
      fast[mode].push(full);
      showLoad(mode, full);
      const slow = await measureLoad({ ...order, seconds, connections: 10, rate: 50 });
      paced[mode].push(slow);
      showLoad(`  50 a s`, slow);
      if (clients !== undefined) console.log(`          clients ${await clients.end()}`);
      await store.pool.query('TRUNCATE inbox');
      await store.pool.query('CHECKPOINT');
    }
  }
  const speed = (mode: Mode) => median(fast[mode].map((one) => one.perSecond));
  const latency = (figures: Figures, mode: Mode, of: 'p50Ms' | 'p99Ms') =>
    round2(median(figures[mode].map((one) => one[of])));
  const answers = [...Object.values(fast), ...Object.values(paced)].flat().flatMap((one) => Object.keys(one.answers));
  const summary = {
    ratio_to_elsewhere: round2(speed('hostile') / speed('elsewhere')),
    ratio_to_calm: round2(speed('hostile') / speed('calm')),
    per_second: Object.fromEntries(Object.keys(targets).map((mode) => [mode, Math.round(speed(mode as Mode))])),
    p99_ms: Object.fromEntries(Object.keys(targets).map((mode) => [mode, latency(fast, mode as Mode, 'p99Ms')])),
    paced_p50_ms: Object.fromEntries(Object.keys(targets).map((mode) => [mode, latency(paced, mode as Mode, 'p50Ms')])),
    paced_p99_ms: Object.fromEntries(Object.keys(targets).map((mode) => [mode, latency(paced, mode as Mode, 'p99Ms')])),
    answers: [...new Set(answers)],
  };
  console.log(summary);
  if (flags.json !== undefined) await writeFile(flags.json, `${JSON.stringify(summary, null, 2)}\n`);
} finally {
  for (const server of servers) await server.stop();
  await store.close();
  await close();
}
