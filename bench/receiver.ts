/**
 * A process of `callsync serve`, in turns with that of another checkout. Prints the processor time of a delivery at full
 * speed, and memory before and at the peak. Both are then paced at 80 % of the slower one's speed, which gives p99. These
 * are medians of the rounds.
 * Options: --beside FOLDER (a built checkout), --rate N (of the pace, a second), --rounds N, --seconds N, --connections N,
 * --json FILE. About 2 minutes.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { stringify } from 'yaml';
import { openServers } from './load/open-servers.ts';
import { lasting, measureLoad, median, round2, showLoad } from './webhook/processes.ts';

const { values: flags } = parseArgs({
  options: {
    beside: { type: 'string' },
    rate: { type: 'string' },
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '5' },
    connections: { type: 'string', default: '64' },
    json: { type: 'string' },
  },
});
const secret = 'bench-signing-secret';
const ticksPerSecond = 100;
const kibPerMegabyte = 1024;

/** Seconds of processor time on all threads, and megabytes now and at the peak. */
const usageOf = ({ pid }: ChildProcess) => {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const megabytes = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1]) / kibPerMegabyte;
  const cpuSeconds = (Number(stat[11]) + Number(stat[12])) / ticksPerSecond;
  return { cpuSeconds, now: megabytes('VmRSS'), peak: megabytes('VmHWM') };
};

const { folder, postgresUrl, close } = await openServers();
const admin = new pg.Client({ connectionString: postgresUrl });
await admin.connect();

/** A receiver with a database of its own. */
const startReceiver = async (name: string, root: string) => {
  await admin.query(`CREATE DATABASE ${name}`);
  const url = new URL(postgresUrl);
  url.pathname = `/${name}`;
  const config = join(folder, `${name}.yaml`);
  const settings = {
    source: { base_url: 'http://127.0.0.1:9', token: 'none' },
    store: { url: url.href },
    webhook: { port: 0, secrets: [{ name: 'bench', secret }], spool: { dir: join(folder, `spool-${name}`) } },
    operations: { port: 0 },
  };
  await writeFile(config, stringify(settings), { mode: 0o600 });
  const main = join(root, 'dist/src/cli/main.js');
  // Any command that opens the store makes its tables; a receiver may not.
  execFileSync(process.execPath, [main, 'webhook', 'keys', '--config', config]);
  const child = spawn(process.execPath, [main, 'serve', '--config', config, '--json'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  const db = new pg.Client({ connectionString: url.href });
  await db.connect();
  const { webhook } = JSON.parse(line) as { webhook: string };
  return {
    name,
    child,
    port: Number(new URL(webhook).port),
    before: usageOf(child).now,
    cpuMs: [] as number[],
    perSecond: [] as number[],
    p99: [] as number[],
    /** Deliveries that are stored; then there are none. */
    async empty() {
      const { rows } = await db.query<{ n: number }>('SELECT count(*)::int AS n FROM callsync.inbox');
      await db.query('TRUNCATE callsync.inbox; CHECKPOINT');
      return rows[0]?.n ?? 0;
    },
    async stop() {
      await db.end();
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      await ended;
    },
  };
};

const own = resolve(import.meta.dirname, '../..');
const checkouts = { own, ...(flags.beside === undefined ? {} : { beside: resolve(flags.beside) }) };
const receivers: Awaited<ReturnType<typeof startReceiver>>[] = [];
try {
  for (const [name, root] of Object.entries(checkouts)) receivers.push(await startReceiver(name, root));
  const order = {
    host: '127.0.0.1',
    path: '/webhook',
    secret,
    connections: Number(flags.connections),
    ...lasting(Number(flags.seconds)),
  };
  // The first round warms up and is not counted.
  for (let round = 0; round <= Number(flags.rounds); round += 1) {
    const inTurn = round % 2 === 0 ? receivers : receivers.toReversed();
    const speeds: number[] = [];
    for (const receiver of inTurn) {
      const before = usageOf(receiver.child).cpuSeconds;
      const full = await measureLoad({ ...order, port: receiver.port });
      const seconds = usageOf(receiver.child).cpuSeconds - before;
      const cpuMs = (seconds * 1_000) / Math.max(1, await receiver.empty());
      showLoad(`${receiver.name} ${cpuMs.toFixed(3)} ms`, full);
      speeds.push(full.perSecond);
      if (round === 0) continue;
      receiver.cpuMs.push(cpuMs);
      receiver.perSecond.push(full.perSecond);
    }
    // One that is faster would otherwise be asked for more.
    const rate = Number(flags.rate ?? 0.8 * Math.min(...speeds));
    for (const receiver of inTurn) {
      const paced = await measureLoad({ ...order, port: receiver.port, rate });
      await receiver.empty();
      showLoad(`${receiver.name} paced`, paced);
      if (round > 0) receiver.p99.push(paced.p99Ms);
    }
  }
  const figures = receivers.map((receiver) => ({
    name: receiver.name,
    cpu_ms: median(receiver.cpuMs),
    per_second: Math.round(median(receiver.perSecond)),
    paced_p99_ms: round2(median(receiver.p99)),
    megabytes_before: Math.round(receiver.before),
    megabytes_peak: Math.round(usageOf(receiver.child).peak),
  }));
  for (const figure of figures) console.log(JSON.stringify(figure));
  const [ours, theirs] = figures;
  const ratioOf = (name: 'cpuMs' | 'p99') => {
    const [left = [], right = []] = receivers.map((receiver) => receiver[name]);
    return round2(median(left.map((ms, at) => ms / (right[at] ?? Number.NaN))));
  };
  const summary = {
    ...ours,
    ...(theirs === undefined
      ? {}
      : {
          ratio_cpu: ratioOf('cpuMs'),
          ratio_paced_p99: ratioOf('p99'),
          ratio_peak: round2((ours?.megabytes_peak ?? 0) / theirs.megabytes_peak),
        }),
  };
  console.log(JSON.stringify(summary));
  if (flags.json !== undefined) await writeFile(flags.json, `${JSON.stringify(summary, null, 2)}\n`);
} finally {
  for (const receiver of receivers) await receiver.stop();
  await admin.end();
  await close();
}
