/**
 * The cost of every statement of a pool, told by the server itself (`auto_explain`): the statements are those that are
 * sent.
 */

import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Observation } from '../../schemas/observation.ts';
import { readHealth } from '../../src/health/read-health.ts';
import type { IngestDeps, WarehouseTarget } from '../../src/pipeline/deps.ts';
import { ingest } from '../../src/pipeline/load/ingest.ts';
import { loadPendingBatch } from '../../src/pipeline/load/load-pending.ts';
import { runMaintenance } from '../../src/pipeline/load/maintenance.ts';
import { mergeInbox } from '../../src/pipeline/load/merge-inbox.ts';
import { listAgents, measureWebhooks } from '../../src/store/delivery/delivery-statistics.ts';
import { forgetAnswered, listRereads } from '../../src/store/delivery/inbox.ts';
import { createInboxWriter } from '../../src/store/delivery/inbox-writer.ts';
import type { QueueCursor } from '../../src/store/loads/loads.ts';
import { walkBatch } from '../../src/store/loads/walk.ts';
import { requestWalk } from '../../src/store/loads/warehouses.ts';
import { eraseCalls } from '../../src/store/persons/calls.ts';
import { listDrift } from '../../src/store/status/drift.ts';
import { readStateRow } from '../../src/store/status/state-row.ts';
import { openStore, type Store } from '../../src/store/store.ts';
import { advanceWatermark, recordWindow, uncoveredRanges } from '../../src/store/windows/windows.ts';
import { createPostgresWarehouse } from '../../src/warehouse/postgres/warehouse.ts';
import { observationOf, register, retention, usePipeline } from '../support/pipeline.ts';
import { asAdmin, connect } from '../support/postgres.ts';
import { makeDelivery } from '../webhook/support/deliveries.ts';
import { callIdOf, type FilledStore, fillStore } from './fill-store.ts';

interface StatementCost {
  readonly sql: string;
  /** Most of one execution, its triggers included. */
  readonly ms: number;
  /** Most pages of 8 KiB that one execution looked at; statements inside triggers are entries of their own. */
  readonly buffers: number;
  readonly rows: number;
  /** Most rows that one step of its plan looked at. */
  readonly read: number;
  readonly times: number;
}

interface Plan {
  readonly Plans?: readonly Plan[];
  readonly [figure: string]: unknown;
}
const sumOf = (plan: Plan, ...figures: string[]): number =>
  figures.reduce((sum, figure) => sum + Number(plan[figure] ?? 0), 0);

const rowsRead = (plan: Plan): number => {
  const rows = sumOf(plan, 'Actual Rows', 'Rows Removed by Filter', 'Rows Removed by Join Filter');
  return Math.max(rows * Number(plan['Actual Loops'] ?? 1), ...(plan.Plans ?? []).map(rowsRead));
};

/** New connections to the database tell the plan of each statement as a notice. */
const explainStatements = async (url: string): Promise<void> => {
  const client = await connect(asAdmin(url));
  const settings = {
    ...{ min_duration: 0, analyze: 'on', buffers: 'on', timing: 'off', nested_statements: 'on', format: 'json' },
    ...{ level: 'notice', parameter_max_length: 0 },
  };
  const { rows } = await client.query<{ name: string }>('SELECT current_database() AS name');
  const set = `ALTER DATABASE ${rows[0]?.name} SET`;
  await client.query(`LOAD 'auto_explain'; ${set} session_preload_libraries = 'auto_explain'`);
  for (const [name, value] of Object.entries(settings))
    await client.query(`${set} auto_explain.log_${name} = '${value}'`);
  await client.end();
};

