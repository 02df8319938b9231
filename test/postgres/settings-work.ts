/** One load, query, comparison, search, export and erasure, and everything that they read and wrote. */
import { createHash, randomUUID } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { asyncBufferFromFile, parquetReadObjects } from 'hyparquet';
import { analyticsConfigSchema } from '../../schemas/config/analytics.ts';
import { tables } from '../../schemas/tables.ts';
import { readHealth } from '../../src/health/read-health.ts';
import { martSettings } from '../../src/marts/mart.ts';
import { marts, renderViews } from '../../src/marts/render-views.ts';
import { exportCalls } from '../../src/pipeline/export/export-calls.ts';
import { planReconcile, reconcileWindows } from '../../src/pipeline/reconcile/plan-reconcile.ts';
import { verifyVerdicts } from '../../src/pipeline/reconcile/verify-verdicts.ts';
import { withSessionLock } from '../../src/postgres/database.ts';
import { startSimulator } from '../../src/simulator/start-simulator.ts';
import { createSource } from '../../src/source/source.ts';
import { listAgents, listKeyUsage } from '../../src/store/delivery/delivery-statistics.ts';
import { createInboxWriter } from '../../src/store/delivery/inbox-writer.ts';
import { listQuarantine } from '../../src/store/delivery/quarantine.ts';
import { verifyReceipts } from '../../src/store/persons/receipts.ts';
import { listDrift } from '../../src/store/status/drift.ts';
import { openStore } from '../../src/store/store.ts';
import { postgresWarehouseSchema } from '../../src/warehouse/postgres/config.ts';
import { postgres } from '../../src/warehouse/postgres/index.ts';
import { createPostgresWarehouse } from '../../src/warehouse/postgres/warehouse.ts';
import { requireFrom, type Warehouse } from '../../src/warehouse/warehouse.ts';
import { comparing } from '../pipeline/reconcile/installation.ts';
import { readPart, simulatedConfig } from '../source/simulated.ts';
import { erase } from '../support/persons.ts';
import { openPipeline } from '../support/pipeline.ts';
import type { TestDatabase } from '../support/postgres.ts';
import { collect } from '../support/rows.ts';
import { until } from '../support/until.ts';

const from = '2022-03-01T00:00:00Z';
const days = 3;
const dayMicros = 86_400_000_000;
const range = { from: Date.parse(from) * 1000, to: Date.parse(from) * 1000 + days * dayMicros };

export const openSource = async () => {
  const calls = { count: 8, utterances: 3, words: 3, tags: 2, from, to: new Date(range.to / 1000).toISOString() };
  const simulator = await startSimulator({ rateLimit: { requests: 0 }, seed: 5, calls });
  const limits = { requests: 100_000, per_s: 1 };
  const source = createSource(await simulatedConfig(simulator, { list: { preset: 'activate' }, limits }));
  return {
    ...source,
    close: async () => {
      await source.close();
      await simulator.stop();
    },
  };
};

const odd = {
  unique_id: 'call-é\\"\'1',
  timestamp: '2022-03-02T23:30:00.123456Z',
  qualified: '2022-03-03T00:10:00Z',
  duration: 0.30000000000000004,
  metadata: {
    Agent: 'Straße\\n \\',
    UDF_num_01: '12345678901234567890.125',
    UDF_date_01: '03/11/2022',
    I: 'ıİiI',
    empty: null,
  },
  in: { data: '+33612345678', type: 'PHONE' },
  tags: [
    { unique_id: 'true', value: true },
    { unique_id: 'half', value: 0.1 },
  ],
  visit: [null, 'NULL', '{}', '\\x41'],
  transcript_json: {
    callData: [
      {
        from: 'in',
        content: "C'est NULL \\ ici été",
        words: [{ value: 'été', start: 0.1, score: 1 / 3 }, { value: null }],
      },
    ],
    meta: { lang: 'fr' },
  },
};
const bodies = [
  odd,
  { ...odd, unique_id: 'Call-10' },
  { ...odd, unique_id: 'call-9', in: { data: '+33699999999', type: 'PHONE' } },
  '{"unique_id":',
];

