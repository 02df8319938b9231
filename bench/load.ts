/**
 * First load of generated calls through the whole path, and of the same range again. Beside it, on the same bytes and
 * the same server, COPY of the pre-flattened rows ("limit A": a row per word, primary keys, one connection). Prints both, their ratio, the worker's peak memory and the database's size. About 3 minutes.
 */
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { startSimulatorProcess } from '../src/cli/demo/simulator-process.ts';
import { startEmbeddedPostgres } from '../src/local/postgres/embedded-postgres.ts';
import { startTemporalDevServer } from '../src/local/temporal/dev-server.ts';
import { loadThroughCallsync } from './load/load-callsync.ts';
import { loadLimitA, prepareLimitA } from './load/load-limit-a.ts';

const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '3' },
    calls: { type: 'string', default: '5000' },
    json: { type: 'boolean', default: false },
  },
});
const runs = Number(values.runs);
const calls = Number(values.calls);
const note = (text: string): void => {
  process.stderr.write(`${text}\n`);
};
const median = (numbers: readonly number[]): number =>
  [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN;
const spread = (numbers: readonly number[]): string =>
  `${median(numbers).toFixed(2)} (${Math.min(...numbers).toFixed(2)}-${Math.max(...numbers).toFixed(2)})`;

const folder = await mkdtemp(join(tmpdir(), 'callsync-bench-'));
// As root, PostgreSQL runs as another account, which must reach its data.
await chmod(folder, 0o711);
const closers: (() => Promise<unknown>)[] = [() => rm(folder, { recursive: true, force: true })];
try {
  note(`Preparing ${calls} calls, PostgreSQL and Temporal …`);
  const simulator = await startSimulatorProcess({
    seed: 7,
    calls: { count: calls, to: '2026-01-31T00:00:00Z', lateShare: 0, otherShare: 0 },
    staticPages: true,
    rateLimit: { requests: 0 },
  });
  closers.push(() => simulator.stop());
  const postgres = await startEmbeddedPostgres({ dataDir: join(folder, 'postgres') });
  closers.push(() => postgres.stop());
  const temporal = await startTemporalDevServer({ dataDir: join(folder, 'temporal'), headless: true });
  closers.push(() => temporal.stop());
  const prepared = await prepareLimitA({ simulator, folder });
  note(`${(prepared.bytes / 1e6).toFixed(1)} MB of JSON, ${prepared.words} words.`);

  const limit: number[] = [];
  const first: number[] = [];
  const again: number[] = [];
  const memory: number[] = [];
  const sizes: number[] = [];
  const limitSizes: number[] = [];
  for (let run = 1; run <= runs; run += 1) {
    const a = await loadLimitA({ serverUrl: postgres.url, prepared, database: `limit_a_${run}` });
    const b = await loadThroughCallsync({
      serverUrl: postgres.url,
      database: `callsync_${run}`,
      simulator,
      temporalAddress: temporal.address,
      folder,
      run,
      calls,
    });
    limit.push(a.seconds);
    limitSizes.push(a.megabytes);
    first.push(b.firstSeconds);
    again.push(b.againSeconds);
    memory.push(b.peakMegabytes);
    sizes.push(b.megabytes);
    note(
      `run ${run}: limit A ${a.seconds.toFixed(2)} s, first load ${b.firstSeconds.toFixed(2)} s, again ${b.againSeconds.toFixed(2)} s, ${b.changedAgain} written again, peak ${b.peakMegabytes.toFixed(0)} MB`,
    );
  }
  const result = {
    calls,
    megabytes_json: Number((prepared.bytes / 1e6).toFixed(1)),
    limit_a_s: median(limit),
    first_load_s: median(first),
    same_again_s: median(again),
    ratio_first_to_limit_a: Number((median(first) / median(limit)).toFixed(3)),
    ratio_again_to_first: Number((median(again) / median(first)).toFixed(3)),
    calls_per_s: Math.round(calls / median(first)),
    peak_memory_mb: Math.round(median(memory)),
    database_mb: Math.round(median(sizes)),
    limit_a_database_mb: Math.round(median(limitSizes)),
  };
  if (values.json) process.stdout.write(`${JSON.stringify(result)}\n`);
  else {
    process.stdout.write(
      [
        `medians of ${runs} alternating runs (min-max), ${calls} calls, ${result.megabytes_json} MB of JSON`,
        `limit A, COPY of flattened rows   ${spread(limit)} s, ${result.limit_a_database_mb} MB`,
        `callsync, first load              ${spread(first)} s, ${result.calls_per_s} calls/s, database ${result.database_mb} MB (ledger and warehouse)`,
        `callsync, the same again          ${spread(again)} s`,
        `first load / limit A              ${result.ratio_first_to_limit_a}`,
        `the same again / first load       ${result.ratio_again_to_first}`,
        `peak memory of the worker         ${spread(memory)} MB`,
        '',
      ].join('\n'),
    );
  }
} finally {
  for (const close of closers.reverse()) await close().catch((error: unknown) => note(String(error)));
}
process.exit(0);
