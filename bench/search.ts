/**
 * Full-text search on PostgreSQL: latency over 50,000 calls of 480 words and 290 stop words. It also measures the cost
 * of the index in space and in the time of the first load, with and without it. Calls can be queried once they are
 * loaded, and found a little later. The limit of 1.4 holds for the load (`ratio_load_with_to_without`);
 * `ratio_findable_with_to_without` is for the time until every call can be found. About 8 minutes.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { flattenCall } from '../src/calls/flatten.ts';
import { createPostgresWarehouse } from '../src/warehouse/postgres/warehouse.ts';
import { type CallLoad, requireFrom, type Warehouse } from '../src/warehouse/warehouse.ts';
import { createDatabase } from './load/create-database.ts';
import { loadThroughCallsync } from './load/load-callsync.ts';
import { note, openServers } from './load/open-servers.ts';
import { kinds, speak } from './search/spoken-text.ts';

const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '3' },
    calls: { type: 'string', default: '4000' },
    searched: { type: 'string', default: '50000' },
    queries: { type: 'string', default: '40' },
    json: { type: 'boolean', default: false },
  },
});
const config = { schema: 'calls', documents: false } as const;
const quantile = (numbers: readonly number[], share: number): number => {
  const sorted = [...numbers].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
};
const median = (numbers: readonly number[]): number => quantile(numbers, 0.5);

const makeCall = (index: number): CallLoad => {
  const callId = `call-${String(index).padStart(6, '0')}`;
  const lang = index % 10 === 0 ? 'en' : 'fr';
  const document = {
    unique_id: callId,
    timestamp: new Date(Date.parse('2026-01-01T00:00:00Z') + index * 60_000).toISOString(),
    transcript_json: { callData: speak(lang), meta: { lang } },
  };
  const flat = flattenCall({ callId, document, firstSeenAt: null, changedAt: null, sourceDeletedAt: null });
  const { callTimestamp, rows } = flat;
  return { callId, revision: 1, callTimestamp, flatten: () => rows, partitions: [], changes: [] };
};

const fill = async (warehouse: Warehouse, calls: number): Promise<void> => {
  for (let start = 0; start < calls; start += 500) {
    await warehouse.load({
      loadId: `bench-${start}`,
      epoch: 1,
      flattenVersion: 1,
      origin: 'bench',
      calls: Array.from({ length: Math.min(500, calls - start) }, (_, at) => makeCall(start + at)),
      tombstones: [],
      logs: {},
      keyOf: (id) => id,
    });
  }
};

const measureSearches = async (warehouse: Warehouse) => {
  const took: Record<string, number[]> = {};
  for (let run = 0; run < Number(values.queries); run += 1) {
    for (const [kind, textOf] of Object.entries(kinds)) {
      const text = textOf();
      const side = run % 3 === 0 ? 'out' : undefined;
      const begin = performance.now();
      await requireFrom(warehouse, 'search').find({ text, side, limit: 20 });
      took[kind] = [...(took[kind] ?? []), performance.now() - begin];
    }
  }
  return took;
};

const servers = await openServers();
const closers: (() => Promise<unknown>)[] = [() => servers.close()];
try {
  const { folder, postgresUrl } = servers;
  const searched = Number(values.searched);
  note(`Loading ${searched} calls to search in …`);
  const database = await createDatabase(postgresUrl, 'searched');
  const warehouse = createPostgresWarehouse({ name: 'bench', url: database.url, config });
  closers.push(() => warehouse.close());
  await warehouse.migrate();
  await fill(warehouse, searched);
  const begin = performance.now();
  await requireFrom(warehouse, 'search').create();
  const createSeconds = (performance.now() - begin) / 1000;
  const { bytes } = await requireFrom(warehouse, 'search').status();
  const [sizes] = await warehouse.query(`SELECT pg_total_relation_size('calls.utterances')::float8 AS bytes`);
  // Autovacuum runs once nobody loads any more; by itself, it would work beside the measurement.
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  for (const table of ['calls', 'utterances', 'transcript_search'])
    await client.query(`VACUUM (ANALYZE) calls.${table}`);
  await client.end();
  await measureSearches(warehouse);
  const took = await measureSearches(warehouse);
  const all = Object.values(took).flat();

  const calls = Number(values.calls);
  const without: number[] = [];
  const withIndex: number[] = [];
  const findable: number[] = [];
  const megabytes: { without: number; withIndex: number } = { without: 0, withIndex: 0 };
  if (Number(values.runs) > 0) {
    note(`Loading ${calls} calls through the whole path, without and with the index …`);
    const simulator = await servers.startSimulator(7, { count: calls });
    const temporal = await servers.startTemporal();
    const load = (name: string, run: number, index?: { prepare: typeof createIndexAt; settle: typeof indexAllAt }) =>
      loadThroughCallsync({
        serverUrl: postgresUrl,
        database: name,
        simulator,
        temporalAddress: temporal.address,
        folder,
        run,
        calls,
        again: false,
        ...index,
      });
    for (let run = 1; run <= Number(values.runs); run += 1) {
      const plain = await load(`plain_${run}`, 2 * run);
      const indexed = await load(`indexed_${run}`, 2 * run + 1, { prepare: createIndexAt, settle: indexAllAt });
      without.push(plain.firstSeconds);
      withIndex.push(indexed.firstSeconds);
      findable.push(indexed.settledSeconds);
      megabytes.without = plain.megabytes;
      megabytes.withIndex = indexed.megabytes;
      note(
        `run ${run}: without ${plain.firstSeconds.toFixed(2)} s, with ${indexed.firstSeconds.toFixed(2)} s, until all can be found ${indexed.settledSeconds.toFixed(2)} s`,
      );
    }
  }
  const result = {
    searched_calls: searched,
    p50_ms: Number(quantile(all, 0.5).toFixed(1)),
    p95_ms: Number(quantile(all, 0.95).toFixed(1)),
    max_ms: Number(Math.max(...all).toFixed(1)),
    p50_p95_max_ms_by_kind: Object.fromEntries(
      Object.entries(took).map(([kind, numbers]) => [
        kind,
        [0.5, 0.95, 1].map((share) => Number(quantile(numbers, share).toFixed(1))),
      ]),
    ),
    create_s: Number(createSeconds.toFixed(1)),
    index_mb: Math.round(Number(bytes) / 1e6),
    utterances_mb: Math.round(Number(sizes?.bytes) / 1e6),
    loaded_calls: calls,
    load_without_s: Number(median(without).toFixed(2)),
    load_with_s: Number(median(withIndex).toFixed(2)),
    findable_with_s: Number(median(findable).toFixed(2)),
    ratio_load_with_to_without: Number((median(withIndex) / median(without)).toFixed(3)),
    ratio_findable_with_to_without: Number((median(findable) / median(without)).toFixed(3)),
    database_without_mb: Math.round(megabytes.without),
    database_with_mb: Math.round(megabytes.withIndex),
  };
  process.stdout.write(
    values.json
      ? `${JSON.stringify(result)}\n`
      : `${Object.entries(result)
          .map(([name, value]) =>
            typeof value === 'object'
              ? [name, ...Object.entries(value).map(([kind, one]) => `  ${kind.padEnd(34)} ${one.join(' / ')}`)].join(
                  '\n',
                )
              : `${name.padEnd(30)} ${value}`,
          )
          .join('\n')}\n`,
  );
} finally {
  for (const close of closers.reverse()) await close().catch((error: unknown) => note(String(error)));
}
process.exit(0);

async function createIndexAt(url: string): Promise<void> {
  const warehouse = createPostgresWarehouse({ name: 'bench', url, config });
  await warehouse.migrate();
  await requireFrom(warehouse, 'search').create();
  await warehouse.close();
}

/** Waits until the worker has indexed all that it loaded. */
async function indexAllAt(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const isPending = async () =>
    (await client.query('SELECT FROM calls.transcript_search WHERE document IS NULL LIMIT 1')).rowCount !== 0;
  while (await isPending()) await delay(5);
  await client.end();
}
