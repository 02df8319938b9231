/**
 * The statements of the steady state on a store as large as years of work make it: none may cost more than what its batch
 * costs. The product runs as it is, and the server tells the plan of each statement.
 */
import { createHash, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Observation } from '../../schemas/observation.ts';
import type { IngestDeps, WarehouseTarget } from '../../src/pipeline/deps.ts';
import { ingest, loadFolded } from '../../src/pipeline/load/ingest.ts';
import { loadPendingBatch } from '../../src/pipeline/load/load-pending.ts';
import { runMaintenance } from '../../src/pipeline/load/maintenance.ts';
import { mergeInbox } from '../../src/pipeline/load/merge-inbox.ts';
import { listAgents } from '../../src/store/delivery/agents.ts';
import { forgetAnswered, listRereads } from '../../src/store/delivery/inbox.ts';
import { createInboxWriter } from '../../src/store/delivery/inbox-writer.ts';
import { eraseCalls } from '../../src/store/erasure/erase.ts';
import type { QueueCursor } from '../../src/store/loads/pending.ts';
import { requestWalk, walkBatch } from '../../src/store/loads/walk.ts';
import { listDrift } from '../../src/store/status/drift.ts';
import { readStateRow } from '../../src/store/status/state-row.ts';
import { summarizeStore } from '../../src/store/status/summary.ts';
import { openStore, type Store } from '../../src/store/store.ts';
import { continuousSync } from '../../src/store/windows/sync-state.ts';
import { advanceWatermark, recordWindow, uncoveredRanges } from '../../src/store/windows/windows.ts';
import { createErasures } from '../support/erasures.ts';
import { observationOf, openPipeline, type Pipeline, register } from '../support/pipeline.ts';
import { explainStatements, gatherCosts, type StatementCost } from './explain-statements.ts';
import { callIdOf, fillStore } from './fill-store.ts';

export interface ScaleOptions {
  readonly calls: number;
  readonly maxBuffers: number;
  /** Undefined = the time is printed only: it depends on what else the machine does. */
  readonly maxMs?: number;
}

const perBatch = 200;