/** Times, ages and ids of this run have names: whatever is written in another form differs. */
const textOf = (value: unknown): string =>
  (JSON.stringify(value, (_, one) => (typeof one === 'bigint' ? Number(one) : one)) ?? '')
    .replaceAll(/[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}/g, 'ID')
    .replaceAll(/\b[\da-f]{40,}\b|(?<=content_hash\W+)[\w-]{22}/g, 'HASH')
    .replaceAll(/\b1[789]\d{14}\b|(?<=seconds_to_visible\W+)[\d.]+/g, 'TIME')
    .replaceAll(/\b20(2[3-9]|[3-9]\d)-\d\d-\d\d(T\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00))?/g, 'NOW');

const asked = `SELECT 'call-é' < 'Call-10' IS NOT NULL AS compared, timestamp '2026-01-01 10:00' AS local, timestamptz '2022-03-29 01:30:00.123456Z' AS instant,
  ARRAY[date '2022-01-01', NULL] AS days, interval '1 mon 2 days -03:04:05.5' AS span, 0.1::float8 + 0.2 AS double, 0.1::float4 AS single,
  '\\x00ff'::bytea AS bytes, 12345678901234567890.5 AS exact, 'a\\b' AS backslash, '{NULL,1}'::int[] AS nulls, timestamptz 'infinity' AS never,
  jsonb '{"a": [1.5, 12345678901234567890]}' AS json, current_setting('synchronous_commit') <> 'off' AS durable`;

/** A process that waits too long for another one tries again. */
const migrate = async (warehouse: Warehouse): Promise<void> => {
  await warehouse.migrate().catch((error: { code?: string }) => {
    if (error.code !== 'DATABASE_LOCKED') throw error;
    return migrate(warehouse);
  });
};

