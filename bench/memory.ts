/**
 * Peak memory of a worker whose backfill reads pages of 50 MB (200 calls of 250 KB each), through
 * Temporal, ledger and warehouse. About a minute.
 */
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startSimulatorProcess } from '../src/cli/demo/simulator-process.ts';
import { startEmbeddedPostgres } from '../src/local/postgres/embedded-postgres.ts';
import { startTemporalDevServer } from '../src/local/temporal/dev-server.ts';
import { loadThroughCallsync } from './load/load-callsync.ts';

const calls = 1_000;
const folder = await mkdtemp(join(tmpdir(), 'callsync-memory-'));
await chmod(folder, 0o711);
const closers: (() => Promise<unknown>)[] = [() => rm(folder, { recursive: true, force: true })];
try {
  const simulator = await startSimulatorProcess({
    seed: 8,
    calls: { count: calls, to: '2026-01-31T00:00:00Z', lateShare: 0, otherShare: 0, padding: 215_000 },
    staticPages: true,
    rateLimit: { requests: 0 },
  });
  closers.push(() => simulator.stop());
  const postgres = await startEmbeddedPostgres({ dataDir: join(folder, 'postgres') });
  closers.push(() => postgres.stop());
  const temporal = await startTemporalDevServer({ dataDir: join(folder, 'temporal'), headless: true });
  closers.push(() => temporal.stop());
  const result = await loadThroughCallsync({
    serverUrl: postgres.url,
    database: 'memory',
    simulator,
    temporalAddress: temporal.address,
    folder,
    run: 1,
    calls,
    pageSize: 200,
  });
  process.stdout.write(
    `${JSON.stringify({ calls, page_megabytes: 50, peak_rss_megabytes: Math.round(result.peakMegabytes), seconds: Number(result.firstSeconds.toFixed(1)) })}\n`,
  );
} finally {
  for (const close of closers.reverse())
    await close().catch((error: unknown) => process.stderr.write(`${String(error)}\n`));
}
process.exit(0);