export const describeScale = ({ calls, maxBuffers, maxMs }: ScaleOptions): void => {
  let pipeline: Pipeline;
  let store: Store;
  let costs: () => readonly StatementCost[];
  const erasures = createErasures();
  beforeAll(async () => {
    pipeline = await openPipeline();
    for (const name of ['whole', 'behind']) await register(pipeline.store, name);
    console.log(`Fills a store with ${calls} calls; 3 million take some minutes.`);
    const startedAt = performance.now();
    await fillStore(pipeline.url, { calls, warehouses: ['whole', 'behind'] });
    console.log(`Filled in ${Math.round((performance.now() - startedAt) / 1000)} s.`);
    await explainStatements(pipeline.url);
    store = await openStore({ url: pipeline.url, max: 4, erasures: erasures.open });
    costs = gatherCosts(store.pool);
  }, 3_600_000);
  afterAll(async () => {
    await store?.close();
    await pipeline?.close();
    erasures.remove();
  });

  /** Warehouses that take every load, so that only the store is measured. */
  const targets = (): readonly WarehouseTarget[] =>
    ['whole', 'behind'].map((name) => ({
      ...pipeline.target,
      warehouse: {
        ...pipeline.warehouse,
        name,
        immediate: name === 'whole',
        maxCallsPerLoad: perBatch,
        partitionOf: (time) => (name === 'whole' ? undefined : new Date((time ?? 0) / 1000).toISOString().slice(0, 10)),
        load: async ({ calls: sent, tombstones }) => ({ changed: sent.length + tombstones.length, unchanged: 0 }),
      },
    }));

  test(`no statement looks at more than ${maxBuffers} pages, with ${calls} calls`, async () => {
    const deps: IngestDeps = { ...pipeline.deps, store, targets: targets() };
    const now = Date.now() * 1000;
    const observe = (n: number, status: string): Observation =>
      observationOf(callIdOf(n), now, { status, timestamp: new Date().toISOString() });
    // A page of the list: new calls, changed ones, and ones that stay as they are.
    const spread = (index: number) => Math.floor((index * calls) / perBatch);
    const page = (status: string) =>
      Array.from({ length: perBatch }, (_, index) => observe(index % 2 === 0 ? calls + index : spread(index), status));
    for (const status of ['void', 'qualified', 'qualified']) {
      await loadFolded(deps, await ingest(deps, { observations: page(status), origin: 'sync' }));
    }
    const inbox = createInboxWriter({ pool: store.pool });
    const body = (n: number) => Buffer.from(JSON.stringify({ unique_id: callIdOf(n), status: 'void', n }));
    await inbox.insert(
      Array.from({ length: perBatch }, (_, index) => ({
        arrivalId: randomUUID(),
        deliveryId: `${Date.now() / 1000}`,
        hookId: null,
        agent: null,
        receivedAt: new Date(),
        signingKey: 'main',
        body: body(spread(index)),
        bodyHash: createHash('sha256')
          .update(body(spread(index)))
          .digest(),
      })),
      { deadlineMs: 60_000 },
    );
    await inbox.ping({ deadlineMs: 60_000 });
    await inbox.depth({ deadlineMs: 60_000 });
    await mergeInbox(deps);
    await eraseCalls(store, [spread(3), spread(5)].map(callIdOf), ['whole', 'behind']);
    let cursor: QueueCursor | undefined;
    for (let commit = 0; commit < 3; commit += 1) {
      const behind = deps.targets.find(({ warehouse }) => warehouse.name === 'behind') as WarehouseTarget;
      cursor = (await loadPendingBatch(deps, behind, { origin: 'pending', cursor }))?.cursor;
    }
    await forgetAnswered(store);
    await listRereads(store, 50);
    await requestWalk(store, { warehouse: 'whole' });
    await walkBatch(store, 'whole');
    await walkBatch(store, 'whole');
    await readSync(store, now);
    for (const name of ['whole', 'behind']) await readStateRow(store, name);
    await summarizeStore(store);
    await listAgents(store);
    await listDrift(store);
    await runMaintenance({ ...deps, targets: [], retention });

    const measured = costs();
    const lines = measured.map(
      ({ sql, ms, buffers, rows, times }) =>
        `${String(buffers).padStart(8)} pages ${ms.toFixed(1).padStart(9)} ms ${String(rows).padStart(6)} rows ${String(times).padStart(4)} ×  ${sql.slice(0, 110)}`,
    );
    console.log(`${measured.length} statements, most pages of one execution first:\n${lines.join('\n')}`);
    expect(measured.length).toBeGreaterThan(50);
    expect(
      measured.filter(({ buffers }) => buffers > maxBuffers).map(({ sql, buffers }) => `${buffers}: ${sql}`),
    ).toEqual([]);
    if (maxMs !== undefined) {
      expect(measured.filter(({ ms }) => ms > maxMs).map(({ sql, ms }) => `${ms} ms: ${sql}`)).toEqual([]);
    }
  }, 3_600_000);
};

const day = 86_400_000;
const retention = {
  bodies: 7 * day,
  deliveries: 400 * day,
  quarantine: 90 * day,
  websocketFrames: 30 * day,
  loads: 30 * day,
};

/** What one run of continuous sync asks of the store. */
const readSync = async (store: Store, now: number): Promise<void> => {
  const axis = 'timestamp';
  const minute = 60_000_000;
  await advanceWatermark(store, { name: continuousSync, axis, start: now - 2_700 * minute });
  await uncoveredRanges(store, { axis, from: now - 70 * minute, to: now }, { overlap: 10 * minute, now });
  await recordWindow(store, { axis, from: now - minute, to: now, calls: 10, shown: 'total', origin: 'sync' });
  await advanceWatermark(store, { name: continuousSync, axis });
};
