/**
 * Deliveries a second that the receiver acknowledges without privacy rules, with rules of single fields, and with the
 * profile `pseudonymous`, in turns. Also its processor time for each, and the time from an answer to the call's row in
 * the warehouse. About 5 minutes. In one call of four a telephone number is spoken. The first round is not counted, nor
 * are the first three seconds after a start: code is compiled in them. `visible_from_start_ratio` counts them. Options:
 * --rounds N, --seconds N, --connections N, --json FILE, --no-visible (the rates alone).
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { openStore } from '../src/store/store.ts';
import { openServers } from './load/open-servers.ts';
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
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '5' },
    connections: { type: 'string', default: '64' },
    json: { type: 'string' },
    visible: { type: 'boolean', default: true },
  },
  allowNegative: true,
});
const secret = 'bench-signing-secret';
const kinds = ['none', 'fields', 'pseudonymous'] as const;
/** More numbers than the receiver remembers tokens of. */
const different = 1_500;
const visibleRounds = 3;
const { folder, postgresUrl, close } = await openServers();
const store = await openStore({ url: postgresUrl });
const servers: BenchServer[] = [];
try {
  for (const kind of kinds)
    servers.push(await startBenchServer('durable', postgresUrl, join(folder, `spool-${kind}`), secret, kind));
  const rates: Record<(typeof kinds)[number], number[]> = { none: [], fields: [], pseudonymous: [] };
  const costs: Record<(typeof kinds)[number], number[]> = { none: [], fields: [], pseudonymous: [] };
  for (let round = 0; round <= Number(flags.rounds); round += 1) {
    for (const [index, kind] of kinds.entries()) {
      const before = (await servers[index]?.cpuSeconds()) ?? 0;
      const result = await measureLoad({
        host: '127.0.0.1',
        port: servers[index]?.port ?? 0,
        path: '/webhook',
        secret,
        connections: Number(flags.connections),
        ...lasting(Number(flags.seconds)),
        different,
      });
      const { rows } = await store.pool.query<{ n: string }>('SELECT count(*) AS n FROM inbox');
      const usedMs = (((await servers[index]?.cpuSeconds()) ?? 0) - before) * 1_000;
      showLoad(kind, result);
      if (round > 0) {
        rates[kind].push(result.perSecond);
        costs[kind].push(usedMs / Math.max(1, Number(rows[0]?.n)));
      }
      await store.pool.query('TRUNCATE inbox');
      await store.pool.query('CHECKPOINT');
    }
  }
  const ratiosOf = (kind: 'fields' | 'pseudonymous') => rates[kind].map((rate, at) => rate / (rates.none[at] ?? 1));
  const summary: Record<string, number> = {
    none_per_second: Math.round(median(rates.none)),
    fields_per_second: Math.round(median(rates.fields)),
    pseudonymous_per_second: Math.round(median(rates.pseudonymous)),
    fields_ratio: round2(median(ratiosOf('fields'))),
    pseudonymous_ratio: round2(median(ratiosOf('pseudonymous'))),
    none_cpu_ms: round2(median(costs.none)),
    fields_cpu_ms: round2(median(costs.fields)),
    pseudonymous_cpu_ms: round2(median(costs.pseudonymous)),
  };
  if (flags.visible) {
    for (const server of servers.splice(0)) await server.stop();
    const waits: Record<'none' | 'pseudonymous', number[]> = { none: [], pseudonymous: [] };
    const waitsFromStart: typeof waits = { none: [], pseudonymous: [] };
    for (let round = 1; round <= visibleRounds; round += 1) {
      for (const kind of ['none', 'pseudonymous'] as const) {
        const name = `visible_${kind}_${round}`;
        await store.pool.query(`CREATE DATABASE ${name}`);
        const url = new URL(postgresUrl);
        url.pathname = `/${name}`;
        const own = join(folder, name);
        await mkdir(own, { mode: 0o711 });
        const privacy = kind === 'none' ? {} : { privacy: { profile: kind, unreadable: 'drop' } };
        const visible = await measureVisibility({
          url: url.href,
          folder: own,
          seconds: Number(flags.seconds) * 2,
          ...privacy,
        });
        waits[kind].push(visible.p95Seconds);
        waitsFromStart[kind].push(visible.p95FromStartSeconds);
        console.log(
          `${kind}: visible after ${round2(visible.p50Seconds)} s, p95 ${round2(visible.p95Seconds)} s, from the start ${round2(visible.p95FromStartSeconds)} s`,
        );
      }
    }
    for (const kind of ['none', 'pseudonymous'] as const)
      summary[`${kind}_visible_p95_s`] = round2(median(waits[kind]));
    const ratioOf = (measured: typeof waits) =>
      round2(median(measured.pseudonymous.map((wait, at) => wait / (measured.none[at] ?? 1))));
    summary.visible_ratio = ratioOf(waits);
    summary.visible_from_start_ratio = ratioOf(waitsFromStart);
  }
  console.log(summary);
  if (flags.json !== undefined) await writeFile(flags.json, `${JSON.stringify(summary, null, 2)}\n`);
} finally {
  for (const server of servers) await server.stop();
  await store.close();
  await close();
}
