/**
 * Peak memory of a worker whose backfill reads pages of 50 MB (200 calls of 250 KB each), through
 * Temporal, ledger and warehouse. About a minute.
 */
import { loadThroughCallsync } from './load/load-callsync.ts';
import { openServers } from './load/open-servers.ts';

const calls = 1_000;
const servers = await openServers();
try {
  const simulator = await servers.startSimulator(8, { count: calls, padding: 215_000 });
  const temporal = await servers.startTemporal();
  const result = await loadThroughCallsync({
    serverUrl: servers.postgresUrl,
    database: 'memory',
    simulator,
    temporalAddress: temporal.address,
    folder: servers.folder,
    run: 1,
    calls,
    pageSize: 200,
  });
  process.stdout.write(
    `${JSON.stringify({ calls, page_megabytes: 50, peak_rss_megabytes: Math.round(result.peakMegabytes), seconds: Number(result.firstSeconds.toFixed(1)) })}\n`,
  );
} finally {
  await servers.close();
}
process.exit(0);