/** Gathers what the pool's connections are told from now on. */
const gatherCosts = (pool: pg.Pool): (() => readonly StatementCost[]) => {
  const costs = new Map<string, StatementCost>();
  const note = (message: string): void => {
    const found = /^duration: ([\d.]+) ms\s+plan:\n([\s\S]*)$/.exec(message);
    if (found === null) return;
    const explained = JSON.parse(found[2] ?? '') as { 'Query Text': string; Plan: Plan };
    const sql = explained['Query Text'].replaceAll(/\s+/g, ' ').trim();
    const buffers = sumOf(explained.Plan, 'Shared Hit Blocks', 'Shared Read Blocks');
    const rows = sumOf(explained.Plan, 'Actual Rows');
    const before = costs.get(sql) ?? { ms: 0, buffers: 0, rows: 0, read: 0, times: 0 };
    costs.set(sql, {
      ...{ sql, ms: Math.max(before.ms, Number(found[1])), buffers: Math.max(before.buffers, buffers) },
      ...{ rows: Math.max(before.rows, rows), read: Math.max(before.read, rowsRead(explained.Plan)) },
      times: before.times + 1,
    });
  };
  // Not when they connect: the pool may have connections already, and give the work to none but those.
  const heard = new WeakSet<pg.PoolClient>();
  pool.on('acquire', (client) => {
    if (heard.has(client)) return;
    heard.add(client);
    client.on('notice', ({ message }) => note(message ?? ''));
  });
  return () => [...costs.values()].sort((a, b) => b.buffers - a.buffers);
};

/** A day's work of workers, once over: folding, loading, walking, checking and maintenance. Warehouses only count. */
/** The first lacks nothing, the second a sixth of all calls. */
const filledWarehouses = ['whole', 'behind'] as const;

const perBatch = 200;

/** Over a store that `fillStore` filled; warehouses take every load, so that only the store is at work. */
const depsOf = (store: Store): IngestDeps => ({
  store,
  targets: filledWarehouses.map((name): WarehouseTarget => {
    const unused = createPostgresWarehouse({ name, url: store.url, config: { schema: 'none', documents: false } });
    return {
      documents: false,
      warehouse: {
        ...unused,
        traits: {
          ...unused.traits,
          immediate: name === 'whole',
          maxCallsPerLoad: perBatch,
          partitionOf: (time) =>
            name === 'whole' ? undefined : new Date((time ?? 0) / 1000).toISOString().slice(0, 10),
        },
        load: async ({ calls, tombstones }) => ({ changed: calls.length + tombstones.length, unchanged: 0 }),
      },
    };
  }),
  sanitize: (observation) => observation,
  processedField: 'qualified',
  clockSkew: 120_000_000,
  log: () => undefined,
});

/** @param calls that the store was filled with */
const runSteadyState = async (store: Store, calls: number): Promise<void> => {
  const deps = depsOf(store);
  const now = Date.now() * 1000;
  // Before its newest calls are loaded, too.
  for (const name of filledWarehouses) await readStateRow(store, name);
  const spread = (index: number) => Math.floor((index * calls) / perBatch);
  // A page of the list: new calls, changed ones, and ones that stay as they are.
  const page = (status: string) =>
    Array.from({ length: perBatch }, (_, index): Observation => {
      const callId = callIdOf(index % 2 === 0 ? calls + index : spread(index));
      return observationOf(callId, now, { status, timestamp: new Date().toISOString() });
    });
  for (const status of ['void', 'qualified', 'qualified'])
    await (await ingest(deps, { observations: page(status), origin: 'sync' })).load();
  const delivered = Array.from({ length: perBatch }, (_, index) => callIdOf(spread(index)));
  await receive(store, delivered);
  await mergeInbox(deps);
  await eraseCalls(store, [spread(3), spread(5)].map(callIdOf));
  let cursor: QueueCursor | undefined;
  for (let commit = 0; commit < 3; commit += 1)
    cursor = (await loadPendingBatch(deps, deps.targets[1] as WarehouseTarget, { origin: 'pending', cursor }))?.cursor;
  await forgetAnswered(store);
  await listRereads(store, 50);
  await requestWalk(store, { warehouse: 'whole' });
  await walkBatch(store, 'whole');
  await walkBatch(store, 'whole');
  await readSync(store, now);
  for (const name of filledWarehouses) await readStateRow(store, name);
  await readHealth(store);
  await listAgents(store);
  await measureWebhooks(store, { from: now, to: now + 1, until: now });
  await listDrift(store);
  await runMaintenance({ ...deps, targets: [], retention });
};

