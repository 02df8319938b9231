/**
 * First load of generated calls through the whole path, and of the same range again. Beside it, on the same bytes and
 * the same server, COPY of the pre-flattened rows ("limit A": a row per word, primary keys, one connection). Prints both, their ratio, the worker's peak memory and the database's size, and the
 * processor time of each part. About 3 minutes. Options: --runs N, --calls N, --json, --node-option OPTION (for the worker), --profile.
 * With `--profile`, it also prints what each part of the last first load used. The load is then slower.
 */
import { parseArgs } from 'node:util';
import { loadThroughCallsync } from './load/load-callsync.ts';
import { loadLimitA, prepareLimitA } from './load/load-limit-a.ts';
import { note, openServers } from './load/open-servers.ts';
import type { ProcessorTime } from './load/processor.ts';
import { openProfile } from './load/profile.ts';

const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '3' },
    calls: { type: 'string', default: '5000' },
    json: { type: 'boolean', default: false },
    profile: { type: 'boolean', default: false },
    'node-option': { type: 'string', multiple: true, default: [] },
  },
});
const runs = Number(values.runs);
const calls = Number(values.calls);
const median = (numbers: readonly number[]): number =>
  [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN;
const parts = ['worker_main', 'worker_threads', 'postgres', 'temporal'] as const;
/** Medians of seconds for 1,000 calls. */
const perThousand = (times: readonly ProcessorTime[]): Record<string, number> =>
  Object.fromEntries(
    parts.map((part) => [part, Number(((median(times.map((time) => time[part])) * 1000) / calls).toFixed(3))]),
  );
const spread = (numbers: readonly number[]): string =>
  `${median(numbers).toFixed(2)} (${Math.min(...numbers).toFixed(2)}-${Math.max(...numbers).toFixed(2)})`;

note(`Preparing ${calls} calls, PostgreSQL and Temporal …`);
const servers = await openServers();
try {
  const { folder, postgresUrl, postgresPid } = servers;
  const simulator = await servers.startSimulator(7, { count: calls });
  const temporal = await servers.startTemporal();
  const prepared = await prepareLimitA({ simulator, folder });
  note(`${(prepared.bytes / 1e6).toFixed(1)} MB of JSON, ${prepared.words} words.`);

  const limit: number[] = [];
  const first: number[] = [];
  const again: number[] = [];
  const memory: number[] = [];
  const idle: number[] = [];
  const processor: Record<'limit_a' | 'first' | 'again', ProcessorTime[]> = { limit_a: [], first: [], again: [] };
  const sizes: number[] = [];
  const limitSizes: number[] = [];
  let profile: readonly string[] = [];
  for (let run = 1; run <= runs; run += 1) {
    const a = await loadLimitA({ serverUrl: postgresUrl, prepared, database: `limit_a_${run}`, postgresPid });
    const b = await loadThroughCallsync({
      serverUrl: postgresUrl,
      database: `callsync_${run}`,
      simulator,
      temporalAddress: temporal.address,
      folder,
      run,
      calls,
      pids: { postgres: postgresPid, temporal: temporal.pid },
      nodeOptions: values['node-option'],
      profile: values.profile ? openProfile(`${folder}/profile-${run}`, postgresUrl, calls) : undefined,
    });
    profile = b.profile;
    limit.push(a.seconds);
    limitSizes.push(a.megabytes);
    first.push(b.firstSeconds);
    again.push(b.againSeconds);
    memory.push(b.peakMegabytes);
    idle.push(b.idleMegabytes);
    processor.limit_a.push(a.processor);
    if (b.processor !== undefined) processor.first.push(b.processor.first);
    if (b.processor !== undefined) processor.again.push(b.processor.again);
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
    ratio_again_to_limit_a: Number((median(again) / median(limit)).toFixed(3)),
    ratio_database_to_limit_a: Number((median(sizes) / median(limitSizes)).toFixed(3)),
    calls_per_s: Math.round(calls / median(first)),
    processor_s_per_1000_calls: {
      limit_a: perThousand(processor.limit_a),
      first: perThousand(processor.first),
      again: perThousand(processor.again),
    },
    idle_memory_mb: Math.round(median(idle)),
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
        `the same again / limit A          ${result.ratio_again_to_limit_a}`,
        `memory of the worker              idle ${result.idle_memory_mb} MB, peak ${spread(memory)} MB`,
        ...Object.entries(result.processor_s_per_1000_calls).map(
          ([name, times]) => `processor s / 1,000 calls, ${name.padEnd(7)} ${JSON.stringify(times)}`,
        ),
        ...(profile.length > 0 ? ['', 'processor s / 1,000 calls of the first load, by part', ...profile] : []),
        '',
      ].join('\n'),
    );
  }
} finally {
  await servers.close();
}
process.exit(0);
