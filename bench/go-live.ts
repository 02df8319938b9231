/**
 * A year of calls by `callsync go-live`, against a service that allows 40 requests in 10 s, with default settings. Prints the
 * used share of that limit, requests beside the necessary ones (pages, and one confirmation), and the time of the first
 * proven day. Options: --calls N, --days N, --json FILE. About 3 minutes.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { stringify } from 'yaml';
import { createRemoteControl } from '../src/simulator/control/remote-control.ts';
import { sourceOf, startSimulatorProcess } from '../src/simulator/demo/simulator-process.ts';
import { note, openServers } from './load/open-servers.ts';
import { round2 } from './webhook/processes.ts';

const { values: flags } = parseArgs({
  options: {
    calls: { type: 'string', default: '50000' },
    days: { type: 'string', default: '365' },
    json: { type: 'string' },
  },
});
const secret = 'bench-signing-secret';
const limit = { requests: 40, seconds: 10 };
const pageSize = 100;
const dayMs = 86_400_000;
const pollMs = 500;
const longestProofMs = 300_000;

const { folder, postgresUrl, startTemporal, close } = await openServers();
const to = new Date(Math.floor(Date.now() / 60_000) * 60_000);
const from = new Date(to.getTime() - Number(flags.days) * dayMs);
const calls = { count: Number(flags.calls), utterances: 2, words: 4, from: from.toISOString(), to: to.toISOString() };
const service = await startSimulatorProcess({ calls, rateLimit: limit });
const simulator = createRemoteControl(service);
const db = new pg.Client({ connectionString: postgresUrl });
await db.connect();
try {
  const temporal = await startTemporal();
  const config = join(folder, 'go-live.yaml');
  const settings = {
    source: {
      ...sourceOf(service),
      list: {
        preset: 'activate',
        pagination: { style: 'offset', offset_param: 'offset', size_param: 'limit', size: pageSize },
      },
    },
    store: { url: postgresUrl },
    temporal: { address: temporal.address },
    webhook: { port: 0, secrets: [{ name: 'bench', secret }], spool: { dir: join(folder, 'spool') } },
    operations: { enabled: false },
  };
  await writeFile(config, stringify(settings), { mode: 0o600 });
  const main = join(import.meta.dirname, '../src/cli/main.js');
  const run = (...args: readonly string[]) =>
    spawn(process.execPath, [main, ...args, '--config', config, '--json'], { stdio: ['ignore', 'pipe', 'inherit'] });
  const up = run('up', '--no-schedules');
  try {
    const [line] = (await once(createInterface({ input: up.stdout }), 'line')) as [string];
    const { webhook } = JSON.parse(line) as { webhook: string };
    const begun = Date.now();
    const seconds = () => (Date.now() - begun) / 1_000;
    const live = run('go-live', '--from', calls.from, '--url', webhook, '--parallel-run', '1s', '--accept-empty');
    live.stdout.resume();
    const ended = once(live, 'exit') as Promise<[number | null]>;
    const read = async () => {
      const { rows } = await db.query<{ calls: number | null; proven: boolean }>(
        `SELECT (SELECT (value->'catchUp'->>'calls')::int FROM callsync.meta WHERE key = 'go_live') AS calls,
                EXISTS (SELECT FROM callsync.verdicts WHERE outcome = 'proven') AS proven`,
      );
      return rows[0] ?? { calls: null, proven: false };
    };
    let readSeconds: number | undefined;
    let provenSeconds: number | undefined;
    let code: number | null | undefined;
    ended.then(([status]) => {
      code = status;
    });
    let used = (await simulator.stats()).requests;
    while (code === undefined || provenSeconds === undefined) {
      const { calls: known, proven } = await read();
      if (proven) provenSeconds ??= seconds();
      if (readSeconds === undefined) used = (await simulator.stats()).requests;
      if (known !== null) readSeconds ??= seconds();
      if (code !== undefined && seconds() * 1_000 > longestProofMs + (readSeconds ?? 0) * 1_000) break;
      await sleep(pollMs);
    }
    const { rate } = await simulator.stats();
    const readMs = (used.lastAt ?? 0) - (used.firstAt ?? 0);
    const listed = (await read()).calls ?? Number.NaN;
    const necessary = Math.ceil(listed / pageSize) + 1;
    const summary = {
      calls: listed,
      read_seconds: round2(readSeconds ?? Number.NaN),
      requests: used.list + used.call,
      refused: rate.refused,
      limit_share: round2(
        (used.list + used.call) / (limit.requests + (readMs / 1_000 / limit.seconds) * limit.requests),
      ),
      ratio_requests: round2((used.list + used.call) / necessary),
      first_proven_seconds: round2(provenSeconds ?? Number.NaN),
      exit_code: code,
    };
    note(JSON.stringify(summary));
    if (flags.json !== undefined) await writeFile(flags.json, `${JSON.stringify(summary, null, 2)}\n`);
  } finally {
    up.kill('SIGTERM');
    await once(up, 'exit');
  }
} finally {
  await db.end();
  await service.stop();
  await close();
}