const receive = async (store: Store, callIds: readonly string[]): Promise<void> => {
  const inbox = createInboxWriter({ pool: store.pool });
  // A changed field, so that the age of late changes is counted.
  const changed = callIds.map((id) => makeDelivery(id, 200, { status: 'void' }));
  await inbox.insert(changed.map((one) => ({ ...one, deliveryId: `${Date.now() / 1000}` })));
  await inbox.ping();
  await inbox.depth();
};

/** The statements of one run of continuous sync. */
const readSync = async (store: Store, now: number): Promise<void> => {
  const axis = 'timestamp';
  const minute = 60_000_000;
  await advanceWatermark(store, { axis, start: now - 2_700 * minute });
  await uncoveredRanges(store, { axis, from: now - 70 * minute, to: now }, { overlap: 10 * minute, now });
  await recordWindow(store, { axis, from: now - minute, to: now, calls: 10, shown: 'total', origin: 'sync' });
  await advanceWatermark(store);
};

/** The statements of `runSteadyState` on a store that `fillStore` filled; call the result once. */
const useCosts = (calls: number, young?: FilledStore['young']): (() => Promise<readonly StatementCost[]>) => {
  const pipeline = usePipeline({}, { keep: true });
  let store: Store;
  let costs: () => readonly StatementCost[];
  beforeAll(async () => {
    for (const name of filledWarehouses) await register(pipeline.store, name);
    console.log(`Fills a store with ${calls} calls; 3 million take some minutes.`);
    await fillStore(pipeline.url, { calls, warehouses: filledWarehouses, young, pendingShare: young && 0.5 });
    await explainStatements(pipeline.url);
    store = await openStore({ url: pipeline.url, max: 4, erasures: () => pipeline.store.erasures });
    costs = gatherCosts(store.pool);
  }, 3_600_000);
  afterAll(() => store?.close());
  return async () => {
    await runSteadyState(store, calls);
    const measured = costs();
    const lines = measured.map(
      ({ sql, ms, buffers, rows, read, times }) =>
        `${buffers} pages, ${ms.toFixed(1)} ms, ${rows} rows of ${read}, ${times} times: ${sql.slice(0, 110)}`,
    );
    console.log(`${measured.length} statements, most pages of one execution first:\n${lines.join('\n')}`);
    expect(measured.length).toBeGreaterThan(50);
    return measured;
  };
};

/**
 * The statements of the steady state on a store as large as after years of work. None may cost more than its batch. The
 * product runs as it is, and the server tells the plan of each statement.
 * @param limits.maxMs undefined = the time is printed only: it depends on what else the machine does.
 */
export const describeScale = (
  calls: number,
  limits: { readonly maxBuffers: number; readonly maxMs?: number },
): void => {
  const { maxBuffers, maxMs } = limits;
  const measure = useCosts(calls);
  test(`no statement looks at more than ${maxBuffers} pages, with ${calls} calls`, async () => {
    const measured = await measure();
    expect(measured.filter(({ buffers }) => buffers > maxBuffers)).toEqual([]);
    // The cost of showing the ledger's first days must not grow with the ledger.
    expect(measured.filter(({ sql, buffers }) => / AS first FROM /.test(sql) && buffers > 50)).toEqual([]);
    if (maxMs !== undefined) expect(measured.filter(({ ms }) => ms > maxMs)).toEqual([]);
  }, 3_600_000);
};

/** The first load of a new store or warehouse may end before the server has statistics; it takes many rows for few. */
export const describeYoungStore = (calls: number): void =>
  describe.each(['store', 'warehouse'] as const)('without statistics of a new %s,', (young) => {
    const measure = useCosts(calls, young);
    test(`no batch reads the rows of the batches before it, with ${calls} calls`, async () => {
      const costs = await measure();
      const ofCalls = costs.filter(({ sql }) => sql.includes('warehouse_calls'));
      const ofDeliveries = costs.filter(({ sql }) => sql.includes('AS visible_at'));
      expect(ofCalls.length).toBeGreaterThan(10);
      expect(ofDeliveries).toHaveLength(1);
      expect([...ofCalls, ...ofDeliveries].filter(({ read }) => read > 10 * perBatch)).toEqual([]);
    });
  });
