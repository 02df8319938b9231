/**
 * Load into the local BigQuery beside a bare load job. Calls go through the whole load (encode, one load job, one script
 * a commit), and the same bytes into one table. Prints both as calls/s, their ratio and the jobs per commit; medians over
 * alternating runs, each into a dataset of its own. About 3 minutes.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { simulatorOptionsSchema } from '../schemas/simulator.ts';
import { flattenCall } from '../src/calls/flatten.ts';
import { wait } from '../src/lib/timing.ts';
import { startBigQueryEmulator } from '../src/local/bigquery-emulator.ts';
import { generateContent } from '../src/simulator/calls/generate-call.ts';
import { createRest } from '../src/warehouse/bigquery/client.ts';
import { bigqueryWarehouseSchema } from '../src/warehouse/bigquery/config.ts';
import { createStaging, encodeBatch } from '../src/warehouse/bigquery/load.ts';
import { createJobs } from '../src/warehouse/bigquery/queries.ts';
import type { CallLoad, LoadBatch } from '../src/warehouse/warehouse.ts';
import { openBigquery } from '../test/support/open-bigquery.ts';

const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '3' },
    calls: { type: 'string', default: '4000' },
    json: { type: 'boolean', default: false },
  },
});
const runs = Number(values.runs);
const total = Number(values.calls);
const note = (text: string): void => {
  process.stderr.write(`${text}\n`);
};
const median = (numbers: readonly number[]): number =>
  [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN;

const folder = await mkdtemp(join(tmpdir(), 'callsync-bench-bigquery-'));
const emulator = await startBigQueryEmulator({ dataDir: folder, ephemeral: true, log: note });
const configOf = (dataset: string) =>
  bigqueryWarehouseSchema.parse({
    type: 'bigquery',
    project: emulator.project,
    dataset,
    api_endpoint: emulator.restUrl,
  });

try {
  const calls = makeCalls(total);
  const perLoad = configOf('any').max_calls_per_load;
  const batches = Array.from({ length: Math.ceil(total / perLoad) }, (_, index) =>
    calls.slice(index * perLoad, (index + 1) * perLoad),
  );
  const bare: number[] = [];
  const whole: number[] = [];
  const again: number[] = [];
  let megabytes = 0;
  let jobsPerCommit = 0;
  for (let run = 1; run <= runs; run += 1) {
    const loaded = await loadBare(`bare_${run}`, batches);
    megabytes = loaded.bytes / 1e6;
    bare.push(total / loaded.seconds);
    const result = await loadWhole(`whole_${run}`, batches);
    whole.push(total / result.firstSeconds);
    again.push(total / result.againSeconds);
    jobsPerCommit = result.jobs / (2 * batches.length);
    note(
      `Run ${run}: bare ${bare.at(-1)?.toFixed(0)}, whole ${whole.at(-1)?.toFixed(0)}, again ${again.at(-1)?.toFixed(0)} calls/s`,
    );
  }
  const report = {
    calls: total,
    megabytes: Math.round(megabytes),
    bareCallsPerSecond: Math.round(median(bare)),
    wholeCallsPerSecond: Math.round(median(whole)),
    againCallsPerSecond: Math.round(median(again)),
    ratio: Number((median(whole) / median(bare)).toFixed(2)),
    jobsPerCommit,
  };
  process.stdout.write(
    values.json
      ? `${JSON.stringify(report)}\n`
      : `${total} calls, ${report.megabytes} MB of staging rows, medians of ${runs}\n` +
          `bare load job         ${report.bareCallsPerSecond} calls/s\n` +
          `whole load            ${report.wholeCallsPerSecond} calls/s (${report.ratio} × the bare load job)\n` +
          `the same again        ${report.againCallsPerSecond} calls/s\n` +
          `jobs per commit       ${jobsPerCommit}\n`,
  );
} finally {
  await emulator.stop();
  await rm(folder, { recursive: true, force: true });
}

function makeCalls(count: number): CallLoad[] {
  const settings = simulatorOptionsSchema.parse({ seed: 7 });
  const from = Date.UTC(2026, 0, 1);
  return Array.from({ length: count }, (_, index) => {
    const callId = `bench-${String(index).padStart(6, '0')}`;
    const timestampMs = from + index * 60_000;
    const timestamp = new Date(timestampMs).toISOString();
    const head = { unique_id: callId, timestamp };
    const document = { ...head, ...generateContent(settings, index, timestampMs, false), status: 'qualified' };
    const flat = flattenCall({
      callId,
      document,
      firstSeenAt: from * 1000,
      changedAt: from * 1000,
      sourceDeletedAt: null,
    });
    const keys = { call_id: callId, call_timestamp: flat.callTimestamp };
    const changes = [{ ...keys, field: '*', revision: 1, source: 'poll', observed_at: from * 1000 }];
    return {
      callId,
      revision: 1,
      callTimestamp: flat.callTimestamp,
      flatten: () => flat.rows,
      partitions: [],
      changes,
    };
  });
}

function batchOf(calls: readonly CallLoad[], loadId: string): LoadBatch {
  const keyOf = (callId: string): string => `key-${callId}`;
  return { loadId, epoch: 1, flattenVersion: 1, origin: 'bench', calls, tombstones: [], logs: {}, keyOf };
}

async function loadBare(
  dataset: string,
  batches: readonly (readonly CallLoad[])[],
): Promise<{ seconds: number; bytes: number }> {
  const config = configOf(dataset);
  const warehouse = openBigquery({ name: 'bench', config });
  await warehouse.migrate();
  const connection = { config, rest: createRest(config, 600_000), clock: Date.now, pause: wait };
  const jobs = createJobs(connection);
  const staging = createStaging(connection);
  let milliseconds = 0;
  let bytes = 0;
  for (const [index, calls] of batches.entries()) {
    const { media } = await encodeBatch(batchOf(calls, `b${index}`), config, false);
    bytes += media.reduce((sum, chunk) => sum + chunk.length, 0);
    const table = `callsync_staging_bench_${index}`;
    await staging.create(table);
    const start = performance.now();
    await jobs.run({
      jobId: `${dataset}_${index}`,
      configuration: staging.loadConfiguration(table),
      media,
    });
    milliseconds += performance.now() - start;
  }
  return { seconds: milliseconds / 1000, bytes };
}

async function loadWhole(
  dataset: string,
  batches: readonly (readonly CallLoad[])[],
): Promise<{ firstSeconds: number; againSeconds: number; jobs: number }> {
  const warehouse = openBigquery({ name: 'bench', config: configOf(dataset) });
  await warehouse.migrate();
  const time = async (round: string, changed: boolean): Promise<number> => {
    const start = performance.now();
    for (const [index, calls] of batches.entries()) {
      const result = await warehouse.load(batchOf(calls, `${round}${index}`));
      if (result.changed !== (changed ? calls.length : 0)) throw new Error(`changed ${result.changed}`);
    }
    return (performance.now() - start) / 1000;
  };
  const firstSeconds = await time('first', true);
  const againSeconds = await time('again', false);
  return { firstSeconds, againSeconds, jobs: warehouse.jobsSubmitted() };
}
