/** Merges a whole inbox into a PostgreSQL warehouse, as workers do, and returns how often each call stands there. */

import { flattenVersion } from '../../../src/calls/flatten.ts';
import type { IngestDeps } from '../../../src/pipeline/deps.ts';
import { loadFolded } from '../../../src/pipeline/load/ingest.ts';
import { loadPendingBatch } from '../../../src/pipeline/load/load-pending.ts';
import { mergeBatch } from '../../../src/pipeline/load/merge-inbox.ts';
import { issueEpoch, registerWarehouse } from '../../../src/store/loads/warehouses.ts';
import { openStore } from '../../../src/store/store.ts';
import { createPostgresWarehouse } from '../../../src/warehouse/postgres/warehouse.ts';
import { createErasures } from '../../support/erasures.ts';

export const mergeAll = async (url: string): Promise<ReadonlyMap<string, number>> => {
  const erasures = createErasures();
  const store = await openStore({ url, erasures: erasures.open });
  const warehouse = createPostgresWarehouse({ name: 'postgres', url, config: { schema: 'calls', documents: false } });
  try {
    await warehouse.migrate();
    await registerWarehouse(store, 'postgres', flattenVersion);
    if ((await store.epoch()) === 0) await issueEpoch(store, 'test', 0);
    const target = { warehouse, documents: false };
    const deps: IngestDeps = {
      store,
      targets: [target],
      sanitize: undefined,
      processedField: 'qualified',
      clockSkew: 120_000_000,
      log: () => undefined,
    };
    for (let merged = await mergeBatch(deps, 200); merged !== undefined; merged = await mergeBatch(deps, 200))
      await loadFolded(deps, merged.folded);
    while ((await loadPendingBatch(deps, target, { origin: 'test', graceSeconds: 0 })) !== undefined);
    const counts = new Map<string, number>();
    for await (const { call_id: callId } of warehouse.rowsOf('calls'))
      counts.set(callId as string, (counts.get(callId as string) ?? 0) + 1);
    return counts;
  } finally {
    await warehouse.close();
    await store.close();
    erasures.remove();
  }
};
