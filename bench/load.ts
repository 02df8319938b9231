/**
 * First load of generated calls through the whole path, and of the same range again. Beside it, on the same bytes and
 * the same server, COPY of the pre-flattened rows ("limit A": a row per word, primary keys, one connection). Prints both, their ratio, the worker's peak memory and the database's size. About 3 minutes.
 */
import { parseArgs } from 'node:util';
import { loadThroughCallsync } from './load/load-callsync.ts';
import { loadLimitA, prepareLimitA } from './load/load-limit-a.ts';
import { note, openServers } from './load/open-servers.ts';

const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '3' },
    calls: { type: 'string', default: '5000' },
    json: { type: 'boolean', default: false },
  },
});
const runs = Number(values.runs);
const calls = Number(values.calls);
const median = (numbers: readonly number[]): number =>
  [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN;
const spread = (numbers: readonly number[]): string =>
  `${median(numbers).toFixed(2)} (${Math.min(...numbers).toFixed(2)}-${Math.max(...numbers).toFixed(2)})`;

note(`Preparing ${calls} calls, PostgreSQL and Temporal …`);
const servers = await openServers();
try {
  const { folder, postgresUrl } = servers;
  const simulator = await servers.startSimulator(7, { count: calls });
  const temporal = await servers.startTemporal();
  const prepared = await prepareLimitA({ simulator, folder });
  note(`${(prepared.bytes / 1e6).toFixed(1)} MB of JSON, ${prepared.words} words.`);

  const limit: number[] = [];
  const first: number[] = [];
  const again: number[] = [];
  const memory: number[] = [];
  const sizes: number[] = [];
  const limitSizes: number[] = [];
  for (let run = 1; run <= runs; run += 1) {
    const a = await loadLimitA({ serverUrl: postgresUrl, prepared, database: `limit_a_${run}` });
    const b = await loadThroughCallsync({
      serverUrl: postgresUrl,
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
  await servers.close();
}
process.exit(0);
