/**
 * Measures the cost of hostile clients of the status page for the receiver in the same process. Options: --json FILE,
 * --rounds N, --seconds N, --connections N. Each round takes three short turns, every second round in reverse. In
 * `calm`, nobody looks. In `elsewhere`, the clients attack the same page in a process of its own, which shows their
 * cost for this machine anyway. In `hostile`, they attack the page of the receiver's process. A turn sends deliveries
 * as fast as they are acknowledged, then 100 a second. Ratios are taken within a round, so that other load of the
 * machine hits both sides. The bench prints their median with the least and the greatest. About 3 minutes.
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
  lasting,
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
    rounds: { type: 'string', default: '7' },
    seconds: { type: 'string', default: '2' },
    connections: { type: 'string', default: '64' },
  },
});
const secret = 'bench-signing-secret';
const seconds = Number(flags.seconds);
const modes = ['calm', 'elsewhere', 'hostile'] as const;
type Mode = (typeof modes)[number];

interface Turn {
  /** As fast as deliveries were acknowledged, and 100 a second. */
  readonly full: LoadResult;
  readonly paced: LoadResult;
}
type Round = Readonly<Record<Mode, Turn>>;

interface Attack {
  /** How its connections ended, in words. */
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

const figures: Readonly<Record<string, (turn: Turn) => number>> = {
  'acknowledged a second': ({ full }) => full.perSecond,
  'p50 at full speed': ({ full }) => full.p50Ms,
  'p99 at full speed': ({ full }) => full.p99Ms,
  'p50 at 100 a second': ({ paced }) => paced.p50Ms,
  'p99 at 100 a second': ({ paced }) => paced.p99Ms,
};

interface Ratio {
  readonly median: number;
  readonly least: number;
  readonly greatest: number;
}

/** Of the hostile turn to another one of the same round. */
const ratioTo = (rounds: readonly Round[], mode: Mode, figure: (turn: Turn) => number): Ratio => {
  const ratios = rounds.map((round) => figure(round.hostile) / figure(round[mode]));
  return {
    median: round2(median(ratios)),
    least: round2(Math.min(...ratios)),
    greatest: round2(Math.max(...ratios)),
  };
};

const showRatio = ({ median: middle, least, greatest }: Ratio): string =>
  `${middle.toFixed(2)} (${least.toFixed(2)}-${greatest.toFixed(2)})`.padEnd(20);

const summarize = (rounds: readonly Round[]) => {
  const turns = rounds.flatMap((round) => modes.map((mode) => round[mode]));
  return {
    rounds: rounds.length,
    figures: Object.entries(figures).map(([name, figure]) => ({
      name,
      ...Object.fromEntries(modes.map((mode) => [mode, round2(median(rounds.map((round) => figure(round[mode]))))])),
      to_calm: ratioTo(rounds, 'calm', figure),
      to_elsewhere: ratioTo(rounds, 'elsewhere', figure),
    })),
    answers: [...new Set(turns.flatMap(({ full, paced }) => [full, paced]).flatMap((one) => Object.keys(one.answers)))],
  };
};

const { folder, postgresUrl, close } = await openServers();
const store = await openStore({ url: postgresUrl });
const servers: BenchServer[] = [];
try {
  const page = await startBenchServer('page', postgresUrl);
  servers.push(page);
  const durable = await startBenchServer('durable', postgresUrl, join(folder, 'spool'), secret);
  servers.push(durable);
  const order = { host: '127.0.0.1', port: durable.port, path: '/webhook', secret, ...lasting(seconds) };
  const connections = Number(flags.connections);
  const targets: Readonly<Record<Mode, string | undefined>> = {
    calm: undefined,
    elsewhere: page.operations,
    hostile: durable.operations,
  };
  const takeTurn = async (mode: Mode): Promise<Turn> => {
    const target = targets[mode];
    const clients = target === undefined ? undefined : attack(target);
    const full = await measureLoad({ ...order, connections });
    showLoad(mode, full);
    const paced = await measureLoad({ ...order, connections: 10, rate: 100 });
    showLoad('  100 a s', paced);
    if (clients !== undefined) console.log(`          clients ${await clients.end()}`);
    await store.pool.query('TRUNCATE inbox');
    await store.pool.query('CHECKPOINT');
    return { full, paced };
  };
  console.log('warming up');
  await takeTurn('calm');
  const rounds: Round[] = [];
  for (let count = 0; count < Number(flags.rounds); count += 1) {
    const calmFirst = count % 2 === 0;
    const first = await takeTurn(calmFirst ? 'calm' : 'hostile');
    const elsewhere = await takeTurn('elsewhere');
    const last = await takeTurn(calmFirst ? 'hostile' : 'calm');
    rounds.push({ elsewhere, ...(calmFirst ? { calm: first, hostile: last } : { calm: last, hostile: first }) });
  }
  const summary = summarize(rounds);
  console.log(`\nmedians of ${summary.rounds} rounds; ratios with the least and the greatest of a round`);
  console.log(`${''.padEnd(24)}${'hostile / calm'.padEnd(20)}  hostile / elsewhere`);
  for (const { name, to_calm, to_elsewhere } of summary.figures)
    console.log(`${name.padEnd(24)}${showRatio(to_calm)}  ${showRatio(to_elsewhere)}`);
  console.log(`answers ${summary.answers.join(', ')}`);
  if (flags.json !== undefined) await writeFile(flags.json, `${JSON.stringify(summary, null, 2)}\n`);
} finally {
  for (const server of servers) await server.stop();
  await store.close();
  await close();
}