export const observe = async (
  database: TestDatabase,
  source: Awaited<ReturnType<typeof openSource>>,
): Promise<Readonly<Record<string, string>>> => {
  const parts: Record<string, unknown> = {};
  const config = postgresWarehouseSchema.parse({ type: 'postgres', schema: 'wh_main' });
  // Processes that start at once make the same tables.
  const prepare = async ({ url }: TestDatabase): Promise<void> => {
    for (const store of await Promise.all([openStore({ url }), openStore({ url })])) await store.close();
    const both = [1, 2].map(() => createPostgresWarehouse({ name: 'main', url, config }));
    await Promise.all(both.map((one) => migrate(one)));
    await Promise.all(both.map((one) => one.close()));
  };
  const pipeline = await openPipeline({ documents: true }, prepare, async () => database);
  const { store, warehouse } = pipeline;
  const folder = await mkdtemp(join(tmpdir(), 'callsync-settings-'));
  const place = { ...postgres.place(config), marts: 'wh_marts' };
  const reader = requireFrom(warehouse, 'openReader')({ marts: place.marts });
  const ask = async (sql: string): Promise<unknown[]> => {
    const limits = { rows: 1_000, bytes: 10_000_000, billedBytes: 0 };
    const [ours, { rows }] = await Promise.all([reader.ask(sql), reader.answer(sql, limits)]);
    return [ours, rows.map((row) => JSON.parse(row))].map((all) => all.map(textOf).sort());
  };
  try {
    const deps = {
      ...pipeline.deps,
      source,
      now: () => new Date(),
      windows: { initial: dayMicros, min: 1_000_000, max: 30 * dayMicros, targetCalls: 1_000 },
      reconcile: { ...comparing, age: 0, rowsDays: days },
      version: 'test',
    } as const;
    const work = async (signal: AbortSignal): Promise<void> => {
      const inbox = createInboxWriter(store);
      const deliveries = bodies.map((body) => {
        const bytes = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
        const ids = {
          arrivalId: randomUUID(),
          deliveryId: null,
          hookId: 'hook',
          agent: 'a\\b "é"',
          signingKey: 'main',
        };
        return { ...ids, receivedAt: new Date(), body: bytes, bodyHash: createHash('sha256').update(bytes).digest() };
      });
      await inbox.insert(deliveries.slice(0, 2));
      await inbox.insertSpooled(deliveries.slice(1), 20_000);
      await inbox.recordRejected(deliveries.slice(0, 1).map((one) => ({ ...one, reason: 'no' })));
      const delivered = Date.now();
      parts.merged = (await Promise.all([pipeline.merge(), pipeline.merge()])).reduce((a, b) => a + b);
      const { requests: _, ...totals } = (await readPart(deps, { axis: 'timestamp', range })).totals;
      parts.read = totals;
      await pipeline.drain();
      // The service's clock has whole seconds: only a listing of a later one marks delivered calls as missing.
      await until('the second of the deliveries is over', () => Date.now() - delivered > 1_000);
      const plan = await planReconcile(deps, deps.reconcile, { range, force: true });
      const options = { signal, maxSeconds: 600, onProgress: () => undefined };
      parts.reconciled = (await reconcileWindows(deps, plan, options)).totals;
      await pipeline.drain();
      const chains = await verifyVerdicts(store, [pipeline.target]);
      parts.verdicts = chains.map(({ verdicts, intact, copy }) => ({ verdicts, intact, copy }));
      const search = requireFrom(warehouse, 'search');
      await search.create();
      // Calls of one instant are in the order of the collation.
      const { calls } = await search.find({ text: 'ete or "c\'est null"', limit: 100 });
      parts.found = calls.map(textOf).sort();
      const views = renderViews(place, martSettings(analyticsConfigSchema.parse({})));
      await requireFrom(warehouse, 'marts').ensure(place.marts, views);
      parts.asked = await ask(asked);
      for (const { name } of marts) parts[name] = await ask(`SELECT * FROM ${name}`);
      parts.health = await readHealth(store).then(({ calls, tombstones, inbox: waiting, quarantine, warehouses }) => ({
        ...{ calls, tombstones, outcomes: waiting.outcomes, quarantined: quarantine.count },
        warehouses: warehouses.map(({ name, pending }) => ({ name, pending })),
      }));
      parts.lists = await Promise.all([listKeyUsage, listAgents, listDrift, listQuarantine].map((read) => read(store)));
      for (const format of ['ndjson', 'parquet', 'vcon'] as const) {
        const units = { utterance_start: 'seconds', utterance_duration: 'seconds' } as const;
        const input = {
          format,
          folder: join(folder, format),
          ...range,
          processedField: 'qualified',
          units,
          version: 'test',
        };
        await exportCalls(store, input, { signal, onProgress: () => undefined });
        for (const file of (await readdir(input.folder)).sort()) {
          const path = join(input.folder, file);
          parts[`${format}/${file}`] = file.endsWith('.parquet')
            ? await parquetReadObjects({ file: await asyncBufferFromFile(path), utf8: true })
            : await readFile(path, 'utf8');
        }
      }
      const receipt = await erase(deps, { kind: 'phone', values: ['+33699999999'] });
      parts.receipt = { calls: receipt.calls, receipts: await verifyReceipts(store) };
      parts.lockKept = !signal.aborted;
    };
    await withSessionLock(store, 'a lock of the test', work);
    for (const { name } of tables.filter((one) => !['changes', 'loads', 'sync_state'].includes(one.name)))
      parts[`after ${name}`] = (await collect(warehouse.proof.rowsOf(name as never))).map(textOf).sort();
  } catch (error) {
    parts.error = tellError(error);
  } finally {
    await reader.close();
    await pipeline.close();
    await rm(folder, { recursive: true, force: true });
  }
  return Object.fromEntries(Object.entries(parts).map(([name, part]) => [name, textOf(part)]));
};

export const tellError = (error: unknown): string => {
  const { code, message, cause } = error as Error & { readonly code?: string };
  return `${code}: ${message} ${(cause as Error | undefined)?.message}`;
};
