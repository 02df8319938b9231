/** A day's work of workers, once over: folding, loading, walking, checking and maintenance. Warehouses only count. */

import { createHash, randomUUID } from 'node:crypto';
import type { Observation } from '../../schemas/observation.ts';
import { readHealth } from '../../src/health/read-health.ts';
import type { IngestDeps, WarehouseTarget } from '../../src/pipeline/deps.ts';
import { ingest, loadFolded } from '../../src/pipeline/load/ingest.ts';
import { loadPendingBatch } from '../../src/pipeline/load/load-pending.ts';
import { runMaintenance } from '../../src/pipeline/load/maintenance.ts';
import { mergeInbox } from '../../src/pipeline/load/merge-inbox.ts';
import { listAgents, measureWebhooks } from '../../src/store/delivery/delivery-statistics.ts';
import { forgetAnswered, listRereads } from '../../src/store/delivery/inbox.ts';
import { createInboxWriter, type InboxWriter } from '../../src/store/delivery/inbox-writer.ts';
import type { QueueCursor } from '../../src/store/loads/loads.ts';
import { requestWalk, walkBatch } from '../../src/store/loads/warehouses.ts';
import { eraseCalls } from '../../src/store/persons/calls.ts';
import { listDrift } from '../../src/store/status/drift.ts';
import { readStateRow } from '../../src/store/status/state-row.ts';
import type { Store } from '../../src/store/store.ts';
import { advanceWatermark, recordWindow, uncoveredRanges } from '../../src/store/windows/windows.ts';
import { createPostgresWarehouse } from '../../src/warehouse/postgres/warehouse.ts';
import { logRetention, retention } from '../support/pipeline.ts';
import { callIdOf } from './fill-store.ts';

/** The first lacks nothing, the second a sixth of all calls. */
export const filledWarehouses = ['whole', 'behind'] as const;

const perBatch = 200;

type SteadyWork = ReturnType<typeof openSteadyWork>;

/** Over a store that `fillStore` filled; warehouses take every load, so that only the store is at work. */
export const openSteadyWork = (store: Store) => ({
  deps: depsOf(store),
  inbox: createInboxWriter({ pool: store.pool }),
});

const depsOf = (store: Store): IngestDeps => ({
  store,
  targets: filledWarehouses.map((name): WarehouseTarget => {
    const config = { schema: 'none', documents: false };
    const warehouse = createPostgresWarehouse({ name, url: store.url, config });
    return {
      documents: false,
      warehouse: {
        ...warehouse,
        immediate: name === 'whole',
        maxCallsPerLoad: perBatch,
        partitionOf: (time) => (name === 'whole' ? undefined : new Date((time ?? 0) / 1000).toISOString().slice(0, 10)),
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
export const runSteadyState = async ({ deps, inbox }: SteadyWork, calls: number): Promise<void> => {
  const { store } = deps;
  const now = Date.now() * 1000;
  // Before its newest calls are loaded, too.
  for (const name of filledWarehouses) await readStateRow(store, name);
  const spread = (index: number) => Math.floor((index * calls) / perBatch);
  // A page of the list: new calls, changed ones, and ones that stay as they are.
  const page = (status: string) =>
    Array.from({ length: perBatch }, (_, index): Observation => {
      const callId = callIdOf(index % 2 === 0 ? calls + index : spread(index));
      const fields = { unique_id: callId, status, timestamp: new Date().toISOString() };
      return { callId, source: 'poll', observedAt: now, fields };
    });
  for (const status of ['void', 'qualified', 'qualified'])
    await loadFolded(deps, await ingest(deps, { observations: page(status), origin: 'sync' }));
  const delivered = Array.from({ length: perBatch }, (_, index) => callIdOf(spread(index)));
  await receive(inbox, delivered);
  await mergeInbox(deps);
  await eraseCalls(store, [spread(3), spread(5)].map(callIdOf));
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
  for (const name of filledWarehouses) await readStateRow(store, name);
  await readHealth(store);
  await listAgents(store);
  await measureWebhooks(store, { from: now, to: now + 1, until: now });
  await listDrift(store);
  await runMaintenance({ ...deps, targets: [], retention, logRetention });
};

const receive = async (inbox: InboxWriter, callIds: readonly string[]): Promise<void> => {
  const deadlineMs = 60_000;
  const deliveries = callIds.map((unique_id, n) => {
    const body = Buffer.from(JSON.stringify({ unique_id, status: 'void', n }));
    const sent = { deliveryId: `${Date.now() / 1000}`, hookId: null, agent: null, signingKey: 'main' };
    const bodyHash = createHash('sha256').update(body).digest();
    return { arrivalId: randomUUID(), receivedAt: new Date(), ...sent, body, bodyHash };
  });
  await inbox.insert(deliveries, { deadlineMs });
  await inbox.ping({ deadlineMs });
  await inbox.depth({ deadlineMs });
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
